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
[ $failed = 0 ]
