#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# slow_nodes.sh APPORTION APPS: 16 simulated nodes, of which one, four times as fast as the others, becomes 3 or 20 times
# slower at 30 % of the makespan that was possible before. Prints makespans in parts of the best that is possible then, and
# fails above 1.2.
set -euo pipefail
apportion=$1 apps=$2
[ -x "$apportion" ] || {
    echo "there is no $apportion: build the real flavour, too (tools/build real smpi)" >&2
    exit 77
}
export STARPU_SILENT=1 APPORTION_LEARN=0 STARPU_SCHED=plb-hec
unset APPORTION_NODES
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CACHE_HOME=$folder
failed=0

# Four cores a node. Nodes but the odd one compute 4e5 units of blackscholes a second, and 4e4 planes of mpdata of 64 x 64
# cells; the odd one four times as many.
platform() { # drift of the odd node's devices
    cat <<END_OF_TOML
[kernel.blackscholes]
work = { factor = 1 }
bytes_in = { factor = 40 }
bytes_out = { factor = 8 }
[kernel.mpdata]
work = { factor = 1 }
bytes_in = { factor = 8, n = 1, k = 1 }
bytes_out = { factor = 8, n = 1, k = 1 }
kept = true
[[device]]
name = "core"
kind = "cpu"
[device.kernel.blackscholes]
rate = 1e5
[device.kernel.mpdata]
rate = 1e4
[[device]]
name = "odd core"
kind = "cpu"
$1
[device.kernel.blackscholes]
rate = 4e5
[device.kernel.mpdata]
rate = 4e4
[[node]]
name = "alike"
count = 15
devices = { "core" = 4 }
network = { bytes_per_s = 12.5e9, latency_s = 1e-6 }
[[node]]
name = "odd"
devices = { "odd core" = 4 }
network = { bytes_per_s = 12.5e9, latency_s = 1e-6 }
END_OF_TOML
}

# name, units a second of an ordinary node, units in all, then the program
slower() {
    local name=$1 speed=$2 units=$3 factor
    shift 3
    for factor in 3 20; do
        read -r from_s best_s < <(python3 -c '
import sys
speed, units, factor = map(float, sys.argv[1:])
healthy = 19 * speed
from_s = 0.3 * units / healthy
print(from_s, from_s + 0.7 * units / (15 * speed + 4 * speed / factor))' "$speed" "$units" "$factor")
        platform "drift = { factor = $factor, from_s = $from_s }" >"$folder/slower.toml"
        timeout -k 5 300 "$apportion" platform "$folder/slower.toml" "$@" --json >"$folder/out" 2>"$folder/err" || {
            echo "FAILED: $*: $(tail -3 "$folder/err")" >&2
            failed=1
            continue
        }
        python3 - "$name, the fastest of 16 nodes $factor times slower" "$best_s" "$folder/out" <<'END_OF_PYTHON' || failed=1
import json, sys
name, best_s, file = sys.argv[1], float(sys.argv[2]), sys.argv[3]
run = json.load(open(file))
seconds = run.get("total_seconds", run["seconds"])
print(f"{name}: {seconds:.4g} s, {seconds / best_s:.3f} of the best possible")
if seconds > 1.2 * best_s: sys.exit("more than 1.2")
END_OF_PYTHON
    done
}
slower blackscholes 4e5 1e8 "$apps/blackscholes" --size 100000000
# 400 steps of 3200 planes
slower mpdata 4e4 1.28e6 "$apps/mpdata" --size 3200,64,64 --steps 400
[ $failed = 0 ]
