#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# profile_over_nodes.sh APPORTION MATMUL: `apportion profile` once on each machine, started by mpirun: each has the
# profile that programs over nodes look for there.
. "$(dirname "$0")/run_nodes.sh"
apportion=$(realpath "$1") matmul=$(realpath "$2")
cd "$folder"
export XDG_DATA_HOME=$folder/data
profile=("$apportion" profile --app matmul --size 64 --sizes 16:32:16 --max-seconds 0.2 --max-repetitions 5)

# Two host names are two machines.
on_two() { nodes -np 1 env STARPU_HOSTNAME=first "$@" : -np 1 env STARPU_HOSTNAME=second "$@"; }
on_two "${profile[@]}" >told 2>err || fail "on two machines: $(cat err)"
[ "$(grep -c ': 2 points measured$' told)" = 2 ] || fail "on two machines: $(cat told)"
APPORTION_NODES=hpopta STARPU_SCHED=hpopta on_two "$matmul" --size 64 >told 2>err || fail "hpopta over nodes: $(cat err)"

# A comparison over nodes says before its first round that a policy has nothing to plan from. What it says can be followed,
# and does not name variables that only its runs have.
mkdir compared
export XDG_DATA_HOME=$folder/compared
compared() {
    env -u APPORTION_LEARN timeout -k 5 "$limit_s" "$apportion" compare --launch 'mpirun --oversubscribe --bind-to none -np 2' \
        --policies equal,hpopta --repeat 1 -- matmul --size 400 >told 2>err
}
! compared || fail "a comparison with a policy that has no profile: $(cat told)"
[ "$(grep -c 'hpopta needs a recorded profile on every machine' err)" = 1 ] && ! grep APPORTION_LEARN err || fail "no profile: $(cat err)"
command=$(sed -n 's/.*record it with `apportion \(profile [^`]*\)`.*/\1/p' err)
# shellcheck disable=SC2086
[ -n "$command" ] && "$apportion" $command >told 2>&1 || fail "the command '$command': $(cat err told)"
compared || fail "with what '$command' recorded: $(cat err)"
grep -q ' hpopta ' told || fail "hpopta is not compared: $(cat told)"
[ $failed = 0 ]
