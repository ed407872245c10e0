#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# unpinned.sh LIBRARY PROGRAM...: where memory cannot be pinned (LIBRARY, preloaded, plays that), applications say so in
# one sentence and compute the right result. Nothing is said where there is no GPU. (Debian 13's StarPU warns of a folder
# that its package lacks.)
. "$(dirname "$0")/../checks.sh"
library=$1
shift
export STARPU_SILENT=1 STARPU_NCPU=2 STARPU_WORKERS_NOBIND=1 STARPU_SCHED=plb-hec
without_starpu() { sed -i '/^\[starpu\]/d' "$folder/err"; }
for program in "$@"; do
    LD_PRELOAD=$library "$program" --size 64 --json >"$folder/out" 2>"$folder/err" || fail "$program: $(cat "$folder/err")"
    without_starpu
    grep -q '"verified":true' "$folder/out" || fail "$program is not verified: $(cat "$folder/out")"
    [ "$(wc -l <"$folder/err")" = 1 ] && grep -q "cannot be pinned" "$folder/err" || fail "$program says: $(cat "$folder/err")"
    "$program" --size 64 --json 2>"$folder/err" >/dev/null
    without_starpu
    [ ! -s "$folder/err" ] || fail "$program says for nothing: $(cat "$folder/err")"
done
