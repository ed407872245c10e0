#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# bad_input.sh APPS: what is wrong on one rank or on all is said once, by one of them; all end with a status other than
# 0, and none hangs.
. "$(dirname "$0")/run_nodes.sh"
apps=$(realpath "$1")

matmul=$apps/matmul
refused 'give --size' -np 3 "$matmul"
refused 'size 12,x' -np 3 "$matmul" --size 12,x
refused 'rank 1 .*the command line is' -np 1 "$matmul" --size 100 : -np 2 "$matmul" --size 100 --type double
refused 'rank 1 .*the program is .grn .*, and .matmul .* on rank 0' -np 1 "$matmul" --size 100 : -np 1 "$apps/grn" --size 100
refused 'rank 1 .*STARPU_SCHED=help is not for this rank alone' -np 1 "$matmul" --size 100 : -np 1 env STARPU_SCHED=help "$matmul" --size 100
refused 'rank 1 .*STARPU_SCHED=nonsense' -np 1 "$matmul" --size 100 : -np 1 env STARPU_SCHED=nonsense "$matmul" --size 100 : -np 1 "$matmul" --size 100
refused 'APPORTION_NODES' -np 3 env APPORTION_NODES=nonsense "$matmul" --size 100
refused 'rank 2 .*APPORTION_BLOCK is unknown' -np 2 "$matmul" --size 100 : -np 1 env APPORTION_BLOCK=3 "$matmul" --size 100
refused 'rank 1 .*StarPU finds no worker' -np 1 "$matmul" --size 100 : -np 1 env STARPU_NCPU=0 "$matmul" --size 100
refused 'StarPU finds no worker .*which --bind-to none prevents' -np 2 env -u STARPU_NCPU taskset -c 0 "$matmul" --size 100
refused 'missing.npy' -np 3 "$matmul" --a "$folder/missing.npy" --b "$folder/missing.npy"
refused 'no folder' -np 2 "$matmul" --size 100 --out "$folder/none/c.npy"
refused 'rank 1 .*there is no recorded profile' -np 1 "$matmul" --size 100 : -np 1 env STARPU_SCHED=hpopta APPORTION_PROFILES="$folder" "$matmul" --size 100
refused 'recorded' -np 2 env APPORTION_NODES=hpopta APPORTION_PROFILES="$folder" "$matmul" --size 100

# The list of policies is no error, and comes once.
said=$(nodes -np 2 env STARPU_SCHED=help "$matmul" --size 100 2>&1) || fail "STARPU_SCHED=help: status $?: $said"
[ "$(grep -c '^  plb-hec ' <<<"$said")" = 1 ] || fail "the list of policies: $said"

# Files that only rank 0 sees are enough.
mkdir "$folder/here" "$folder/elsewhere"
(cd "$folder/here" && nodes -np 1 "$matmul" --size 64 --out c.npy >"$folder/out")
(cd "$folder/here" && nodes -np 1 "$matmul" --a c.npy --b c.npy --out d.npy : \
    -np 2 env -C "$folder/elsewhere" "$matmul" --a c.npy --b c.npy --out d.npy >"$folder/out" 2>&1) || fail "files of rank 0: $(cat "$folder/out")"
[ -s "$folder/here/d.npy" ] && [ -z "$(ls "$folder/elsewhere")" ] || fail "the result is not with rank 0"

# One report of the whole run, and none of the parts, where APPORTION_REPORT names a file. Without recovery: the parts of
# nodes of which one is late are not collected, and on a busy machine each may be.
APPORTION_STALL_FACTOR=0 APPORTION_REPORT=$folder/report nodes -np 3 "$matmul" --size 64 >"$folder/out" 2>&1 || fail "a report: $(cat "$folder/out")"
[ "$(wc -l <"$folder/report")" = 1 ] && grep -q '"nodes":\[{' "$folder/report" || fail "the report: $(cat "$folder/report")"
refused 'the report cannot be written' -np 3 env APPORTION_REPORT="$folder/none/report" "$matmul" --size 64

# What a policy that needs a profile says without one can be followed: a run under plb-hec, and it has what it needs.
mkdir "$folder/data"
export XDG_DATA_HOME=$folder/data APPORTION_LEARN=1
# (Without recovery: as above, a late node's part is not collected.)
planned() { nodes -np 2 env APPORTION_STALL_FACTOR=0 APPORTION_NODES=hpopta STARPU_SCHED="$1" "$matmul" --size 400 --json >"$folder/out" 2>"$folder/err"; }
! planned plb-hec || fail "hpopta has a plan without a profile"
grep -q 'run the program once with STARPU_SCHED=plb-hec, which learns it' "$folder/err" || fail "no advice: $(cat "$folder/err")"
for again in 1 2 3; do # on a busy machine one run of some milliseconds can tell too little of a core
    nodes -np 2 env STARPU_SCHED=plb-hec "$matmul" --size 400 >"$folder/out" || fail "learning, run $again: $(cat "$folder/out")"
    ! planned plb-hec || break
done
for inner in plb-hec hpopta; do
    planned $inner || fail "hpopta with what was learnt, inside $inner: $(cat "$folder/err")"
done
grep -q '"processes":[1-9]' "$folder/out" || fail "nodes did not begin with what was learnt: $(cat "$folder/out")"
export APPORTION_LEARN=0

# A rank that dies, the last one or rank 0: mpirun says which, and ends the others; its status is that of the rank.
dies() { # which of the processes that match, as pgrep says it; the rank
    local job victim= began status=0
    nodes -np 3 "$matmul" --size 64 --repeat 1000000 --seed $$ >"$folder/out" 2>&1 &
    job=$!
    for _ in $(seq 100); do
        victim=$(pgrep "-$1" -f "^$matmul --size 64 --repeat 1000000 --seed $$" || true)
        [ -z "$victim" ] || break
        sleep 0.2
    done
    sleep 2
    began=$SECONDS
    [ -n "$victim" ] && kill -9 "$victim" || fail "no process to end"
    wait $job || status=$?
    [ $status != 0 ] && [ $((SECONDS - began)) -lt $((limit_s / 2)) ] || fail "rank $2 dies: status $status after $((SECONDS - began)) s"
    [ "$(tr '\n' ' ' <"$folder/out" | grep -o "process rank $2 with PID [0-9]* on node [^ ]* exited on signal 9" | wc -l)" = 1 ] || fail "rank $2 dies, and nothing names it: $(cat "$folder/out")"
}
dies n 2
dies o 0
[ $failed = 0 ]
