#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# clusters.sh APPORTION: what `apportion` says of platforms with nodes where the flavour that runs on them is not built.
. "$(dirname "$0")/../checks.sh"
export XDG_CACHE_HOME=$folder/cache
mkdir -p "$folder/build/real/tools"
cp "$1" "$folder/build/real/tools/apportion"
ln -s "$(realpath "$(dirname "$1")/../policies")" "$folder/build/real/policies"
apportion=$folder/build/real/tools/apportion
refused 'build it with tools/build smpi' "$apportion" compare --platform plbhec-nodes --app matmul --size 64
refused '--launch' "$apportion" compare --platform plbhec-nodes --launch 'mpirun -np 4' --app matmul --size 64
refused '--blocks' "$apportion" compare --platform plbhec-nodes --app matmul --size 64 --blocks 4
refused 'dmda is no policy of Apportion' "$apportion" compare --platform plbhec-nodes --app matmul --size 64 --policies dmda,plb-hec
refused 'does not describe kernel "grn"' "$apportion" compare --platform gdansk-nodes --app grn --size 64
refused 'is a cluster of 4 nodes' "$apportion" profile --platform plbhec-nodes --app matmul --size 64
refused 'is a cluster of 4 nodes' "$apportion" profile --platform plbhec-nodes --app matmul --square --sizes 64:128:64 --out "$folder/p.csv"
object=$(realpath "$(cc -print-file-name=libm.so.6)") # which programs of the flavour smpi are, too
refused 'white space' "$apportion" platform plbhec-nodes "$object" 'two words'
refused 'is no program that runs on a simulated cluster' "$apportion" platform plbhec-nodes "$1"
refused 'is no program that runs on a simulated cluster' "$apportion" platform plbhec-nodes "$folder/none"
refused 'is a program for simulated clusters' "$apportion" platform plbhec-a "$object"
[ ! -e "$folder/p.csv" ] || fail "something was written: $(ls "$folder")"

"$apportion" platform plbhec-nodes | grep -q '^  D  *1  *1.17 GB/s  *30 us  1 x GTX Titan, 1 x i7-3930K, 5 cores; bus 6 GB/s, 10 us' ||
    fail "the description: $("$apportion" platform plbhec-nodes)"
"$apportion" platform unlike-64 --json | python3 -c '
import json, sys
nodes = json.load(sys.stdin)["nodes"]
assert sum(n["count"] for n in nodes) == 64, nodes
assert nodes[0]["network"] == {"bytes_per_second": 12.5e9, "latency_seconds": 1e-6}, nodes[0]' || fail "the description as JSON"
! "$apportion" platform plbhec-abcd --json | grep -q '"nodes"' || fail "a machine has nodes"

# Reports of a run that is to tell the nodes' devices: without them, with some of them, and with what is none.
mkdir -p "$folder/build/smpi/apps" "$folder/bin"
cp "$object" "$folder/build/smpi/apps/matmul"
cat >"$folder/bin/smpirun" <<'END'
#!/bin/sh
cat "$REPORT_OF_NODES" >>"$APPORTION_REPORT"
echo '{"app": "matmul", "size": [64, 64, 64]}'
END
chmod +x "$folder/bin/smpirun"
report_of() { # nodes' reports
    python3 -c '
import json, sys
processor = {"name": "node 0", "kind": "node", "units": 64, "blocks": 1, "compute_seconds": 1, "transfer_wait_seconds": 0,
             "return_seconds": 0, "idle_percent": 0}
report = {"load": "matmul", "policy": "equal", "units": 64, "granularity": 1, "run": 1, "blocks": 1, "makespan_seconds": 1,
          "idle_percent": 0, "processors": [processor]}
own = dict(report, processors=[dict(processor, name="CPU 0", kind="CPU")])
print(json.dumps(dict(report, nodes=eval(sys.argv[1]))))' "$1" >"$folder/report"
}
export REPORT_OF_NODES=$folder/report
with_reports() { PATH=$folder/bin:$PATH refused "$1" "$apportion" compare --platform plbhec-nodes --app matmul --size 64 --policies cpm,plb-hec; }
report_of '[]'
with_reports "cpm needs a profile, and none could be made: the report of load 'matmul' tells of the processors of 0 nodes, and the platform has 4"
report_of '[own, own, own]'
with_reports "tells of the processors of 3 nodes"
report_of '[own, None, own, own]'
with_reports "does not tell which processors node 1 (B) has"
report_of '[own, own, dict(own, processors=[]), own]'
with_reports 'the report has no processors'
report_of '[dict(own, processors=[dict(processor, name="CPU 99", kind="CPU")])] * 4'
with_reports "'CPU 99' is no device of the platform"

# smpirun, a shell script, divides paths at white space.
XDG_CACHE_HOME="$folder/with space" refused 'smpirun does not accept white space' "$apportion" platform plbhec-nodes "$object"
