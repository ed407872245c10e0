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
