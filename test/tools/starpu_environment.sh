#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# starpu_environment.sh MATMUL: environments in which StarPU would abort with a trace are refused with one sentence and
# status 2.
. "$(dirname "$0")/../checks.sh"
matmul=$1
unset XDG_CACHE_HOME STARPU_HOME STARPU_PERF_MODEL_DIR
export STARPU_SILENT=1 STARPU_NCUDA=0 STARPU_NOPENCL=0 HOME=$folder
# text, then VAR=value...
with() { refused "$1" env "${@:2}" "$matmul" --size 8; }
for value in abc -5 1.5 99999999999 ' 2 '; do
    with "Environment variable STARPU_NCPU: \"$value\" is not usable, it must be a whole number" STARPU_NCPU="$value"
done
with "STARPU_NOPENCL: \"-1\"" STARPU_NOPENCL=-1
with "STARPU_WORKERS_NOBIND: \"yes\"" STARPU_WORKERS_NOBIND=yes
for name in STARPU_SILENT STARPU_FXT_TRACE STARPU_MAX_MEMORY_USE; do with "$name: \"abc\"" $name=abc; done
with "STARPU_CALIBRATE: \"\\x1b\"" STARPU_CALIBRATE="$(printf '\033')"
for name in STARPU_SCHED_ALPHA STARPU_SCHED_BETA STARPU_SCHED_GAMMA STARPU_IDLE_POWER; do
    with "$name: \"x\" is not usable, it must be a number" $name=x
done
for value in x '' -1 0,x 9999999999; do
    with "STARPU_WORKERS_CPUID: \"$value\" is not usable, it must be numbers of processors" STARPU_WORKERS_CPUID="$value"
done
with "STARPU_WORKERS_COREID: \"x\"" STARPU_WORKERS_COREID=x
with "STARPU_HOSTNAME: \"a/b\" is not usable, it must be a name without /" STARPU_HOSTNAME=a/b
with "STARPU_NTHREADS_PER_CORE: \"0\" is not usable, it must be a whole number, at least 1" STARPU_NTHREADS_PER_CORE=0
with "STARPU_MAIN_THREAD_CPUID: \"9999\" is not usable, it must be one of this machine's processors" STARPU_MAIN_THREAD_CPUID=9999
touch "$folder/file"
for home in /proc "$folder/file" "$folder/file/below"; do
    with "StarPU cannot keep its measurements in $home" HOME="$home"
    with "set STARPU_HOME or STARPU_PERF_MODEL_DIR to a folder that you may write to" STARPU_PERF_MODEL_DIR="$home"
done
if [ "$(id -u)" != 0 ]; then
    mkdir -m 500 "$folder/read-only"
    with "StarPU cannot keep its measurements in $folder/read-only/.starpu/sampling/bus: Permission denied" HOME="$folder/read-only"
fi
# Without HOME nothing of the user's lies where anybody could have planted it.
env -u HOME STARPU_NCPU=1 TMPDIR="$folder" "$matmul" --size 8 >/dev/null ||
    fail "without HOME: status $?"
[ ! -e "$folder/.starpu" ] || fail "without HOME: StarPU uses TMPDIR"
# What StarPU can use is left to it.
for setting in STARPU_WORKERS_CPUID='0 0-' STARPU_WORKERS_COREID=0-0, STARPU_SCHED_ALPHA=0.5 STARPU_HOSTNAME=here STARPU_MAIN_THREAD_CPUID=0; do
    env STARPU_NCPU=1 STARPU_SCHED=dmda "$setting" "$matmul" --size 8 >/dev/null 2>&1 || fail "with $setting: status $?"
done
