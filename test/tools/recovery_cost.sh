#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# recovery_cost.sh RECOVERY_COST BUILD: tools/recovery_cost on one small machine: what it runs, saves, compares and refuses.
. "$(dirname "$0")/../checks.sh"
tool=$1 build=$2
cd "$folder"
measure() { "$tool" --build "$build" --sizes 2048 --policies plb-hec,hpopta --repeat 2 "$@"; }

measure --seeds 6 --csv first.csv >table || fail "a machine is measured"
[ "$(head -1 first.csv | tr -d '\r')" = machine,description,noise,size,build,policy,recovery,run,seconds,bound_seconds ] ||
    fail "the file begins with $(head -1 first.csv)"
# Policies, recovery on and off, submissions.
[ "$(tail -n +2 first.csv | wc -l)" = 8 ] || fail "not 2 x 2 x 2 makespans: $(cat first.csv)"
[ "$(grep -c 'random laptop.*,on,' first.csv)" = 4 ] || fail "recovery is not on in half of the runs: $(cat first.csv)"
grep -Eq '^  plb-hec +2 +1 +[0-9.]+ +[0-9.]+ +[0-9.]+  6, 2048$' table || fail "no line of a second run: $(cat table)"
# Virtual time: again the same.
measure --seeds 6 --against first.csv >table || fail "a machine is measured again"
[ "$(sed -n '/^this build \/ other build, recovery on/,/^$/p' table | grep -c ' 1.000 .* 1.000 .* 1.000 ')" = 4 ] ||
    fail "the same build is not as fast as itself: $(cat table)"
measure --seeds 6 --csv both.csv --against "$build" >/dev/null || fail "two builds are compared"
[ "$(grep -c ',other,' both.csv)" = 8 ] || fail "the other build has not 8 makespans: $(cat both.csv)"

refuses "no machine" 2 "give --seeds A..B or --platforms" measure
refuses "seeds that fall" 2 "5..3: give A..B" measure --seeds 5..3
refuses "a negative seed" 2 "-1: give A..B" measure --seeds=-1
refuses "an unknown application" 2 "there is no such application" measure --seeds 1 --app nothing
refuses "a file that is missing" 2 "--against nothing.csv: " measure --seeds 1 --against nothing.csv
refuses "another kind of file" 2 "no file that --csv wrote" measure --seeds 1 --against table
refuses "a folder that is missing" 1 "No such file or directory" measure --seeds 1 --csv none/a.csv
status=0
measure --platforms nothing.toml >/dev/null 2>err || status=$?
[ $status = 1 ] && grep -q 'there is no platform nothing.toml' err || fail "a machine that is missing: $(cat err)"
