#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# learning.sh APPORTION HELLO_BLOCKS SLOW_SHARES: what runs of an own program learn is kept for its next process: the advice that is
# printed without a profile can be followed, damage and what cannot be written cost a sentence, processes may run at once,
# and `apportion profile` lists, shows and forgets it.
. "$(dirname "$0")/../checks.sh"
apportion=$(realpath "$1") hello=$(realpath "$2") slow_shares=$(realpath "$3")
cd "$folder"
unset APPORTION_LEARN APPORTION_PROFILES
export XDG_DATA_HOME=$folder/data STARPU_SILENT=1 STARPU_NCPU=2 STARPU_NCUDA=0 STARPU_NOPENCL=0 STARPU_WORKERS_NOBIND=1
learnt=$folder/data/apportion/profiles/learnt
# hello POLICY PYTHON-CONDITION: it runs, all is right, and the condition holds on its report; what it says is in the
# file said
hello() {
    STARPU_SCHED=$1 "$hello" --json 2>err >out || fail "$1 ends with $?: $(cat err)"
    sed '/^\[starpu\]/d' err >said
    python3 -c '
import json, sys
run = json.load(open("out")); r = run["report"]
assert run["verified"] is True, run
assert eval(sys.argv[1]), (sys.argv[1], r)' "$2" || fail "$1: $2"
}
quiet() { [ ! -s said ] || fail "it says: $(cat said)"; }
one_sentence() { # with that text
    [ "$(wc -l <said)" = 1 ] && [[ $(cat said) == "apportion: "*"$1"* ]] || fail "it says '$(cat said)', not '$1'"
}

# The advice, followed as it stands: no profile, no other kernel, no other command.
STARPU_SCHED=hpopta refused 'run the program once with STARPU_SCHED=plb-hec, which learns it' "$hello"
[ ! -e "$learnt" ] || fail "a run that did not take place left something"
hello plb-hec 'r["learnt"]["processes"] == 0 and r["learnt"]["problem"] is None'
quiet
for policy in hpopta ilp fpm auto; do
    hello $policy 'r["learnt"]["processes"] > 0 and r["learnt"]["file"].startswith("'"$learnt"'/")'
    quiet
    [ $policy = auto ] || grep -q '"file":"'"$learnt"'/' out || fail "$policy did not plan from what was learnt"
done
# Where the machine was busy, its units may look unlike by now: there is no plan then.
hello plb-hec 'all(d["reason"] == "models of the previous run" for d in r["distributions"][:1])'
file=$(ls "$learnt"/*-hello-*.csv)
[ "$(ls "$learnt")" = "$(basename "$file")" ] || fail "one kernel has several files: $(ls "$learnt")"

# A profile that somebody recorded or named and that is none is told of; what was learnt takes its place unasked for nobody.
printf 'processor,units,seconds\nCPU 0,x,1\n' >mine.csv
APPORTION_PROFILES=mine.csv STARPU_SCHED=hpopta refused "mine.csv:2: units are 'x'" "$hello"
APPORTION_PROFILES=mime.csv STARPU_SCHED=hpopta refused "there is no recorded profile mime.csv; run the program with \
STARPU_SCHED=plb-hec, which learns it, without APPORTION_PROFILES from now on" "$hello"
recorded=$(dirname "$learnt")/${STARPU_HOSTNAME:-$(uname -n | cut -d. -f1)}/hello.csv
mkdir "$(dirname "$recorded")"
mv mine.csv "$recorded"
STARPU_SCHED=fpm refused "$recorded:2: units are 'x'" "$hello"
hello auto 'r["choice"] == "plb-hec"'
rm -r "$(dirname "$recorded")"

# Neither read nor kept.
before=$(cat "$file")
APPORTION_LEARN=0 hello plb-hec 'r["learnt"] == {"file": None, "processes": 0, "problem": None}'
hello eager 'r["learnt"]["file"] is None' # StarPU's own schedulers have no part in it
[ "$before" = "$(cat "$file")" ] || fail "APPORTION_LEARN=0 or eager changed what was learnt"
# Other processors are another machine.
STARPU_NCPU=1 hello plb-hec 'r["learnt"]["processes"] == 0'
[ "$(ls "$learnt" | wc -l)" = 2 ] || fail "one core and two have $(ls "$learnt" | wc -l) files"

# Damaged, cut off, of something else: a sentence, the run goes on, and the file is a good one again.
mkdir kept
cp "$file" kept
broken() { # what is said
    hello plb-hec 'r["learnt"]["processes"] == 0 and r["learnt"]["problem"] is not None'
    one_sentence "$1"
    hello plb-hec 'r["learnt"]["processes"] == 1'
    quiet
}
sed -i 's/^CPU 0,[0-9]*/CPU 0,7/' "$file"
broken "$file: is damaged, or was changed by hand; it is not used, and the next run replaces it"
head -c 100 kept/* >"$file"
broken "$file: is damaged"
: >"$file"
hello plb-hec 'r["learnt"]["processes"] == 0'
head -c 100000 /dev/urandom >"$file"
broken "$file: is damaged"
other=$(ls "$learnt"/*.csv | grep -v "^$file$")
cp "$other" "$file"
broken "$file: was learnt for something else, not for the processors 'CPU 0, CPU 1'"
rm "$file"
mkdir "$file"
hello plb-hec 'r["learnt"]["problem"] is not None'
[ "$(wc -l <said)" = 1 ] || fail "a folder in the place of the file: $(cat said)"
rmdir "$file"

# What cannot be written: the folder is a file, the disk is full, there is no home.
mv data other-data
mkdir -p data/apportion/profiles
: >"$learnt"
hello plb-hec 'r["error"] is None'
one_sentence "what the load 'hello' learnt is not kept: $file: cannot be written: "
rm -r data
: >data
hello plb-hec 'r["error"] is None'
one_sentence "what the load 'hello' learnt is not kept: "
rm data
mv other-data data

# Several processes at once: whichever is last, the file is whole.
rm -f "$file"
pids=()
for k in 1 2 3 4 5 6; do
    STARPU_SCHED=plb-hec "$hello" >"out.$k" 2>"err.$k" &
    pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || fail "one of several processes failed: $(cat err.*)"; done
hello plb-hec 'r["learnt"]["processes"] >= 1 and r["learnt"]["problem"] is None'
quiet
[ -z "$(ls "$learnt" | grep -v 'csv$')" ] || fail "parts are left: $(ls "$learnt")"

# Listed, shown and forgotten.
"$apportion" profile --list >out || fail "--list"
grep -Eq '^  hello +learnt +[0-9]+  [0-9]{4}-[0-9]{2}-[0-9]{2}  [0-9]+ bytes per unit, [0-9]+ shared  ' out || fail "--list has no hello: $(cat out)"
"$apportion" profile --list --json | python3 -c '
import json, sys
assert sorted(p["load"] for p in json.load(sys.stdin)) == ["hello", "hello"]' || fail "--list --json"
"$apportion" profile --show hello >out || fail "--show"
grep -q '^  codelet: ' out && grep -Eq '^  CPU 1 +[0-9]+ +' out || fail "--show has no times: $(cat out)"
"$apportion" profile --show hello --json | python3 -c '
import json, sys
assert all(p["processors"][0]["points"] for p in json.load(sys.stdin))' || fail "--show --json"
refused "there is no profile of that load or file name in" "$apportion" profile --show nothing
refused "there is no learnt profile of that load or file name in" "$apportion" profile --forget nothing
refused "only --list and --show print JSON" "$apportion" profile --forget hello --json
"$apportion" profile --forget "$file" | grep -q "^$file: forgotten$" || fail "--forget a file"
[ ! -e "$file" ] && [ "$(ls "$learnt" | wc -l)" = 1 ] || fail "--forget a file leaves $(ls "$learnt")"
hello plb-hec 'r["learnt"]["processes"] == 0'
"$apportion" profile --forget hello >out && [ "$(wc -l <out)" = 2 ] || fail "--forget a load: $(cat out)"
hello plb-hec 'r["learnt"]["processes"] == 0'
recorded=$folder/data/apportion/profiles/somewhere/matmul-64.csv
mkdir -p "$(dirname "$recorded")"
printf 'processor,units,seconds\nCPU 0,1,1\n' >"$recorded"
"$apportion" profile --forget all >out || fail "--forget all"
[ -z "$(ls "$learnt")" ] && [ -e "$recorded" ] || fail "--forget all forgets what was learnt, and nothing else"
"$apportion" profile --list | grep -Eq '^  matmul-64 +recorded +1 ' || fail "--list has no recorded profile"
"$apportion" profile --forget all | grep -q '^nothing was learnt$' || fail "--forget all, again"

# A profile from the program's own runs: where programs look for it, or in a file; what was learnt before has no part in it.
"$apportion" profile --repeat 1 -- "$hello" >out 2>said || fail "profile -- PROGRAM: $(cat said)"
recorded=$(sed -n 's/^\(.*\): [0-9]* points of 2 processors, learnt from 3 runs$/\1/p' out)
[ -s "$recorded" ] || fail "profile -- PROGRAM: no file: $(cat out)"
APPORTION_LEARN=0 hello hpopta "r['profile']['file'] == '$recorded'"
"$apportion" profile --show "$recorded" | grep -q ' not known$' || fail "profile -- PROGRAM: how often a size was measured is made up"
refused "runs of the load 'slow_shares' learnt nothing" "$apportion" profile --repeat 1 -- "$slow_shares" 0
[ -z "$(ls "$learnt")" ] || fail "profile -- PROGRAM changes what was learnt: $(ls "$learnt")"
"$apportion" profile --repeat 1 --out own.csv -- env STARPU_NCPU=1 "$hello" >/dev/null || fail "profile --out"
grep -q '^CPU 0,' own.csv && ! grep -q '^CPU 1,' own.csv || fail "profile --out: $(cat own.csv)"
# It replaces nothing that is another's, however the file is named, and says so before it runs the program.
cp own.csv other.csv
for way in '' --out; do
    for content in 'int main(void) { return 0; }' $'processor,units,seconds\nCPU 0,8,0.5' '{"a": 1}'; do
        echo "$content" >mine.csv
        refused "choose another file" env APPORTION_PROFILES=$([ -n "$way" ] || echo mine.csv) "$apportion" profile --repeat 1 ${way:+$way mine.csv} -- "$hello"
        [ "$(cat mine.csv)" = "$content" ] || fail "profile replaced $content: $(cat mine.csv)"
    done
done
APPORTION_PROFILES=other.csv "$apportion" profile --repeat 1 -- "$hello" >out || fail "profile does not replace its own: $(cat out)"
grep -q '^CPU 1,' other.csv || fail "profile does not replace its own: $(cat other.csv)"
refused "was measured with load 'hello" "$apportion" profile --repeat 1 --out other.csv -- "$slow_shares"
rm "$recorded"
"$apportion" compare --policies hpopta,equal --repeat 1 -- "$hello" >out 2>said || fail "compare makes no profile: $(cat said)"
grep -q ' hpopta ' out && grep -q 'no usable profile is recorded, so the static' said || fail "compare: $(cat out said)"
[ ! -e "$recorded" ] || fail "compare keeps the profile that it made"
# Blocks of one size that contradict all others, as on a machine that is busy for a while, do not have the last word.
"$apportion" profile --repeat 1 --out slow.csv -- "$slow_shares" >out 2>said || fail "contradicting runs: $(cat said)"
refused "two.csv: the program has 2 loads, whose profiles are that many files" "$apportion" profile --out two.csv -- \
    sh -c 'echo ran >>runs; "$0"; "$1"' "$hello" "$slow_shares"
[ "$(wc -l <runs)" = 1 ] || fail "several loads for one file are refused after $(wc -l <runs) runs"
refused "./none cannot be run" "$apportion" profile -- ./none
refused "runs of the load 'hello' report nothing that they learnt" "$apportion" profile -- env APPORTION_LEARN=0 "$hello"
refused "name what to measure: -- PROGRAM" "$apportion" profile --repeat 2
refused "a program is measured by its own runs" "$apportion" profile --app matmul -- "$hello"
