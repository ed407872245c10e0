#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every kernel of every bundled platform runs in virtual time under two of StarPU's schedulers and plb-hec: all units
# once, not faster than the lower bound. Arguments: the apportion program, kernel_run.
set -u
export apportion=$1 kernel_run=$2

# Sizes M,N,K and units that take seconds to simulate.
arguments() {
    case $1 in
    matmul) echo 8192,8192,8192 8192 ;;
    fft2d) echo 0,4320,0 4320 ;;
    jacobi) echo 0,1024,0 256 ;;
    jacobi_batch) echo 0,1024,100 64 ;;
    mpdata) echo 480,120,128 480 ;;
    blackscholes) echo 0,1000000,0 1000000 ;;
    grn) echo 0,50000,0 1000 ;;
    *)
        echo "bundled_platforms: arguments() here has no size for kernel $1" >&2
        echo none none
        ;;
    esac
}

check() { # platform, kernel, policy, sizes, units
    local output
    output=$(STARPU_SILENT=1 STARPU_SCHED=$3 timeout 60 "$apportion" platform "$1" "$kernel_run" "$2" "$4" "$5") ||
        { echo "$1 $2 $3 FAILS" && return 1; }
    echo "$output" | python3 -c '
import json, sys
run = json.load(sys.stdin)
units = sum(p["units"] for p in run["report"]["processors"])
ok = units == run["report"]["units"] and run["seconds"] >= run["bound"] > 0 and run["policy"] == sys.argv[3]
print(*sys.argv[1:], "holds" if ok else "FAILS", "%.4g s, bound %.4g s, %d units" % (run["seconds"], run["bound"], units))
sys.exit(0 if ok else 1)' "$@"
}
export -f check

"$apportion" platform --list | while read -r platform description; do
    kernels=$("$apportion" platform "$platform" --json |
        python3 -c 'import json, sys
platform = json.load(sys.stdin)  # clusters are for another flavour
print(*sorted({k for d in platform["devices"] for k in d["kernels"] if "nodes" not in platform}))')
    for kernel in $kernels; do
        read -r sizes units < <(arguments "$kernel")
        for policy in eager dmda plb-hec; do echo "$platform $kernel $policy $sizes $units"; done
    done
done | xargs -n 5 -P 2 bash -c 'check "$@"' check
status=("${PIPESTATUS[@]}")
exit $((status[0] + status[1] + status[2] > 0))
