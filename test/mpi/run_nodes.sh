# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced by the tests of programs over several nodes: processes on this machine stand in for nodes.
set -euo pipefail
export STARPU_SILENT=1 STARPU_NCPU=${STARPU_NCPU:-1} STARPU_NCUDA=0 STARPU_NOPENCL=0 STARPU_WORKERS_NOBIND=1 STARPU_MPI_NOBIND=1
export APPORTION_LEARN=${APPORTION_LEARN:-0}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
limit_s=${limit_s:-60} # after which what hangs is killed
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
fail() {
    echo "FAILED: $*" >&2
    failed=$((failed + 1))
}
# -np N PROGRAM... [: -np N PROGRAM...]..., as mpirun has it. mpirun starts one script on all ranks, which becomes the rank's
# program: that of Debian 13, Open MPI 5.0.7, crashes where it shall start several programs, be it `hostname : hostname`.
nodes() {
    local script ranks=0 words
    script=$(mktemp -p "$folder")
    while [ $# -gt 0 ]; do
        [ "$1" = -np ] || fail "nodes takes -np N PROGRAM, not $1"
        ranks=$((ranks + $2)) words=()
        shift 2
        while [ $# -gt 0 ] && [ "$1" != : ]; do
            words+=("$1")
            shift
        done
        shift || true
        echo "[ \${PMIX_RANK:-\${PMI_RANK:?}} -ge $ranks ] || exec ${words[*]@Q}" >>"$script"
    done
    timeout -k 5 "$limit_s" mpirun --oversubscribe --bind-to none -np $ranks bash "$script"
}
# words of the sentence, which is said once, then what nodes starts
refused() {
    local words=$1 status=0 said
    shift
    said=$(nodes "$@" 2>&1 >"$folder/out") || status=$?
    [ $status != 124 ] && [ $status != 137 ] || { fail "it hangs: $*"; return; }
    [ $status != 0 ] || fail "it succeeds: $*"
    [ "$(grep -c "$words" <<<"$said")" = 1 ] || fail "not said once, '$words': $* : $said"
    ! grep -q '"app"' "$folder/out" || fail "it prints a result: $*"
}
