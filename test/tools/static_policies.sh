#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# static_policies.sh APPORTION MATMUL HELLO_BLOCKS: policies that plan from a profile, as their users meet them on a real
# machine: without a profile, with a quick one, with one of something else, and in a comparison.
. "$(dirname "$0")/../checks.sh"
apportion=$(realpath "$1") matmul=$(realpath "$2") hello=$(realpath "$3")
cd "$folder"
export APPORTION_LEARN=0 XDG_DATA_HOME=$folder/data STARPU_SILENT=1 STARPU_NCPU=2 STARPU_NCUDA=0 STARPU_NOPENCL=0 STARPU_WORKERS_NOBIND=1
host=${STARPU_HOSTNAME:-$(uname -n | cut -d. -f1)}
profiles=$folder/data/apportion/profiles/$host
# runs POLICY PYTHON-CONDITION COMMAND...: the result is verified, and the condition on its report holds
runs() {
    STARPU_SCHED=$1 "${@:3}" --json | python3 -c '
import json, sys
run = json.load(sys.stdin); r = run["report"]; shares = [p["units"] for p in r["processors"]]
assert run["verified"] is True and sum(shares) == r["units"], run
assert eval("(" + sys.argv[1] + ")"), (sys.argv[1], r)' "$2" || fail "$1: $2"
}

# A bundled application: the sentence names the file and the command, and the command makes the file.
file=$profiles/matmul-192.csv
STARPU_SCHED=hpopta refused "there is no recorded profile $file; record it with \`apportion profile --app matmul --size 192\`" "$matmul" --size 192 --json
runs imbalance 'r["profile"]["file"] is None and shares == [96, 96] and "searching" in r["note"]' "$matmul" --size 192
"$apportion" profile --app matmul --size 192 --max-seconds 0.1 --max-repetitions 3 >said
grep -q "^$file: 32 points" said || fail "the profile is not recorded where programs look for it: $(cat said)"
for policy in hpopta imbalance min-min; do
    runs $policy 'r["profile"] == {"name": "matmul-192", "file": "'"$file"'"} and len(r["distributions"]) == 1 and
        [round(u) for u in r["distributions"][0]["shares"]] == shares and r["policy_stalls"] == 0 and
        r["distributions"][0]["predicted_end_seconds"] > 0 and r["solver"]["seconds"] > 0' "$matmul" --size 192
done
# A profile with other speeds gives other shares.
sed -i -E 's/^(CPU 1,[0-9]+),.*/\1,1000,,/; s/^(CPU 0,[0-9]+),.*/\1,1,,/' "$file"
runs hpopta 'shares == [192, 0]' "$matmul" --size 192

# The same for a size of several numbers, also in a comparison, which records it by itself.
STARPU_SCHED=hpopta refused "record it with \`apportion profile --app matmul --size 96,80,64\`" "$matmul" --size 96,80,64 --json
"$apportion" compare --app matmul --size 96,80,64 --policies hpopta,eager --blocks 4 --repeat 1 2>/dev/null >said ||
    fail "no comparison of a size of several numbers"
grep -q '^ *[12]  hpopta ' said || fail "the comparison has no row for hpopta: $(cat said)"

# An own program: profiles of something else, and incomplete ones.
n=$((1 << 20)) file=$profiles/hello.csv
STARPU_SCHED=fpm refused "there is no recorded profile $file; run the program with STARPU_SCHED=plb-hec, which learns it, without" "$hello"
profile() { { for note in "${notes[@]}"; do echo "# $note"; done; echo processor,units,seconds; printf '%s\n' "$@"; } >"$file"; }
notes=("load: other")
profile "CPU 0,$n,3" "CPU 1,$n,1"
STARPU_SCHED=fpm refused "$file was recorded for the load 'other', but this is 'hello'; remove it and run the program" "$hello"
notes=("machine: another")
profile "CPU 0,$n,3" "CPU 1,$n,1"
STARPU_SCHED=ilp refused "$file was recorded on the machine 'another', but this is '$host (" "$hello"
notes=()
profile "CPU 7,1,1"
STARPU_SCHED=hpopta refused "does not have the processor 'CPU 0'" "$hello"
profile "CPU 0,1,1"
STARPU_SCHED=hpopta refused "has only sizes that are too small for $n units" "$hello"
profile "CPU 0,x,1"
STARPU_SCHED=hpopta refused "$file:2: units are 'x'" "$hello"
profile "CPU 0,$n,3"
runs cpm '"CPU 1 has the recorded times of CPU 0" in r["note"] and shares[0] == shares[1]' "$hello"
profile "CPU 0,$((n / 2)),3" "CPU 0,$n,6" "CPU 1,$((n / 2)),1" "CPU 1,$n,2"
for policy in $(policies_that_need_a_profile); do runs $policy 'shares == [262144, 786432]' "$hello"; done
mv "$file" own.csv

# A file of one's own choice.
APPORTION_PROFILES=$folder/own.csv runs fpm 'shares == [262144, 786432]' "$hello"
APPORTION_PROFILES=$folder/none.csv STARPU_SCHED=min-min refused \
    "none.csv; record it with \`apportion profile --app matmul --size 192 --out $folder/none.csv\`, or run" "$matmul" --size 192

# A comparison makes a profile where none is.
said=$("$apportion" compare --app matmul --size 96 --policies hpopta,min-min --repeat 1 --json 2>err) || fail "compare: $(cat err)"
grep -q 'apportion compare: no usable profile is recorded' err || fail "compare does not say that it made a profile: $(cat err)"
python3 -c 'import json, sys; assert [r["policy"] for r in json.load(sys.stdin)["runs"]] == ["hpopta", "min-min"]' <<<"$said"
[ ! -e "$profiles/matmul-96.csv" ] || fail "the comparison left its profile"
