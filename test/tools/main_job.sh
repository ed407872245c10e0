#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The main job in virtual time, which is the same at every run: plb-hec on the four machines of its paper, against the
# lower bound, greedy and dmda; a device much smaller than the data; a device too small for anything.
# Arguments: the apportion program, the folder of the bundled platforms.
. "$(dirname "$0")/../checks.sh"
apportion=$1 platforms=$2

judge() { # name, python condition on `ratio(policy)`, the best makespan over the lower bound; JSON on standard input
    python3 -c '
import json, sys
result = json.load(sys.stdin)
def ratio(policy, pick=min):
    return pick(r["makespan_seconds"]["median"] for r in result["runs"] if r["policy"] == policy) / result["lower_bound_seconds"]
ok = eval(sys.argv[2])
print(sys.argv[1], "holds" if ok else "FAILS", {p: round(ratio(p), 3) for p in {r["policy"] for r in result["runs"]}})
units = result["units"]
for run in result["runs"]:
    if sum(run["units_per_processor"].values()) != units:
        print("not every unit was computed once under", run["policy"]); ok = False
sys.exit(0 if ok else 1)' "$1" "$2" || fail "$1"
}

"$apportion" compare --app matmul --size 65536 --platform plbhec-abcd --policies greedy,plb-hec,dmda --blocks 52 --json |
    judge "plb-hec within 1.3 of the bound, 1.25 x faster than dmda, 2.2 x than greedy" \
        'ratio("plb-hec") <= 1.3 and ratio("dmda") >= 1.25 * ratio("plb-hec") and ratio("greedy", max) >= 2.2 * ratio("plb-hec")'
"$apportion" compare --app matmul --size 4096 --platform plbhec-ab --policies greedy,plb-hec --blocks 8,16,32 --json |
    judge "on a small matrix plb-hec is not behind the best greedy" 'ratio("plb-hec") <= 1.03 * ratio("greedy")'

cp -r "$platforms" "$folder/platforms"
sed -i 's/^memory_bytes = .*/memory_bytes = 3e8/' "$folder/platforms/plbhec/machine-a.toml"
"$apportion" compare --app matmul --size 65536 --platform "$folder/platforms/plbhec-a.toml" \
    --policies equal,greedy,plb-hec,dmda --blocks 64 --json |
    judge "B and C 100 times larger than the device" 'ratio("plb-hec") <= 1.2'

sed -i 's/^memory_bytes = .*/memory_bytes = 4e7/' "$folder/platforms/plbhec/machine-a.toml"
refuses "a device too small for one unit" 1 "is too small" \
    "$apportion" compare --app matmul --size 8000000,48,16 --platform "$folder/platforms/plbhec-a.toml" --policies plb-hec
