#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# static_simulated.sh APPORTION MATMUL JACOBI: policies that plan from a profile on a simulated platform, whose profile is its
# true times. Virtual time: the same at every run.
. "$(dirname "$0")/../checks.sh"
apportion=$1 matmul=$2 jacobi=$3
export XDG_DATA_HOME=$folder/data STARPU_SILENT=1
file=$folder/data/apportion/profiles/plbhec-ab/matmul-16384.csv
run() { STARPU_SCHED=$1 "$apportion" platform plbhec-ab "$matmul" --size 16384 --json; }

status=0
said=$(APPORTION_PLATFORM=plbhec-ab "$matmul" --size 1024 2>&1) || status=$?
[[ $status -eq 2 && $said == *"APPORTION_PLATFORM=plbhec-ab: StarPU simulates another machine, as STARPU_HOSTNAME is not plbhec-ab; start the program by "* ]] ||
    fail "a platform that StarPU does not know: $status, $said"

status=0
said=$("$apportion" platform plbhec-ab "$matmul" --size 1024 --type double 2>&1) || status=$?
[[ $status -eq 2 && $said == *".toml:1: [kernel.matmul] says that a unit of this size has 4096 bytes by bytes_in, and the program's has 8192; "* ]] ||
    fail "units of other bytes than the platform's: $status, $said"

status=0
said=$(run hpopta 2>&1) || status=$?
[ $status -ne 0 ] || fail "hpopta runs without a profile"
[[ $said == *"there is no recorded profile $file; record it with \`apportion profile --app matmul --size 16384 --platform "* ]] ||
    fail "hpopta says $said"
said=$("$apportion" profile --app matmul --size 16384 --platform plbhec-ab)
[[ $said == "$file: "*" points of 13 processors" ]] || fail "profile says $said"
for policy in $(policies_that_need_a_profile); do
    run $policy | python3 -c '
import json, sys
policy, file = sys.argv[1:]
report = json.load(sys.stdin)["report"]
shares = [p["units"] for p in report["processors"]]
plan = report["distributions"][0]
assert report["profile"]["file"] == file, report["profile"]
assert len(report["distributions"]) == 1 and shares == [round(u) for u in plan["shares"]], (shares, plan)
assert sum(shares) == 16384 and report["policy_stalls"] == 0
error = report["makespan_seconds"] / plan["predicted_end_seconds"] - 1
print(policy, "makespan", report["makespan_seconds"], "planned", plan["predicted_end_seconds"], "in", report["solver"]["seconds"], "s")
assert abs(error) < 0.02, error' $policy "$file" || fail "$policy"
done

# A link that devices share, in which directions hold each other up, is what a plan is made for.
cat >"$folder/one-way.toml" <<'END'
[kernel.matmul]
work = { factor = 2, m = 1, k = 1 }
bytes_in = { factor = 4, k = 1 }
bytes_out = { factor = 4, m = 1 }
[[link]]
name = "one way"
bytes_per_s = 2e9
latency_s = 2e-5
shared = true
full_duplex = false
[[device]]
name = "core"
kind = "cpu"
count = 2
kernel.matmul = { base_s = 1e-5, rate = 5e10, half_saturation = 2 }
[[device]]
name = "card"
kind = "cuda"
count = 2
link = "one way"
memory_bytes = 1e10
kernel.matmul = { base_s = 2e-5, rate = 5e12, half_saturation = 100 }
END
"$apportion" compare --app matmul --size 4096 --platform "$folder/one-way.toml" --policies hpopta,ilp,fpm,fpm-akima,min-min,auto --json 2>"$folder/err" | python3 -c '
import json, sys
found = json.load(sys.stdin)
over = {r["policy"]: r["makespan_seconds"]["median"] / found["lower_bound_seconds"] for r in found["runs"]}
print("over the bound", over)
assert len(over) == 6 and max(over.values()) < 1.02, over' || fail "a shared link is not planned for: $(cat "$folder/err")"

# A machine is what its file says, wherever that lies.
mkdir "$folder/here" "$folder/there"
"$apportion" platform --random 3 >"$folder/here/same.toml"
cp "$folder/here/same.toml" "$folder/there/same.toml"
"$apportion" profile --app matmul --size 1000 --platform "$folder/here/same.toml" --out "$folder/same.csv" >"$folder/told" ||
    fail "profile of a file: $(cat "$folder/told")"
on_there() { STARPU_SCHED=hpopta APPORTION_PROFILES=$folder/same.csv "$apportion" platform "$folder/there/same.toml" "$matmul" --size 1000; }
shows "a profile of the same machine elsewhere" "hpopta" on_there
echo "# changed" >>"$folder/there/same.toml"
status=0
said=$(on_there 2>&1) || status=$?
[ $status -ne 0 ] && [[ $said == *"was recorded on the machine 'simulated same.toml ("*"but this is 'simulated same.toml ("* ]] ||
    fail "a profile of a machine that was changed: $said"

# What decisions take is counted, and a part of simulated time where that is asked.
run plb-hec >"$folder/free"
APPORTION_CHARGE_PLANNING=1 run plb-hec >"$folder/charged"
python3 -c '
import json, sys
free, charged = (json.load(open(file))["report"] for file in sys.argv[1:])
assert 0 < free["planning_seconds"] and 0 < charged["planning_seconds"]
assert free["makespan_seconds"] != charged["makespan_seconds"], free["makespan_seconds"]
assert sum(p["units"] for p in charged["processors"]) == 16384' "$folder/free" "$folder/charged" || fail "planning is not charged"

# Rows that stay on their devices are brought there once.
"$apportion" profile --app jacobi --size 2048 --platform plbhec-a >"$folder/out"
APPORTION_REPORT=$folder/iterations STARPU_SCHED=hpopta "$apportion" platform plbhec-a "$jacobi" --size 2048 --iterations 40 >"$folder/out"
python3 -c '
import json, sys
runs = [json.loads(line) for line in open(sys.argv[1])]
assert [r["distributions"][0]["reason"] for r in runs] == ["profile"] + ["data that stay"] * (len(runs) - 1)
first, last = runs[0]["makespan_seconds"], runs[-1]["makespan_seconds"]
print("jacobi: first run", first, "last run", last)
assert last < first / 2' "$folder/iterations" || fail "data that stay are planned with as if they travelled in every run"

status=0
said=$(run imbalance 2>&1) || status=$?
[ $status -ne 0 ] && [[ $said == *"imbalance needs identical processors"* ]] || fail "imbalance says $said"

"$apportion" compare --app matmul --size 65536 --platform plbhec-abcd --policies hpopta,ilp,plb-hec --json 2>"$folder/err" | python3 -c '
import json, sys
seconds = {r["policy"]: r["makespan_seconds"]["median"] for r in json.load(sys.stdin)["runs"]}
print(seconds)
assert seconds["hpopta"] <= seconds["plb-hec"] and seconds["ilp"] <= seconds["plb-hec"]' || fail "with a profile it takes longer than without"
grep -q 'no usable profile is recorded' "$folder/err" || fail "compare does not say that it made a profile"

# An application has the same profile however it is given, also where its options are none of the profile's.
makespan_of() {
    "$apportion" compare --platform plbhec-a --policies hpopta --json "$@" 2>"$folder/err" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["runs"][0]["makespan_seconds"]["median"])' || fail "compare $*: $(cat "$folder/err")"
}
true_times=$(makespan_of --app jacobi --size 2048)
for words in "-- jacobi --size 2048" "-- jacobi --size=2048"; do
    # shellcheck disable=SC2086 # several words
    [ "$(makespan_of $words)" = "$true_times" ] || fail "compare $words takes another profile than --app"
done
for words in "--app matmul --size 2048 -- --repeat 1" "-- matmul --size 2048 --repeat 1"; do
    # shellcheck disable=SC2086 # several words
    [ -n "$(makespan_of $words)" ] || fail "compare $words makes no profile"
done

# Transfers are measured on all devices at once, as they are in the true times.
"$apportion" platform "$folder/one-way.toml" "$apportion" profile --app matmul --size 4096 --sizes 64:512:448 --out "$folder/measured.csv" \
    >"$folder/told" 2>&1 || fail "profile on a simulated platform: $(cat "$folder/told")"
"$apportion" profile --app matmul --size 4096 --platform "$folder/one-way.toml" --sizes 64:512:448 --out "$folder/true.csv" >"$folder/told"
python3 -c '
import csv, sys
measured, true = ([row for row in csv.DictReader(line for line in open(file) if line[0] != "#")] for file in sys.argv[1:])
assert len(measured) == len(true) == 8 and [row["processor"] for row in measured if row["in"]] == [row["processor"] for row in true if row["in"]]
for ours in measured:
    theirs = next(row for row in true if (row["processor"], row["units"]) == (ours["processor"], ours["units"]))
    for column in ("in", "out", "both"):
        if ours[column] or theirs[column]:
            assert abs(float(ours[column]) / float(theirs[column]) - 1) < 0.02, (column, ours, theirs)' \
    "$folder/measured.csv" "$folder/true.csv" || fail "measured transfers are not the true ones: $(cat "$folder/measured.csv")"

# What is measured once has no interval; and other programs take nothing of virtual time.
"$apportion" platform plbhec-a "$apportion" profile --app matmul --size 4096 --sizes 64:64:1 --max-seconds 1e-9 \
    --out "$folder/b.csv" >"$folder/told" 2>&1 || fail "profile on a simulated platform: $(cat "$folder/told")"
grep -qx '10 of them did not reach the precision of 2.5 % (10 have fewer than the 3 repetitions that tell an interval) within .*' \
    "$folder/told" || fail "sizes without an interval: $(cat "$folder/told")"
! grep 'CPUs busy meanwhile' "$folder/told" || fail "other programs are said to disturb virtual time"
