#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# starpu_environment.sh MATMUL: environments in which StarPU would abort with a trace are refused with one sentence and
# status 2.
. "$(dirname "$0")/../checks.sh"
matmul=$1
unset XDG_CACHE_HOME STARPU_HOME STARPU_PERF_MODEL_DIR
# sentence-part, then VAR=value...
refused() {
    local words=$1 output status=0
    shift
    output=$(env STARPU_SILENT=1 STARPU_NCUDA=0 STARPU_NOPENCL=0 HOME="$folder" "$@" "$matmul" --size 8 2>&1) || status=$?
    [ $status = 2 ] && [[ $output == *"$words"* ]] && [ "$(wc -l <<<"$output")" = 1 ] ||
        fail "with $*: expected status 2 and one sentence with '$words', got status $status and: $output"
}
for value in abc -5 1.5 99999999999 ' 2 '; do
    refused "Environment variable STARPU_NCPU: \"$value\" is not usable, it must be a whole number" STARPU_NCPU="$value"
done
refused "STARPU_NOPENCL: \"-1\"" STARPU_NOPENCL=-1
refused "STARPU_WORKERS_NOBIND: \"yes\"" STARPU_WORKERS_NOBIND=yes
for name in STARPU_SILENT STARPU_FXT_TRACE STARPU_MAX_MEMORY_USE; do refused "$name: \"abc\"" $name=abc; done
refused "STARPU_CALIBRATE: \"\\x1b\"" STARPU_CALIBRATE="$(printf '\033')"
touch "$folder/file"
for home in /proc "$folder/file" "$folder/file/below"; do
    refused "StarPU cannot keep its measurements in $home" HOME="$home"
    refused "set STARPU_HOME or STARPU_PERF_MODEL_DIR to a folder that you may write to" STARPU_PERF_MODEL_DIR="$home"
done
if [ "$(id -u)" != 0 ]; then
    mkdir -m 500 "$folder/read-only"
    refused "StarPU cannot keep its measurements in $folder/read-only/.starpu/sampling/bus: Permission denied" HOME="$folder/read-only"
fi
# Without HOME nothing of the user's lies where anybody could have planted it.
env -u HOME STARPU_SILENT=1 STARPU_NCPU=1 STARPU_NCUDA=0 STARPU_NOPENCL=0 TMPDIR="$folder" "$matmul" --size 8 >/dev/null ||
    fail "without HOME: status $?"
[ ! -e "$folder/.starpu" ] || fail "without HOME: StarPU uses TMPDIR"
