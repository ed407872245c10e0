#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# bad_input.sh APPS: what is wrong on one rank or on all is said once, by one of them; all end with a status other than
# 0, and none hangs.
. "$(dirname "$0")/run_nodes.sh"
apps=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# words of the sentence, then the arguments of mpirun
refused() {
    local words=$1 status=0 said
    shift
    said=$(nodes "$@" 2>&1 >"$folder/out") || status=$?
    [ $status != 124 ] && [ $status != 137 ] || { fail "it hangs: $*"; return; }
    [ $status != 0 ] || fail "it succeeds: $*"
    [ "$(grep -c "$words" <<<"$said")" = 1 ] || fail "not said once, '$words': $* : $said"
    [ ! -s "$folder/out" ] || ! grep -q '"app"' "$folder/out" || fail "it prints a result: $*"
}
matmul=$apps/matmul
refused 'give --size' -np 3 "$matmul"
refused 'size 12,x' -np 3 "$matmul" --size 12,x
refused 'rank 1 .*the command line is' -np 1 "$matmul" --size 100 : -np 2 "$matmul" --size 100 --type double
refused 'rank 1 .*STARPU_SCHED=nonsense' -np 1 "$matmul" --size 100 : -np 1 env STARPU_SCHED=nonsense "$matmul" --size 100 : -np 1 "$matmul" --size 100
refused 'APPORTION_NODES' -np 3 env APPORTION_NODES=nonsense "$matmul" --size 100
refused 'rank 2 .*APPORTION_BLOCK is unknown' -np 2 "$matmul" --size 100 : -np 1 env APPORTION_BLOCK=3 "$matmul" --size 100
refused 'rank 1 .*StarPU finds no worker' -np 1 "$matmul" --size 100 : -np 1 env STARPU_NCPU=0 "$matmul" --size 100
refused 'missing.npy' -np 3 "$matmul" --a "$folder/missing.npy" --b "$folder/missing.npy"
refused 'no folder' -np 2 "$matmul" --size 100 --out "$folder/none/c.npy"
refused 'mpdata runs on one node' -np 2 "$apps/mpdata" --size 16 --steps 2
refused 'recorded' -np 2 env APPORTION_NODES=hpopta APPORTION_PROFILES="$folder" "$matmul" --size 100

# A rank that dies: mpirun says which, and ends the others; its status is that of the rank.
nodes -np 3 "$matmul" --size 64 --repeat 1000000 --seed $$ >"$folder/out" 2>&1 &
job=$!
victim=
for _ in $(seq 100); do
    victim=$(pgrep -nf "^$matmul --size 64 --repeat 1000000 --seed $$" || true)
    [ -z "$victim" ] || break
    sleep 0.2
done
sleep 2
began=$SECONDS status=0
[ -n "$victim" ] && kill -9 "$victim" || fail "no process to end"
wait $job || status=$?
[ $status != 0 ] && [ $((SECONDS - began)) -lt $((limit_s / 2)) ] || fail "a rank dies: status $status after $((SECONDS - began)) s"
grep -q 'rank' "$folder/out" || fail "a rank dies, and nothing names it: $(cat "$folder/out")"
[ $failed = 0 ]
