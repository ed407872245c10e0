#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# `apportion plan` from the command line: the keys of its JSON, what it prints, and one clear sentence for each mistake.
#     plan_command.sh APPORTION
. "$(dirname "$0")/../checks.sh"
apportion=$(realpath "$1")
examples=$(realpath "$(dirname "$0")/../../tools/examples")
cd "$folder"

cat >profile.csv <<END
processor,units,seconds
slow,10,10
slow,20,20
slow,30,30
fast,10,5
fast,20,10
fast,30,15
END
cat >instance.json <<END
{"nodes": ["A", "B"], "pus": [{"node": "A", "device": "0"}, {"node": "B", "device": "0"}],
 "a_N_s": [0, 0], "b_N_bytes_per_s": [100, 100], "d_si_bytes": 5, "d_sr_bytes": 5, "c_s": [1, 3], "limits": [6, null]}
END

# Status, then a pattern of the output (both streams), then the arguments.
expect() {
    local status=$1 pattern=$2 output actual=0
    shift 2
    output=$("$apportion" plan "$@" 2>&1) || actual=$?
    [ "$actual" = "$status" ] && grep -qzP -- "$pattern" <<<"$output" ||
        fail "apportion plan $*: status $actual instead of $status, or no '$pattern' in: $output"
}

number='[-+.e0-9]+'
share() { echo "\{\s*\"processor\": \"$1\",\s*\"units\": $2,\s*\"seconds\": $3\s*\}"; }
expect 0 "^\{\s*\"algorithm\": \"fpm\",\s*\"units\": 30,\s*\"makespan_seconds\": 10.0,\s*\"bound_by\": \"slow\",\s*\"solve_seconds\": $number,\s*\"lower_bound_seconds\": 10.0,\s*\"optimal\": true,\s*\"interpolated\": false,\s*\"shares\": \[\s*$(share slow 10 10.0),\s*$(share fast 20 10.0)\s*\]\s*\}" \
    --profiles profile.csv --units 30 --algorithm fpm --json
expect 0 'fast +20 +66.67' --profiles profile.csv --units 30 --algorithm cpm
expect 0 '(?s)equal.*cpm.*fpm.*fpm-akima.*plb-hec' --profiles profile.csv --units 30 --algorithm all
expect 0 '(?s)fpm +~10.*~ uses sizes' --profiles profile.csv --units 31 --algorithm all
expect 0 '(?s)"optimal": false,\s*"interpolated": true' --profiles profile.csv --units 31 --algorithm fpm --json
# Sizes in between are interpolated to less than the 10 s of measured ones: no percentage, and the bound says of what.
expect 0 '(?s)plb-hec +~[0-9.]+ +- .*hpopta +10 +0.00 .*20 units; lower bound of measured sizes 10 s' \
    --profiles profile.csv --units 20 --algorithm all
expect 0 'fast +14' --profiles profile.csv --units 30 --algorithm fpm --max fast=15 --granularity 2
expect 0 '"makespan_seconds": 6.7,' --instance instance.json --units 7 --json
expect 0 'ilp: 7 units in 9.3 s, optimal' --instance instance.json --units 7 --network parallel --max A0=4,B0=3
expect 0 'ilp: 64 units in 5.30299 s, optimal' --instance "$examples/instance.json" --units 64
expect 0 '(?s)ilp .*ilp-milp.*min-min-v1.*min-min-v2.*proportional' --instance instance.json --units 7 --algorithm all
# With transfers, the 4 s of A are over before the 3.2 s of B, which begin 1.024 s later; one after the other, they are not.
cat >far.json <<END
{"nodes": ["A", "B"], "pus": [{"node": "A", "device": "0"}, {"node": "B", "device": "0"}],
 "a_N_s": [0, 0.5], "b_N_bytes_per_s": [null, 1e6], "d_si_bytes": 1000, "d_sr_bytes": 500, "c_s": [1, 0.2]}
END
expect 0 '(?s)units in 4.224 s,.*\nB0 binds: its share takes longest, with transfers; A0 is done first, 5.3 % earlier\n$' \
    --instance far.json --units 20 --network parallel
expect 0 '"bound_by": "B0"' --instance far.json --units 20 --network parallel --json
expect 0 '(?s)\nA0 binds: its share takes longest, with transfers; B0 is done first, 15.9 % earlier\n$' --instance far.json --units 20 --max B0=16

expect 0 'ilp: 1024 units in 496.441 s, optimal' --instance "$examples/instance-2048.json" --units 1024

# An empty value is none, and what no plan can have is refused as other values are.
for option in --plot --profiles --algorithm --max --policies; do
    expect 2 "^apportion: $option: its value is empty; give one, or leave the option out; see apportion plan --help\n$" \
        --profiles profile.csv --units 30 $option ''
done
expect 2 '^apportion: --granularity: .* not in range' --profiles profile.csv --units 30 --granularity 0

# Of many processors, which an order of elimination that is not made for dense rows takes many minutes for.
awk 'BEGIN { print "processor,units,seconds"; for (p = 0; p < 20000; ++p) for (x = 1; x <= 1000; x *= 10) print "p" p "," x "," (0.001 + 0.01 * x) * (1 + p / 1e5) }' >many.csv
timeout 120 "$apportion" plan --profiles many.csv --units 1000000 --algorithm plb-hec >out || fail "plb-hec plans for 20000 processors for minutes"

expect 0 'cpm at 20 ' --profiles profile.csv --condition --references 20
expect 2 "^apportion: --references: '0' is not usable; give a finite number above 0; see apportion plan --help\n$" \
    --profiles profile.csv --condition --references 20,0
# 16 blocks of a matrix, 8 for each.
printf '%s\n' processor,units,seconds a,4,4 a,16,16 b,4,4 b,16,16 >alike.csv
expect 0 '(?s)rectangle.*a +0 +0 +2 +4.*b +2 +0 +2 +4.*\ncolumns; half perimeters: 12 blocks; of columns: 12; of 2 rows each as high as its share: 12\n' \
    --profiles alike.csv --matrix 4 --algorithm fpm
# Of a processor eight times as fast, a square is cut out: 2 x 2 of 6 x 6 blocks.
printf '%s\n' processor,units,seconds a,36,36 b,36,4.5 >unlike.csv
expect 0 '(?s)rectangle.*a +4 +4 +2 +2.*b +0 +0 +4 +6.*b +4 +0 +2 +4.*square corner; half perimeters: 16 blocks; of columns: 18; of' \
    --profiles unlike.csv --matrix 6 --algorithm fpm
rectangle() { echo "\{\s*\"first_row\": $1,\s*\"first_column\": $2,\s*\"rows\": $3,\s*\"columns\": $4\s*\}"; }
expect 0 "(?s)\"processor\": \"a\",[^}]*\"rectangles\": \[\s*$(rectangle 4 4 2 2)\s*\].*\"rectangles\": \[\s*$(rectangle 0 0 4 6),\s*$(rectangle 4 0 2 4)\s*\].*\"shape\": \"square corner\",\s*\"half_perimeters\": 16,\s*\"half_perimeters_of_columns\": 18\s" \
    --profiles unlike.csv --matrix 6 --algorithm fpm --json

expect 2 '^apportion: missing.csv: cannot be opened' --profiles missing.csv --units 3
expect 1 'nearest number that can be distributed is 20' --profiles profile.csv --units 30 --algorithm fpm --max slow=5,fast=15
expect 2 "'nobody=3' does not begin with PROCESSOR=UNITS; the processors are: slow, fast" --profiles profile.csv --units 3 --max nobody=3
expect 2 "--max: 'x' is no number of units for processor 'slow'" --profiles profile.csv --units 3 --max slow=x
expect 2 "'magic' is not a planner here; use one of equal," --profiles profile.csv --units 3 --algorithm magic
expect 2 "'fpm' is not a planner here; use one of ilp," --instance instance.json --units 3 --algorithm fpm
expect 2 'is required' --units 3
expect 2 '--units' --profiles profile.csv
expect 2 "--units: '1e3' is not usable; give a whole number" --profiles profile.csv --units 1e3
expect 2 "--max: 'slow' appears twice" --profiles profile.csv --units 3 --max slow=1,slow=2
expect 2 "--max: '' does not begin with PROCESSOR=UNITS" --profiles profile.csv --units 3 --max slow=1,
expect 2 'give a whole number from 0 to 2\^50' --instance "$examples/instance.json" --units 1125899906842625 --algorithm min-min-v1
expect 2 '^apportion: \.: is not a regular file; a folder cannot be read here' --instance . --units 3
# Columns stand below each other, also where a character has several bytes.
printf 'processor,units,seconds\nabcé,10,1\nabcd,10,1\n' >wide.csv
"$apportion" plan --profiles wide.csv --units 30 --algorithm equal >wide.txt
[ "$(sed -nE 's/^( +)abc\S+ /\1NAME /p' wide.txt | sort | uniq -c | awk '{ print $1 }')" = 2 ] ||
    fail "columns behind wide characters: $(cat wide.txt)"
status=0
"$apportion" plan --profiles profile.csv --units 30 >/dev/full 2>full.txt || status=$?
[ "$status$(cat full.txt)" = "1apportion: standard output cannot be written: No space left on device" ] ||
    fail "a full disk: $status $(cat full.txt)"
"$apportion" plan --profiles profile.csv --units 30 --plot models.svg >/dev/null && grep -q 'polynomial trend' models.svg ||
    fail "the picture of a plan has no polynomial trend"
mkfifo pipe.png
# Speeds of squares of units.
printf 'processor,units,seconds\na,10,1\na,20,4\na,30,9\na,40,16\nb,10,1\nb,20,4\nb,30,9\nb,40,16\n' >squares.csv
"$apportion" plan --profiles squares.csv --units 30 --work-power 2 --plot squares.svg >/dev/null && grep -q 'units to the power 2 per second' squares.svg ||
    fail "the picture does not show the work of squares"
# Rough speeds of cubes of units: what smooth-fpm smooths is told.
awk 'BEGIN { print "processor,units,seconds"
             for (p = 0; p < 2; ++p) for (x = 1; x <= 40; ++x)
                 printf "%s,%d,%g\n", p ? "b" : "a", x, x^3 / (10 * (p + 1) + x / 10) * (x % 8 ? 1.5 : 1) }' >cubes.csv
expect 0 'smooth-fpm: 48 units in 1412\.41 s' --profiles cubes.csv --units 48 --algorithm smooth-fpm
expect 0 'smooth-fpm: 48 units in 1300\.64 s' --profiles cubes.csv --units 48 --algorithm smooth-fpm --work-power 3
for power in nan 0.5 5; do
    expect 2 "^apportion: --work-power: '$power' is not usable; give a finite number from 1 to 4; " --profiles cubes.csv --units 48 --work-power $power
done
expect 2 '--plot pipe.png: exists and is not a regular file' --profiles profile.csv --units 30 --plot pipe.png
expect 2 '--time-limit: give a number of seconds greater than 0' --instance instance.json --units 3 --time-limit nan
expect 2 '--network' --profiles profile.csv --units 3 --network serial
sed -i 's/"c_s"/"c"/' instance.json
expect 2 '^apportion: instance.json:2: "c" is no key of an instance' --instance instance.json --units 3

# The condition and the gains: by hand, t = max(a, b) of (2, 1) and (2, 2) units is 4 s, of (3, 0) and (3, 1) 3 s.
printf '%s\n' processor,units,seconds a,1,1 a,2,4 a,3,3 b,1,2 b,2,4 b,3,6 >spike.csv
expect 0 '(?s)a +violated +3 +1\n +b +holds +3 +0\na: 2 units take 4 s, but 3 take 3 s\nSome .*need not be optimal' --profiles spike.csv --condition
expect 0 '(?s)\n +equal +0.00 +16.67 +33.33 +4 +2 +0\n.*\n2 numbers of units from 2 to 4,' --profiles spike.csv --condition --units 2:4:2
expect 0 "(?s)^\{\s*\"holds\": false,.*\"violations\": 1,\s*\"worst\": \{\s*\"smaller_units\": 2,.*\"over\": \"equal\",\s*\"reference_units\": null,\s*\"numbers\": 1,\s*\"left_out\": 0,\s*\"minimum_percent\": 33.3.*\"maximum_at_units\": 3\s" \
    --profiles spike.csv --condition --units 3:3:1 --json
expect 0 '(?s)a +holds +1 +0\n +b +holds +3 .*: a balanced distribution is optimal' --profiles spike.csv --condition --max a=1
# Equal shares of 8 are 4 and 4, which were not measured: not compared.
printf '%s\n' processor,units,seconds a,2,2 a,6,6 b,2,2 b,6,6 >holes.csv
expect 0 '(?s)\n +equal +- +- +- +- +0 +1\n.*\n1 number of units from 8 to 8, shares in multiples of 2\nleft out' --profiles holes.csv --condition --units 8:8:1
# By the speeds at 2, in 3 : 1, cpm gives 6 and 2 of 8 units, and 9 of 12: more than was measured, and not cut.
printf '%s\n' processor,units,seconds a,2,2 a,4,4 a,6,6 b,2,6 b,4,12 b,6,18 >ends.csv
expect 0 '(?s)\n +cpm at 2 +0.00 +0.00 +0.00 +8 +1 +1\n' --profiles ends.csv --condition --units 8:12:4 --references 2
expect 2 'add up to none of these numbers; take multiples of 2, up to 12' --profiles holes.csv --condition --units 7:9:2
expect 2 '^apportion: --units 8: give from:to:step' --profiles holes.csv --condition --units 8
expect 2 'leave no measured size' --profiles holes.csv --condition --granularity 5
expect 2 '--units' --profiles holes.csv --units 2:8:2
expect 2 '--algorithm' --profiles holes.csv --condition --algorithm fpm
expect 2 '--profiles' --instance instance.json --condition

# One is no plural.
printf '%s\n' processor,units,seconds a,1,3 a,2,2 b,3,1 >one.csv
expect 0 '(?s)\nhpopta: 1 unit in 3 s' --profiles one.csv --units 1
expect 0 '(?s)\n1 unit; lower bound' --profiles one.csv --units 1 --algorithm all
expect 0 '(?s)\n1 unit, in the blocks' --profiles one.csv --units 1 --policies equal
expect 0 'a: 1 unit takes 3 s, but 2 take 2 s' --profiles one.csv --condition
expect 1 'no measured sizes add up to 1 unit; the' --profiles holes.csv --units 1

# What binds, and policies.
rm -f profile.csv
cat >profile.csv <<END
processor,units,seconds,ci,repetitions,in,out
slow,10,10,0,1,0,0
slow,20,20,0,1,0,0
slow,30,30,0,1,0,0
fast,10,5,0,1,1,1
fast,20,10,0,1,2,2
fast,30,15,0,1,3,3
END
grep -v ^slow profile.csv >fast.csv
grep -v ^fast profile.csv >slow.csv
expect 0 '(?s)slow binds: its share takes longest; fast is done first, 50 % earlier\n$' --profiles profile.csv --units 20 --algorithm equal
# The same blocks as in a run: two of 10 units, the first of which travels for 1 s, and the last one for 1 s home.
expect 0 '(?s)fpm +12.0001 +1.000\n20 units, in the blocks that the policies give, with the transfers of the profile' \
    --profiles fast.csv --units 20 --policies fpm
expect 0 'fpm +10 +1.000' --profiles slow.csv --units 10 --policies fpm
expect 0 'without transfers, of which the profile has none' --profiles slow.csv --units 20 --policies equal
expect 0 '"policy": "fpm",' --profiles profile.csv --units 20 --policies fpm,cpm --json
for wrong in "--units 20 --granularity 0" "--units 20 --granularity -1" "--units 20 --granularity 4611686018427387904" \
    "--units 1000000000001" "--units=-5" "--units 1125899906842625"; do
    # shellcheck disable=SC2086 # several words
    timeout 60 "$apportion" plan --profiles profile.csv --policies all $wrong >out 2>err && fail "plan --policies $wrong"
    [ $? -lt 100 ] && [ "$(wc -l <err)" -le 2 ] || fail "plan --policies $wrong: $(cat err)"
done
# Blocks of such times would never end.
printf '%s\n' processor,units,seconds,ci,repetitions,in,out cpu,10,1,,,, gpu,10,0.1,0,1,1e200,1e200 >endless.csv
expect 2 "^apportion: endless.csv:3: in is '1e200'; it must be a number of seconds from 0 to 1e12, or empty\n$" \
    --profiles endless.csv --units 30 --policies hpopta
expect 2 "--policies: there is no policy 'plbhec' \(did you mean plb-hec\?\)" --profiles profile.csv --units 20 --policies plbhec
expect 2 '^apportion: --max excludes --policies; see' --profiles profile.csv --units 20 --max slow=0 --policies equal
expect 2 '--policies: imbalance cannot run this load' --profiles profile.csv --units 20 --policies imbalance
# A terminal 40 columns wide: no line is longer, and what does not fit beside stands below.
for arguments in "--algorithm hpopta --units 30" "--algorithm all --units 30" "--policies hpopta,equal --units 30" --condition; do
    script -qec "stty cols 40; '$apportion' plan --profiles profile.csv $arguments 2>/dev/null" /dev/null </dev/null | tr -d '\r' >narrow
    [ -s narrow ] && [ "$(wc -L <narrow)" -le 40 ] || fail "plan $arguments at 40 columns: $(cat narrow)"
done
