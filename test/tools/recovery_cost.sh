#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# recovery_cost.sh RECOVERY_COST BUILD: tools/recovery_cost on one small machine: what it runs, saves, compares and refuses.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
tool=$1 build=$2
cd "$folder"
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
measure() { "$tool" --build "$build" --sizes 2048 --policies plb-hec,hpopta --repeat 2 "$@"; }
refuses() { # the text that must be in the message, then arguments
    local text=$1 status=0
    shift
    measure "$@" >out 2>err || status=$?
    [ $status -ne 0 ] && [ ! -s out ] && [ "$(wc -l <err)" = 1 ] && [[ $(cat err) == *"$text"* ]] ||
        fail "$*: exit status $status, $(cat out err)"
}

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

refuses "give --seeds A..B or --platforms"
refuses "5..3: give A..B" --seeds 5..3
refuses "-1: give A..B" --seeds=-1
refuses "there is no such application" --seeds 1 --app nothing
refuses "--against nothing.csv: " --seeds 1 --against nothing.csv
refuses "no file that --csv wrote" --seeds 1 --against table
refuses "No such file or directory" --seeds 1 --csv none/a.csv
status=0
measure --platforms nothing.toml >/dev/null 2>err || status=$?
[ $status = 1 ] && grep -q 'there is no platform nothing.toml' err || fail "a machine that is missing: $(cat err)"
echo passed
