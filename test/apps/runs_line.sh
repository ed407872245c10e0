#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# runs_line.sh MATMUL JACOBI: applications that run a load many times tell on a terminal how far they are, in a line that
# they take away; elsewhere they do not.
set -euo pipefail
matmul=$1 jacobi=$2
export STARPU_SCHED=equal
on_terminal() { script -qec "stty cols 40; $*" /dev/null </dev/null; }
erased=$'\r\033[K'
for command in "$matmul --size 64 --repeat 3" "$jacobi --size 64 --iterations 3"; do
    shown=$(on_terminal "$command")
    [[ $shown == *": "@(run|iteration)" 1$erased"* ]] || { echo "no line: $shown"; exit 1; }
    said=$($command 2>&1)
    [[ $said != *": "@(run|iteration)" 1"* ]] || { echo "a line without a terminal: $said"; exit 1; }
done
