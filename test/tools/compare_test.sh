#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# compare_test.sh APPORTION FAKE_APP: the commands `apportion compare` and `apportion platform` from outside, with an
# application that only pretends. They look for applications beside themselves, so they run from a copied tree.
. "$(dirname "$0")/../checks.sh"
tool=$1
fake=$2
mkdir -p "$folder"/build/real/{tools,apps} "$folder/build/simgrid/apps"
cp "$tool" "$folder/build/real/tools/apportion"
cp "$fake" "$folder/build/real/apps/fake"
cp "$fake" "$folder/build/simgrid/apps/fake"
cd "$folder"
export XDG_CACHE_HOME=$folder/cache
apportion=$folder/build/real/tools/apportion
compare() { "$apportion" compare --app fake --size 1024 "$@"; }

cat >tiny.toml <<'END'
[kernel.fake]
work = { factor = 1 }
[[device]]
name = "core"
kind = "cpu"
count = 2
[device.kernel.fake]
rate = 1024
END
{ echo 'noise = 0.1'; echo 'seed = 3'; cat tiny.toml; } >noisy.toml
sed 's/rate = 1024/rate = -1/' tiny.toml >bad.toml

once() { compare --repeat 1 "$@"; }

# One run tells whose times the profile of a platform has, another one is that of the policy.
printf '#!/bin/sh\necho >>"%s"\nFAKE=uneven exec "%s" "$@"\n' "$folder/runs" "$folder/build/simgrid/apps/fake" >build/simgrid/apps/counted
chmod +x build/simgrid/apps/counted
sed 's/kernel.fake/kernel.counted/' tiny.toml >counted.toml
"$apportion" compare --app counted --size 1024 --platform counted.toml --policies hpopta --json >counted.json 2>counted.err ||
    fail "a profile of a platform: $(cat counted.err)"
[ "$(wc -l <runs)" = 2 ] || fail "a platform's profile takes $(($(wc -l <runs) - 1)) runs: $(cat counted.err)"

shows "a policy that sizes its blocks has one row" " 1 plb-hec 4 1.012 s 2.024 12.5 %" once --policies plb-hec
shows "StarPU's schedulers have a row for the default" " dmda default 8 1.008 s" once --policies dmda
shows "... and one for the best number of blocks" " 1 dmda best 16 1 s" once --policies dmda
shows "greedy's sweep sets its first block" " greedy best 16 1 s" once --policies greedy
tried() { once --policies "$1" --json | grep -o '"asked_blocks":[0-9]*' | grep -o '[0-9]*' | sort -n | xargs; }
[[ $(tried dmda) == "2 4 8 16"* ]] || fail "equal blocks fit every memory: $(tried dmda)"
[[ $(tried greedy) == "1 2 4 8 16"* ]] || fail "greedy, whose blocks are cut to each memory, is tried with larger ones: $(tried greedy)"
shows "the numbers of blocks can be given" " dmda best 12 1.004 s" once --policies dmda --blocks 12,40
shows "a default that is the best has one row" " 1 dmda default, best 8 1.008 s" once --policies dmda --blocks 1,8
[ "$(once --policies dmda --blocks 8,16,8 --json | grep -o '"blocks":' | wc -l)" = 2 ] ||
    fail "equal configurations are measured once"
[ "$(FAKE=iterated once --policies dmda --blocks 8,16 --json | grep -o '"choice":"[a-z]*"\|"asked_blocks":[0-9]*' | tr '\n' ' ')" = \
    '"choice":"default" "asked_blocks":8 "choice":"sweep" "asked_blocks":16 ' ] || fail "... also those of several loads, of which each has so many blocks"
shows "the bound of real runs is measured" "lower bound: 0.5 s, measured" once --policies plb-hec
shows "the bound of simulated runs is the platform's" "lower bound: 0.5 s, exact" compare --policies plb-hec --platform tiny.toml
shows "no bound is told where units are not alike" "under equal a unit took CPU 1 5 times as long as CPU 0: units are not alike, or the cores are not, or something else used one; so no bound is told." \
    env FAKE=uneven "$apportion" compare --app fake --size 1024 --policies equal,dmda --blocks 8 --repeat 1
[[ $(FAKE=uneven once --policies equal,dmda --blocks 8) != *[/:]\ bound* ]] || fail "... nor multiples of it"
shows "... in JSON it is null" '"lower_bound_seconds":null' \
    env FAKE=uneven "$apportion" compare --app fake --size 1024 --policies equal,dmda --blocks 8 --repeat 1 --json
shows "shares are shown" " GTX 680 75.0" once --policies plb-hec
shows "with many policies they are in lines" "share of units in % CPU 0 GTX 680" once --policies plb-hec,equal,acosta --blocks 8
shows "a platform without noise is run once" '"min":1.012,"max":1.012' compare --policies plb-hec --json --platform tiny.toml
shows "a policy that never ends" " 1 dmda default, best 8 never - " \
    env FAKE=stuck "$apportion" compare --app fake --size 1024 --policies dmda --blocks 8 --platform tiny.toml
stuck() { FAKE=stuck compare --platform tiny.toml --policies plb-hec,dmda "$@"; }
shows "policies that never end share a rank, however long their clocks ran" " 1 plb-hec 4 never - 12.5 % 1 dmda default, best 8 never - " \
    bash -c 'tr -s " \n" " " <<<"$1"' bash "$(stuck --blocks 8,16)"
shows "... and nothing is said in their favour" "No policy finishes: there are blocks that no device ever ends." stuck --blocks 8,16
[[ $(stuck --blocks 8) != *" as fast as "* ]] || fail "a policy that never ends is called fast"
shows "... nor in JSON" '"order":[{"policy":"plb-hec","rank":1,"faster_than":[]},{"policy":"dmda","rank":1,"faster_than":[]}]' \
    stuck --blocks 8,16 --json
shows "a policy that ends is the best" "dmda finishes, and plb-hec never does." stuck --blocks 1
shows "of two that are almost as fast it is said by how much" "dmda is 1.004 times as fast as plb-hec." \
    compare --policies plb-hec,dmda --blocks 8 --platform tiny.toml
shows "repetitions of noisy runs have different seeds" '{"median":1.04,"min":1.03,"max":1.05,' \
    compare --policies random --json --platform noisy.toml --repeat 3 --blocks 4
iterated() { FAKE=iterated compare --policies random --platform noisy.toml --repeat 2 --blocks 8; }
shows "of an even number of runs the median is the mean of two" " 16 4.14 s 4.12 to 4.16 s 2 " iterated
shows "... and seconds of loads add up to it" " random 3.105 1.035" iterated
sed 's/^count = 2/&\nlost_at_s = 3/' noisy.toml >lost.toml
shows "what happens to devices is told" "core: lost at 3 s" compare --policies plb-hec --repeat 1 --platform lost.toml
own() { "$apportion" compare --policies plb-hec,dmda --blocks 8 --platform lost.toml "$@" -- build/simgrid/apps/fake; }
shows "to own programs nothing happens" "fake runs without the platform's noise and events, which only bundled applications have" own
[[ $(own) != *"lost at"* ]] || fail "a loss is told that does not happen"
shows "... and their runs are exact" '"rank":1,"faster_than":["plb-hec"]}],"order_error":0.02,"rounds":1,' own --json
shows "JSON has the agreed keys" '{"app":"fake","size":1024,"platform":"tiny","units":1024,"platform_events":[],"lower_bound_seconds":0.5,"lower_bound_kind":"exact",' \
    compare --policies plb-hec --json --platform tiny.toml
shows "JSON has the agreed keys of a run" '"runs":[{"policy":"plb-hec","blocks":4,"makespan_seconds":{"median":1.012,"min":1.012,"max":1.012,"low":1.012,"high":1.012,"confidence":0.0},"idle_percent":12.5,"units_per_processor":{"CPU 0":256,"CUDA 0.0 (GTX 680 1.9 GiB)":768},"planned_per_processor":null,"idle_percent_per_processor":{"CPU 0":50.0,"CUDA 0.0 (GTX 680 1.9 GiB)":50.0},' \
    once --policies plb-hec --json
shows "JSON has raw runs" '"raw":[{"round":0,"seconds":1.012}]' once --policies plb-hec --json
for key in date host versions environment; do
    shows "JSON has the $key" "\"$key\":" once --policies plb-hec --json
done
shows "JSON has the seed" '"seed":9,' once --policies plb-hec --json --seed 9
[ "$(once --policies dmda --json | grep -c '"choice":"default","best":false.*"choice":"sweep","best":true')" = 1 ] ||
    fail "JSON marks the default, the best and the rest of a sweep"

refuses "a misspelt policy" 2 "there is no policy plbhec (did you mean plb-hec?); choose from" compare --policies plbhec
refuses "an unknown policy" 2 "there is no policy fastest; choose from" compare --policies fastest
refuses "a policy named twice" 2 "--policies: dmda appears twice" compare --policies dmda,lws,dmda
refuses "a missing application" 2 "there is no such application for real runs; looked for" \
    "$apportion" compare --app nothing --size 1
for size in 0 -3 many 4,0 1.5; do
    refuses "size '$size'" 2 "give whole numbers from 1 on" "$apportion" compare --app fake "--size=$size"
done
refuses "numbers of blocks that are none" 2 "--blocks 8,x: give whole numbers" compare --blocks 8,x
refuses "a malformed platform" 2 "bad.toml:8: rate is -1, but must be from 1e-06 to" compare --platform bad.toml
refuses "a missing platform" 2 "there is no platform no-such" compare --platform no-such
refuses "a platform without the kernel" 2 "does not describe kernel \"fake\"" compare --policies plb-hec --platform plbhec-a
refuses "an application that fails says why" 1 "fake under prio failed: fake: the simulated disk is full" compare --policies prio
refuses "a picture in a folder that is not there" 2 "there is no folder" compare --plot "$folder/none/p.png"
refuses "a picture of another kind" 2 "pictures are PNG, SVG or PDF files" compare --plot p.jpg
refuses "a timeline of no policy" 2 "--timeline plbhec: it is none of the policies that are compared" compare --policies plb-hec --plot p.png --timeline plbhec
refuses "a picture without gnuplot" 2 "--plot needs gnuplot" env PATH=/nonexistent "$apportion" compare --app fake --size 8 --plot p.png
for limit in 0 -1 inf x; do
    refuses "a limit of $limit s" 2 "--max-seconds: '$limit' is not usable; give a finite number above 0" compare --max-seconds=$limit
done
refuses "a negative number of repetitions" 2 "not in range" compare --repeat -1

once --policies plb-hec,greedy,dmda --plot p.png >/dev/null || fail "a picture is drawn"
[ "$(head -c 4 p.png | tail -c 3)" = PNG ] || fail "the picture is a PNG file"
once --policies plb-hec,greedy --timeline all --plot p.svg >/dev/null && grep -q '<svg' p.svg || fail "a picture is SVG"
FAKE=iterated once --policies plb-hec --timeline all --plot p.svg >/dev/null || fail "a picture of several loads is drawn"
grep -q 'of 2 loads, with lines between' p.svg || fail "a picture of several loads says what its lines are"
[ "$(grep -o "stroke='rgb( 32,  32,  32)'.*" p.svg | grep -o 'M[^M]*L[^M]*' | wc -l)" = 1 ] || fail "there is no line between 2 loads"
once --policies plb-hec,greedy --timeline greedy --plot p.pdf >/dev/null && [ "$(head -c 4 p.pdf)" = %PDF ] || fail "a picture is PDF"
# Places of texts in the picture: the title of the bars, a line for each thing drawn of them, the first bar's name.
compare --policies dmda,plb-hec --repeat 2 --plot q.svg >/dev/null || fail "a picture of two rounds is drawn"
# A box has no edge: of a narrow one nothing else would be seen.
! grep -qi "stroke *[=:] *'*\(white\|rgb(255, *255, *255)\)" p.svg q.svg || fail "boxes in a picture have white edges"
python3 - <<'END' || fail "in a picture no line of the key lies on another one, on the title or on a bar"
import re
svg = open("q.svg").read()
title, *key, bar = [
    tuple(map(float, re.search(r"translate\(([\d.]+),([\d.]+)\)[^<]*<text>(?:<tspan[^>]*>)?" + text, svg).groups()))
    for text in ("Makespan", "default number of equal blocks", "best number, or own blocks", "interval of the median",
                 "measured lower bound, bars in multiples of it", "dmda, 16 blocks")]
assert all(title[1] + 18 <= y <= bar[1] - 24 for _, y in key), (title, key, bar)
assert all(abs(a[1] - b[1]) >= 13 or abs(a[0] - b[0]) >= 300 for a in key for b in key if a is not b), key
END
shows "processors that a policy lost are one line" "equal lost CPU 1 at 0.5 s: it died; 3 units given back; then 2 more of its processors" \
    env FAKE=losing "$apportion" compare --app fake --size 64 --policies equal --repeat 1
if compare --policies plb-hec,prio --plot q.png >/dev/null 2>&1 || ls q.png* >/dev/null 2>&1; then
    fail "a failing run leaves no picture"
fi

shows "bundled platforms are listed" "plbhec-abcd" "$apportion" platform --list
shows "a platform is described" " Tesla K20c cuda 1 A PCIe" "$apportion" platform plbhec-a
shows "a platform as JSON" '"name":"Tesla K20c","kind":"cuda","count":1' "$apportion" platform plbhec-a --json
shows "machine files are in the cache" "$folder/here/apportion/platforms/plbhec-a-" \
    env XDG_CACHE_HOME="$folder/here" "$apportion" platform plbhec-a sh -c 'echo "$STARPU_PERF_MODEL_DIR" "$STARPU_NCUDA"'
[ -f here/apportion/platforms/plbhec-a-*/bus/plbhec-a.platform.v4.xml ] || fail "the machine file is not in the cache"
shows "a program is run on a platform" "plbhec-a [x]" "$apportion" platform plbhec-a sh -c 'echo "$STARPU_HOSTNAME" "$1"' sh '[x]'
"$apportion" platform --random 7 >seven.toml || fail "a machine is drawn"
"$apportion" platform --random 7 >again.toml || fail "a machine is drawn again"
cmp seven.toml again.toml || fail "the same seed draws the same machine"
shows "a drawn machine is a platform" "random-7: random " "$apportion" platform seven.toml
refuses "a negative seed" 2 "--random: '-1' is not usable; give a whole number from 0 to 2^63 - 1" "$apportion" platform --random -1
refuses "a seed that is no number" 2 "--random: 'seven' is not usable; give a whole number" "$apportion" platform --random seven
refuses "a bundled machine that is to be drawn" 2 "excludes --random" "$apportion" platform plbhec-a --random 7
refuses "a list of what is to be drawn" 2 "excludes --random" "$apportion" platform --list --random 7

refuses "a folder that cannot be made" 2 "cannot be made" env XDG_CACHE_HOME="$folder/tiny.toml/x" "$apportion" platform plbhec-a true
refuses "a program that is not there" 2 "cannot be run" "$apportion" platform plbhec-a ./nothing
refuses "a program without its folder" 2 "tiny.toml cannot be run: No such file or directory; did you mean ./tiny.toml?" \
    "$apportion" platform plbhec-a tiny.toml
refuses "an unknown option" 2 "--unknown" "$apportion" platform plbhec-a --unknown

