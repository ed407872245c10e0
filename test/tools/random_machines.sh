#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# random_machines.sh RANDOM_MACHINES BUILD: tools/random_machines on two small machines: what it prints and saves, that it
# runs again only what its files lack, compares and refuses.
. "$(dirname "$0")/../checks.sh"
tool=$1 build=$2
cd "$folder"
measure() { "$tool" --build "$build" --seeds 6..7 --sizes small --references references.csv "$@"; }

measure --policies plb-hec,hpopta --csv runs.csv >table || fail "two machines are measured"
for line in plb-hec hpopta; do
    for run in 1 2 6; do
        for over in bound plan tuned default; do
            grep -Eq "^$line +$run  $over +2( +[0-9]+\.[0-9]{3}){6} .* [67], matmul, 4096$" table ||
                fail "no figures of $line, run $run over $over: $(cat table)"
        done
    done
done
[ "$(wc -l <references.csv)" = 3 ] && [ "$(wc -l <runs.csv)" = 5 ] || fail "rows: $(cat references.csv runs.csv)"
python3 - <<'END' || fail "rows that cannot be: $(cat references.csv runs.csv)"
import csv
references = {row["seed"]: row for row in csv.DictReader(open("references.csv", newline=""))}
for row in references.values():
    assert 0 < float(row["bound_1"]) <= float(row["plan_1"]) and float(row["tuned_1"]) <= float(row["default_1"]), row
for row in csv.DictReader(open("runs.csv", newline="")):
    # hpopta is one of the plans that the reference is the best of; both machines are without noise.
    best = "plan_1" if row["policy"] == "hpopta" else "bound_1"
    assert float(row["run_1"]) >= float(references[row["seed"]][best]), row
END

# The profile of a noisy machine's true times, which are those of the machine without noise, counts there.
measure --seeds 4..4 --policies hpopta --repeat 1 --references noisy.csv --csv hpopta.csv >/dev/null || fail "a noisy machine"

# A build in which nothing runs: whatever the files have is not run again.
mkdir -p broken/apps broken/tools
printf '#!/bin/sh\necho broken >&2\nexit 3\n' >broken/apps/matmul
cp broken/apps/matmul broken/tools/apportion
chmod +x broken/apps/matmul broken/tools/apportion
"$tool" --build broken --seeds 6..7 --sizes small --references references.csv --policies plb-hec,hpopta --csv runs.csv \
    >again || fail "what is measured is run again"
cmp table again || fail "the same files give another table"
cp runs.csv before.csv
status=0
"$tool" --build broken --seeds 6..7 --sizes small --references references.csv --policies plb-hec,greedy --csv runs.csv \
    >again 2>err || status=$?
[ $status = 1 ] && [ "$(wc -l <err)" = 2 ] && grep -q 'seed 6, matmul, 4096, greedy: exit status 3: broken' err ||
    fail "runs that fail: $(cat err)"
cmp runs.csv before.csv || fail "runs that fail are saved: $(cat runs.csv)"

# A variant by a variable: the first blocks of greedy are twice as large.
measure --policies greedy --repeat 1 --csv greedy.csv >/dev/null || fail "greedy is measured"
APPORTION_INITIAL_BLOCK=2048 measure --policies greedy --repeat 1 --csv large.csv --against greedy.csv >table ||
    fail "a variant is measured"
sed -n '/^over greedy.csv/,$p' table | grep -Eq '^greedy +1 +2( +[0-9]+\.[0-9]{3}){6}  [67], matmul, 4096$' ||
    fail "no ratios to the other file: $(cat table)"
cmp -s greedy.csv large.csv && fail "APPORTION_INITIAL_BLOCK changes nothing: $(cat large.csv)"

# Iterations whose data stay, over another policy; sizes by numbers. Recovery costs nothing where nothing is late.
for case in jacobi:512:3 mpdata:16x8x8:2; do
    measure --apps "${case%%:*}" --sizes "${case#*:}" --policies plb-hec,equal,dmda --over dmda --csv iterations.csv >table ||
        fail "iterations are measured"
    for policy in plb-hec equal; do
        grep -Eq "^$policy +1 +2( +[0-9]+\.[0-9]{3}){6}  [67], ${case%%:*}, ${case#*:}$" table || fail "no figures of $case, $policy: $(cat table)"
    done
done
APPORTION_STALL_FACTOR=0 measure --sizes 2048 --repeat 1 --csv off.csv >table || fail "runs without recovery"
measure --sizes 2048 --repeat 1 --csv on.csv --against off.csv >table || fail "runs with recovery"
sed -n '/^over off.csv/,$p' table | grep -Eq '^plb-hec +1 +2( +[0-9]+\.[0-9]{3}){6}  [67], matmul, 2048$' ||
    fail "no ratios to runs without recovery: $(cat table)"

# A second process knows what the first one learnt; each case begins with nothing known, as does a run without processes.
measure --policies plb-hec,hpopta --repeat 1 --processes 2 --csv learnt.csv >table || fail "two processes are measured"
grep -Eq '^plb-hec@2 +1  plan +2( +[0-9]+\.[0-9]{3}){6} ' table || fail "no figures of the second process: $(cat table)"
python3 - <<'END' || fail "what was learnt is of no use, or is known too early: $(cat runs.csv learnt.csv)"
import csv
first, learnt = [{(row["seed"], row["policy"]): float(row["run_1"]) for row in csv.DictReader(open(name, newline=""))}
                 for name in ("runs.csv", "learnt.csv")]
assert len(learnt) == 8, learnt
for seed in ("6", "7"):
    assert learnt[seed, "plb-hec"] == learnt[seed, "hpopta"] == first[seed, "plb-hec"], seed
    for policy in ("plb-hec@2", "hpopta@2"):
        assert learnt[seed, policy] <= 1.1 * first[seed, "plb-hec"], (seed, policy)
END

refuses "seeds that fall" 2 "5..3: give A..B" measure --seeds 5..3
refuses "an unknown application" 2 "choose from matmul, blackscholes, grn, fft2d" measure --apps nothing
refuses "a size that has no such name" 2 "choose from small, medium, large" measure --sizes huge
refuses "a policy that is not run" 2 "name it by --policies" measure --over dmda
refuses "too many submissions" 2 "give at most 6" measure --repeat 7
refuses "a file that is missing" 2 "there is no such file" measure --against nothing.csv
refuses "another kind of file" 1 "table:1: has other columns" measure --csv table
