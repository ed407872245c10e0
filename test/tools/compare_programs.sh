#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# compare_programs.sh APPORTION FAKE_APP SCHEDULERS: `apportion compare -- PROGRAM`, with a program that only pretends
# (fake_app says as what): what it is given, what it may do wrong, and which order is claimed. SCHEDULERS prints StarPU's.
. "$(dirname "$0")/../checks.sh"
apportion=$(realpath "$1")
fake=$(realpath "$2")
schedulers=$("$3") # of the StarPU that is linked
cd "$folder"
cp "$fake" fake
export XDG_DATA_HOME=$folder/data
compare() { "$apportion" compare --policies plb-hec "$@"; }

shows "a program" "fake, on this machine" compare --repeat 1 -- ./fake
shows "a program with arguments of its own" " plb-hec 4 3.012 s" compare --repeat 1 -- ./fake --scale 3
shows "a size in the program's arguments" '"units":512' compare --repeat 1 --json -- ./fake --size 512
shows "a program under another one" " plb-hec 4 1.012 s" compare --repeat 1 -- env ./fake
shows "all loads of a program" "seconds of loads 3 x rows columns plb-hec 3.036 1.012" \
    bash -c 'FAKE=iterated "$1" compare --policies plb-hec --repeat 1 -- ./fake | tr -s " \n" " "' bash "$apportion"
lopsided() { FAKE=lopsided compare --repeat 1 "$@" -- ./fake; }
shows "shares of several loads are of the work: each load counts by its time" " CPU 0 25.0" lopsided
shows "... and said to be" "share of work in % plb-hec" lopsided
shows "... also in JSON" '"share_percent":{"CPU 0":25.0,"CPU 1":75.0}' lopsided --json
remainder() { FAKE=remainder "$apportion" compare --policies plb-hec,dmda --blocks 16 --repeat 1 "$@" -- ./fake; }
shows "blocks of a load whose runs differ are those of the largest run" " plb-hec 4 2.024 s" remainder
shows "... and its shares" " GTX 680 75.0 75.0" remainder
shows "... and the numbers of blocks to try" " dmda best 16 2 s" remainder
[[ $(lopsided) != *"not alike"* ]] || fail "units of unlike loads are compared: $(lopsided)"
shows "no bound is told where nobody knows what a processor would add" \
    "some processors computed nothing in all runs of a load, so no lower bound is told" lopsided
shows "their sum is the makespan" " plb-hec 8 4.048 s" env FAKE=iterated "$apportion" compare --policies plb-hec --repeat 1 -- ./fake
shows "the bound of loads that run again is that of the best speeds in any run" "lower bound: 1.25 s, measured" \
    env FAKE=iterated "$apportion" compare --policies plb-hec --repeat 1 -- ./fake
shows "other loads under one policy" "lws is timed on other work than plb-hec: the program ran the loads others of 64 units in 1 run, and there fake of 64 units in 1 run" \
    env FAKE=other "$apportion" compare --policies plb-hec,lws --blocks 8 --repeat 1 -- ./fake
[[ $(FAKE=crowded "$apportion" compare --policies plb-hec,lws --blocks 8 --repeat 1 -- ./fake 2>&1) != *"other work"* ]] ||
    fail "the same loads in another order are other work"
needing=$(policies_that_need_a_profile | paste -sd, | sed 's/,/, /g')
shows "policies without a profile are left out where nobody asked for them" "left out are $needing, which need a profile: runs of the load 'fake-64' report nothing that they learnt" \
    "$apportion" compare --repeat 1 --blocks 8 -- ./fake
refuses "... and are an error where somebody did" 2 "hpopta needs a profile, and none could be made: runs of the load 'fake-64' report nothing that they learnt; leave it out of --policies" \
    "$apportion" compare --policies hpopta --repeat 1 -- ./fake

# Over nodes: every rank would run what stands behind the launcher's own arguments; here one does.
mkdir "a launcher"
printf '#!/bin/bash\necho "$@" >>"%s"\nshift 2\nexec "$@"\n' "$folder/launched" >"a launcher/run"
chmod +x "a launcher/run"
launch=(--launch "'$folder/a launcher/run' -np 4")
shows "a launcher" "policies grant units to nodes, which ''$folder/a launcher/run' -np 4' starts" compare --repeat 1 "${launch[@]}" -- ./fake
grep -q '^-np 4 env .*STARPU_SCHED=plb-hec APPORTION_NODES=plb-hec ./fake$' launched || fail "a launcher: $(cat launched)"
shows "policies over nodes" " greedy 8 1.008 s" env STARPU_SCHED=eager "$apportion" compare --policies greedy,equal --repeat 1 "${launch[@]}" -- ./fake
grep -q 'STARPU_SCHED=eager APPORTION_NODES=greedy ./fake$' launched || fail "the policy inside of nodes: $(cat launched)"
! "$apportion" compare --repeat 1 "${launch[@]}" -- ./fake | grep -q 'hpopta\|dmda' || fail "over nodes: a policy that cannot run"
refuses "a scheduler of StarPU for nodes" 2 "dmda is no policy of Apportion, and cannot grant units to nodes" \
    "$apportion" compare --policies dmda "${launch[@]}" -- ./fake
refuses "a launcher without words" 2 "--launch: name the command" compare --launch ' ' -- ./fake
refuses "a launcher that is not there" 2 "./none cannot be run" compare --launch './none -np 4' -- ./fake
refuses "a launcher that draws lines around what it says" 1 "exit status 1: Executable: ./none" compare -- \
    bash -c 'printf "%s\n" ---- "Executable: ./none" ---- "" >&2; exit 1'
refuses "blocks over nodes" 2 "leave --blocks out" compare --blocks 8 "${launch[@]}" -- ./fake
refuses "a launcher and a platform" 2 "--launch: runs on a simulated platform" compare --platform plbhec-a "${launch[@]}" -- matmul

refuses "no program" 2 "name what to compare: -- PROGRAM" compare
refuses "a program that is not there" 2 "./none cannot be run" compare -- ./none
refuses "a program without a name" 2 "empty name" compare -- ''
refuses "no number of seconds" 2 "--max-seconds: 'nan' is not usable; give a finite number above 0" compare --max-seconds nan -- ./fake
refuses "a program without its folder" 2 "fake cannot be run: No such file or directory; did you mean ./fake?" compare -- fake
refuses "a size that nothing takes" 2 "--size 8: it is that of --app" compare --size 8 -- ./fake
for scheduler in ${schedulers:?}; do
    refuses "the scheduler $scheduler" 2 "true under $scheduler submitted no load" "$apportion" compare --policies "$scheduler" -- true
done
refuses "a program that fails" 1 "fake under prio failed: fake: the simulated disk is full" "$apportion" compare --policies prio -- ./fake
refuses "a program that fails in silence" 1 "false under plb-hec failed: false: exit status 1" compare -- false
refuses "a program that submits no load" 2 "true under plb-hec submitted no load" compare -- true
refuses "a program that prints nothing" 2 "fake under plb-hec submitted no load" env FAKE=silent "$apportion" compare --policies plb-hec -- ./fake
refuses "a program whose load fails, of which it says nothing" 1 "fake under plb-hec failed: load 'fake': the disk is full" \
    env FAKE=careless "$apportion" compare --policies plb-hec -- ./fake
refuses "a report that was cut off" 2 "what fake under plb-hec reported:1: '{\"load\":\"fake\"" env FAKE=truncated "$apportion" compare --policies plb-hec -- ./fake
refuses "reports of another version" 2 'what fake under plb-hec reported: the report has no "granularity"; it is no report of this version' \
    env FAKE=old "$apportion" compare --policies plb-hec -- ./fake
refuses "a program that ran under another policy" 2 "load 'fake' ran under 'lws' instead" \
    env FAKE=lying "$apportion" compare --policies plb-hec -- ./fake
export FAKE_CHILDREN=$folder/children
# why everything should have ended
no_children() {
    local child
    for child in $(cat children); do
        if grep -qs '^State:[[:space:]]*[^Z[:space:]]' "/proc/$child/status"; then fail "$1: what the program started goes on"; fi
    done
}
: >children
FAKE=hanging "$apportion" compare --policies plb-hec -- ./fake >/dev/null 2>error &
pid=$!
until [ -s children ]; do sleep 0.05; done
kill -TERM $pid
status=0
wait $pid || status=$?
[ $status = 143 ] || fail "interrupted while a program hangs: status $status"
no_children "interrupted while a program hangs"
refuses "profiles that cannot be kept, before the program runs" 2 "let APPORTION_PROFILES name a folder that you may write to, or give --out" \
    env APPORTION_PROFILES=/dev/null/x "$apportion" profile -- touch started
[ ! -e started ] || fail "a program is measured whose profile cannot be kept"
mkdir locked && chmod 500 locked
if [ "$(id -u)" != 0 ]; then
    refuses "a folder for temporary files that is read-only" 1 "let TMPDIR name a folder" env TMPDIR=locked "$apportion" compare -- ./fake
fi
refuses "... or is not there" 1 "let TMPDIR name a folder" env TMPDIR=none "$apportion" compare --policies plb-hec -- ./fake

# The order. A claim about policies that are alike is wrong in at most 2 % of the comparisons; seeds are the clock's.
claims=0
for k in 1 2 3 4 5 6 7 8 9 10; do
    FAKE=noisy "$apportion" compare --policies plb-hec,equal -- ./fake >alike 2>&1 || fail "alike policies: $(cat alike)"
    grep -q "plb-hec and equal cannot be told apart\|equal and plb-hec cannot be told apart" alike || claims=$((claims + 1))
done
# More than 3 of 10 happen once in 150,000 times at 2 %.
[ $claims -le 3 ] || fail "alike policies were ranked in $claims of 10 comparisons"
FAKE=ranked "$apportion" compare --policies equal,plb-hec -- ./fake | tr -s ' ' >ranked
grep -q '^ 1 plb-hec' ranked && grep -q '^ 2 equal' ranked || fail "policies that differ are not ranked: $(cat ranked)"
grep -q '^plb-hec is [12].[0-9]* times as fast as equal' ranked || fail "nothing says by how much: $(cat ranked)"
grep -q '^9 rounds in random order (seed [0-9]*), .* s: the order is settled' ranked || fail "settled: $(tail -3 ranked)"
# plb-hec has the smallest median, but only of equal it may be said that it is faster than gss.
FAKE=crossing FAKE_RUNS=$folder/runs "$apportion" compare --policies plb-hec,equal,gss --repeat 12 -- ./fake >crossing
grep -q '^plb-hec and equal cannot be told apart' crossing && grep -q '^equal is 1.33 times as fast as gss' crossing ||
    fail "a claim that the order does not make: $(cat crossing)"
# Two candidates of three need 11 passes in common; what dmda is tried with misses the first.
FAKE=steep "$apportion" compare --policies equal,dmda --blocks 16 -- ./fake | tr -s ' ' >swept
grep -q '^12 rounds in random order' swept || fail "runs of different passes are compared: $(cat swept)"
grep -q '^ dmda default 8 1.08 s 3 2.160' swept && grep -q '95 % interval' swept ||
    fail "three runs have a 95 % interval: $(cat swept)"
FAKE=slow "$apportion" compare --policies equal,plb-hec --max-seconds 3 -- ./fake >limited
grep -q 'max-seconds 3 are used up, the order is not settled' limited || fail "no limit: $(cat limited)"

# Interrupted: what was measured is shown, nothing is left.
FAKE=slow "$apportion" compare --policies equal,plb-hec --json -- ./fake >interrupted 2>error &
pid=$!
sleep 4.5
kill -TERM $pid
status=0
wait $pid || status=$?
[ $status = 143 ] || fail "interrupted: status $status"
grep -q '"ended_by":"signal"' interrupted || fail "interrupted: $(cat interrupted error)"
grep -q 'ended by signal 15 (Terminated); what was measured until then is shown' error || fail "interrupted: $(cat error)"
[ -z "$(ls -A temporary)" ] || fail "interrupted: left $(ls temporary)"

# A terminal 40 columns wide: no line is longer, and every number is there.
script -qec "stty cols 40; '$apportion' compare --policies plb-hec,equal,dmda --blocks 16 --repeat 2 -- ./fake 2>/dev/null" \
    /dev/null </dev/null | tr -d '\r' >narrow
[ "$(wc -L <narrow)" -le 40 ] || fail "40 columns: $(cat narrow)"
for row in 'default +1.008 s' 'best +1 s' 'default +1.008 to 1.008 s'; do
    grep -Eq "^ +dmda +($row)" narrow || fail "40 columns: no row 'dmda $row' in $(cat narrow)"
done
for text in '1.012 to 1.012 s' 2.024 75.0 'cannot be told apart'; do
    tr '\n' ' ' <narrow | grep -q "$text" || fail "40 columns: no $text in $(cat narrow)"
done

