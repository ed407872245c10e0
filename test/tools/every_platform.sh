#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# every_platform.sh APPORTION: every kernel of every bundled machine runs in virtual time: all units once, not faster
# than the lower bound. The same on one machine drawn by chance of each class, where `apportion compare` also compares
# matmul, with noise as without, under policies that plan from a profile. At last a node of 256 cores and nine cards.
. "$(dirname "$0")/../checks.sh"
apportion=$1
export XDG_CACHE_HOME=$folder XDG_DATA_HOME=$folder/data STARPU_SILENT=1

declare -A size=([blackscholes]=100000 [fft2d]=1024 [grn]=20000 [jacobi]=2048 [jacobi_batch]=128 [matmul]=8192 [mpdata]=240,120,128)
declare -A few=([jacobi]="--iterations 4" [mpdata]="--steps 3")
compare() { # platform, kernel, policies
    # shellcheck disable=SC2086 # two words
    timeout 60 "$apportion" compare --platform "$1" --policies "$3" --blocks 48 --json -- "$2" --size "${size[$2]}" ${few[$2]:-} | python3 -c '
import json, sys
result = json.load(sys.stdin)
bound = result["lower_bound_seconds"]
for run in result["runs"]:
    seconds = run["makespan_seconds"]["median"]
    print(*sys.argv[1:], run["policy"], "%.4g s, bound %.4g s" % (seconds, bound))
    assert sum(run["units_per_processor"].values()) == result["units"] and seconds >= bound * (1 - 1e-9) > 0
    planned, idle = run["planned_per_processor"], run["idle_percent_per_processor"]
    assert set(idle) == set(run["units_per_processor"]) and all(0 <= percent <= 100 for percent in idle.values())
    assert planned is None or set(planned) == set(idle) and 0 < sum(planned.values()) <= result["units"] * (1 + 1e-9)
assert {run["policy"] for run in result["runs"]} == set(sys.argv[3].split(","))' "$@" || fail "$2 on $1"
}

"$apportion" platform --list | while read -r platform description; do
    kernels=$("$apportion" platform "$platform" --json | python3 -c 'import json, sys
platform = json.load(sys.stdin)  # clusters are for another flavour
print(*sorted({k for d in platform["devices"] for k in d["kernels"] if "nodes" not in platform}))')
    for kernel in $kernels; do compare "$platform" "$kernel" dmda,plb-hec; done
done

declare -A done=()
noisy=0
for seed in $(seq 0 40); do
    machine=$folder/$seed.toml
    "$apportion" platform --random "$seed" >"$machine"
    class=$(sed -n 's/^# Class \([a-z-]*\):.*/\1/p' "$machine")
    [ -z "${done[$class]:-}" ] || continue
    done[$class]=$seed
    grep -qx 'noise = 0' "$machine" || noisy=$((noisy + 1))
    # Without noise no run is faster than the lower bound by luck.
    sed 's/^noise = .*/noise = 0/' "$machine" >"$folder/quiet.toml"
    for app in "${!size[@]}"; do compare "$folder/quiet.toml" "$app" plb-hec; done
    "$apportion" compare --app matmul --size 65536 --platform "$machine" --policies hpopta,plb-hec >"$folder/table" 2>&1 ||
        fail "compare on machine $seed: $(cat "$folder/table")"
done
# A node of the largest size that StarPU is built for in the simulated flavour: two sockets of 128 cores, and eight cards.
cat >"$folder/large.toml" <<END
include = ["$(cd "$(dirname "$0")" && pwd)/small_cluster.toml"]
name = "large"
[included.core]
count = 255
[included.large]
count = 8
END
for policy in plb-hec gss; do
    "$apportion" compare --app matmul --size 65536 --platform "$folder/large.toml" --policies $policy --json |
        python3 -c 'import json, sys; result = json.load(sys.stdin); assert sum(result["runs"][0]["units_per_processor"].values()) == 65536' ||
        fail "a node of 256 cores under $policy"
done
[ ${#done[@]} = 5 ] || fail "only these classes are drawn: ${!done[*]}"
[ $noisy -gt 0 ] || fail "no machine with noise was compared"
