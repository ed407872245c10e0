#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# On machines drawn by chance, without their noise, no policy and no scheduler is faster than the lower bound. Arguments:
# the apportion program, seeds. Every other machine runs the same applications.
. "$(dirname "$0")/../../checks.sh"
apportion=$1
shift
export XDG_CACHE_HOME=$folder
subjects=("matmul 8192" "fft2d 4096")
others=("blackscholes 100000" "grn 4000")
for seed; do
    "$apportion" platform --random "$seed" | sed 's/^noise = .*/noise = 0/' >"$folder/machine.toml"
    for subject in "${subjects[@]}"; do
        read -r app size <<<"$subject"
        "$apportion" compare --app "$app" --size "$size" --platform "$folder/machine.toml" --blocks 8,64,512 --json \
            2>"$folder/errors" | python3 -c '
import json, sys
result = json.load(sys.stdin)
ratios = sorted((run["makespan_seconds"]["median"] / result["lower_bound_seconds"], run["policy"]) for run in result["runs"])
print(*sys.argv[1:], "%.3f x the bound: %s, the best of %d" % (*ratios[0], len(ratios)))
sys.exit(ratios[0][0] < 1 or len(ratios) < 10)' "$seed" "$app" "$size" || { cat "$folder/errors" && exit 1; }
    done
    swap=("${subjects[@]}") subjects=("${others[@]}") others=("${swap[@]}")
done
