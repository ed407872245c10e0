#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What apportion_init says to bad environments. Arguments: the load test's program, the plug-in.
. "$(dirname "$0")/../checks.sh"
program=$1 plugin=$2
expect() { # sentence-part, then VAR=value...
    local words=$1 output status=0
    shift
    output=$(env STARPU_SCHED=eager STARPU_SILENT=1 "$@" "$program" 2>&1) || status=$?
    output=$(sed '/^\[starpu\]/d' <<<"$output") # StarPU's own warnings
    [ $status != 0 ] && [[ $output == *"$words"* ]] && [ "$(wc -l <<<"$output")" = 1 ] ||
        fail "with $*: expected one sentence with '$words' and failure, got status $status and: $output"
}
expect "STARPU_SCHED=plbhec is no known scheduler" STARPU_SCHED=plbhec
expect "STARPU_SCHED_LIB=/nowhere/lib.so does not load" STARPU_SCHED=plb-hec STARPU_SCHED_LIB=/nowhere/lib.so
expect "is no known scheduler" STARPU_SCHED=dmad STARPU_SCHED_LIB="$plugin"
expect "APPORTION_BLOCKS" APPORTION_BLOCKS=-3
expect "APPORTION_INITIAL_BLOCK" APPORTION_INITIAL_BLOCK=many
expect "did you mean APPORTION_REPORT" APPORTION_REPROT=x
expect "is a simulated machine, but this program would run for real" APPORTION_PLATFORM=plbhec-a.toml
expect "no worker" STARPU_NCPU=0
