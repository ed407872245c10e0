#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What apportion_init says to bad environments. Arguments: the load test's program, the plug-in, a program that names its
# scheduler itself, one that knows nothing of Apportion, what makes StarPU one without dmdas when it is preloaded.
. "$(dirname "$0")/../checks.sh"
program=$1 plugin=$2 names_scheduler=$3 unmodified=$4 without_dmdas=$5
expect() { # sentence-part, then VAR=value...
    local words=$1 output status=0
    shift
    output=$(env STARPU_SCHED=eager STARPU_SILENT=1 "$@" "$program" 2>&1) || status=$?
    output=$(sed '/^\[starpu\]/d' <<<"$output") # StarPU's own warnings
    [ $status != 0 ] && [[ $output == *"$words"* ]] && [ "$(wc -l <<<"$output")" = 1 ] ||
        fail "with $*: expected one sentence with '$words' and failure, got status $status and: $output"
}
expect "STARPU_SCHED=plbhec is not a known scheduler" STARPU_SCHED=plbhec
expect "STARPU_SCHED_LIB=/nowhere/lib.so does not load" STARPU_SCHED=plb-hec STARPU_SCHED_LIB=/nowhere/lib.so
expect "is not a known scheduler" STARPU_SCHED=dmad STARPU_SCHED_LIB="$plugin"
expect "APPORTION_BLOCKS" APPORTION_BLOCKS=-3
expect "APPORTION_INITIAL_BLOCK" APPORTION_INITIAL_BLOCK=many
expect "APPORTION_HANDICAP: \"1:4\" is not usable, it must be worker=factor" APPORTION_HANDICAP=1:4
expect "did you mean APPORTION_REPORT" APPORTION_REPROT=x
expect "is a simulated machine, but this program would run for real" APPORTION_PLATFORM=plbhec-a.toml
expect "no worker" STARPU_NCPU=0
# A scheduler that the program names is no mistake of the user's environment.
for name in greedy modular-heft; do
    env -u STARPU_SCHED STARPU_SILENT=1 "$names_scheduler" $name || fail "a program that names $name"
    # StarPU takes an empty name for its own default.
    env STARPU_SCHED= STARPU_SILENT=1 "$names_scheduler" $name || fail "a program that names $name, and an empty variable"
done
refuses "a program that names no scheduler" 1 "the program's sched_policy_name 'gr\x1b[31meedy' is not a known scheduler; choose one of" \
    env -u STARPU_SCHED STARPU_SILENT=1 "$names_scheduler" "$(printf 'gr\033[31meedy')"
refuses "a program that the environment overrules" 1 "STARPU_SCHED=gredy is not a known scheduler" \
    env STARPU_SCHED=gredy STARPU_SILENT=1 "$names_scheduler" greedy
# StarPU alone does not find a policy, and runs its default.
refuses "starpu_init, and then apportion_init" 1 "the program's sched_policy_name greedy was asked for, but StarPU runs " \
    env -u STARPU_SCHED_LIB -u STARPU_SCHED STARPU_SILENT=1 "$names_scheduler" greedy init
refuses "starpu_init, and no apportion_init" 1 "STARPU_SCHED=greedy was asked for, but StarPU runs lws; set STARPU_SCHED_LIB to" \
    env -u STARPU_SCHED_LIB STARPU_SCHED=greedy STARPU_SILENT=1 "$names_scheduler" greedy load
for call in init load; do
    env STARPU_SCHED_LIB="$plugin" STARPU_SCHED=greedy STARPU_SILENT=1 "$names_scheduler" greedy $call ||
        fail "starpu_init with STARPU_SCHED_LIB, and $call"
done
# Two copies of the library in one process know nothing of each other.
cp "$plugin" "$folder/libcopy.so"
refuses "another copy of the library" 1 "StarPU runs the scheduler greedy of $folder/libcopy.so, not of the copy of Apportion in this program, " \
    env STARPU_SCHED=greedy STARPU_SCHED_LIB="$folder/libcopy.so" STARPU_SILENT=1 "$names_scheduler" greedy
# StarPU's C sees no exception of the plug-in.
status=0
output=$(env LD_PRELOAD="$without_dmdas" STARPU_SILENT=1 STARPU_SCHED=plb-hec STARPU_SCHED_LIB="$plugin" "$unmodified" plb-hec 2>&1) ||
    status=$?
[ $status = 1 ] && [[ $output == *"apportion: this StarPU has no scheduler 'dmdas', to which"* ]] || fail "without dmdas: $status, $output"

# A folder for what is learnt that cannot be one, and whose name would steer a terminal.
touch "$folder/file"
output=$(env -u APPORTION_LEARN STARPU_SCHED=plb-hec STARPU_SILENT=1 XDG_DATA_HOME="$folder/file/$(printf 'a\033[31m\nb')" "$program" \
    "the report counts every unit*" 2>&1 >/dev/null) || true
[ "$(grep -c 'is not kept' <<<"$output")" = 1 ] && [ "$(sed '/^\[starpu\]/d' <<<"$output" | wc -l)" = 1 ] &&
    [[ $output == *'a\x1b[31m\nb'* ]] || fail "what is learnt cannot be kept: $output"
