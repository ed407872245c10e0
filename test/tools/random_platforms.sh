#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# random_platforms.sh APPORTION: machines drawn by chance in virtual time. Every application runs on one of each
# class, and `apportion compare` compares matmul there, with noise as without, under policies that plan from a profile.
# At last a node of 256 cores and nine cards.
set -euo pipefail
apportion=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CACHE_HOME=$folder XDG_DATA_HOME=$folder/data STARPU_SILENT=1
failures=0
fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

declare -A size=([blackscholes]=100000 [fft2d]=1024 [grn]=20000 [jacobi]=2048 [jacobi_batch]=128 [matmul]=8192 [mpdata]=240,120,128)
declare -A few=([jacobi]="--iterations 4" [mpdata]="--steps 3")
declare -A done=()
noisy=0
for seed in $(seq 0 40); do
    machine=$folder/$seed.toml
    "$apportion" platform --random "$seed" --out "$machine"
    class=$(sed -n 's/^# Class \([a-z-]*\):.*/\1/p' "$machine")
    [ -z "${done[$class]:-}" ] || continue
    done[$class]=$seed
    grep -qx 'noise = 0' "$machine" || noisy=$((noisy + 1))
    # Without noise no run is faster than the lower bound by luck.
    sed 's/^noise = .*/noise = 0/' "$machine" >"$folder/quiet.toml"
    for app in "${!size[@]}"; do
        # shellcheck disable=SC2086 # two words
        "$apportion" compare --platform "$folder/quiet.toml" --policies plb-hec --json -- "$app" --size "${size[$app]}" ${few[$app]:-} |
            python3 -c '
import json, sys
result = json.load(sys.stdin)
run = result["runs"][0]
seconds, bound = run["makespan_seconds"]["median"], result["lower_bound_seconds"]
print(*sys.argv[1:], "%.4g s, bound %.4g s" % (seconds, bound))
assert sum(run["units_per_processor"].values()) == result["units"] and seconds >= bound * (1 - 1e-9) > 0
planned, idle = run["planned_per_processor"], run["idle_percent_per_processor"]
assert set(idle) == set(run["units_per_processor"]) and all(0 <= percent <= 100 for percent in idle.values())
assert planned is None or set(planned) == set(idle) and 0 < sum(planned.values()) <= result["units"] * (1 + 1e-9)' \
            "$class" "$seed" "$app" || fail "$app on machine $seed ($class)"
    done
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
[ $failures = 0 ]
