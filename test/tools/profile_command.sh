#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# profile_command.sh APPORTION: the command `apportion profile` as its users meet it: a bundled application, Ctrl-C and
# continuation, and errors.
. "$(dirname "$0")/../checks.sh"
apportion=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
cd "$folder"
export STARPU_PERF_MODEL_DIR=$folder/models STARPU_SILENT=1 STARPU_NCPU=2 STARPU_NCUDA=0 STARPU_NOPENCL=0
mkdir models
points() { grep -vc -e '^#' -e '^processor,' "$1"; }
quick=(--max-seconds 0.2 --max-repetitions 5)

# A bundled application, and the planner's reader of what was measured.
"$apportion" profile --app matmul --size 64 --sizes 16:64:16 "${quick[@]}" --out matmul.csv
[ "$(points matmul.csv)" = 8 ] || fail "matmul.csv has not 2 x 4 points"
grep -q '^# kernel: matmul$' matmul.csv || fail "the profile does not name its kernel"
"$apportion" plan --profiles matmul.csv --units 96 --algorithm hpopta >/dev/null || fail "plan does not read the profile"
cp matmul.csv before.csv
"$apportion" profile --app matmul --size 64 --sizes 16:64:16 "${quick[@]}" --out matmul.csv | grep -q '^matmul.csv: 0 points measured, 8 were there before' ||
    fail "measured finished points again"
cmp matmul.csv before.csv

# A file that is kept nowhere is shown as well.
"$apportion" profile --show matmul.csv >shown.txt || fail "--show FILE"
grep -q '^  kernel: matmul$' shown.txt && grep -Eq '^  CPU 1 +16 ' shown.txt || fail "--show FILE: $(cat shown.txt)"
shows "--show FILE as JSON" '"load": "matmul-64"' "$apportion" profile --show ./matmul.csv --json
echo "processor,units,seconds" >damaged.csv
refused "damaged.csv:1: no measurement follows the first line" "$apportion" profile --show damaged.csv
refused "there is no profile of that load or file name in" "$apportion" profile --show missing.csv

# A long name of a load does not make the list wide.
mkdir -p kept/machine
{ printf '# load: %0100000d\n' 0; echo processor,units,seconds; echo a,1,1; } >kept/machine/long.csv
APPORTION_PROFILES=kept "$apportion" profile --list >list.txt
grep -q '^  0*\.\.\. *recorded ' list.txt && [ "$(wc -L <list.txt)" -lt 200 ] || fail "a long name is $(wc -L <list.txt) columns wide"

# A group of cores is one processor.
APPORTION_GROUPS=all "$apportion" profile --app matmul --size 64 --sizes 64:64:1 "${quick[@]}" --out group.csv >group.txt
grep -q '^CPU 0-1,64,' group.csv || fail "a group is no processor: $(cat group.csv)"
refused "requires" "$apportion" profile --square --app matmul --sizes 64:64:1 --out new.csv
refused "requires" "$apportion" profile --square --app matmul --platform hclserver --out new.csv
refused "excludes" "$apportion" profile --square --app matmul --platform hclserver --size 64 --sizes 64:64:1 --out new.csv
# Devices of one name are numbered, as a comparison does.
square() { "$apportion" profile --square --app matmul --platform "$1" --sizes 64:128:64 --out "$2" && "$apportion" plan --profiles "$2" --units 128; }
square mirage alike.csv >square.txt || fail "plan does not read $(cat alike.csv)"
[ "$(points alike.csv)" = 24 ] && [ "$(grep -c '^"Tesla M2070 #[123]",' alike.csv)" = 6 ] && grep -q '^"X5650 core #9",128,' alike.csv ||
    fail "not every device is a processor: $(cat alike.csv)"
sed 's/"small"/"large"/' "$here/small_cluster.toml" >twice.toml
square ./twice.toml unlike.csv >square.txt || fail "plan does not read $(cat unlike.csv)"
[ "$(grep -c '^"large #2",' unlike.csv)" = 2 ] || fail "unlike devices have one name: $(cat unlike.csv)"
# A device that lacks the kernel takes no part.
sed '/^name = "small"/,$ { /^\[device.kernel/,$d }' "$here/small_cluster.toml" >lacking.toml
square ./lacking.toml lacking.csv >square.txt || fail "one device without the kernel: $(cat square.txt)"
[ "$(points lacking.csv)" = 10 ] && ! grep -q small lacking.csv || fail "a device without the kernel: $(cat lacking.csv)"
sed '/^\[\[device/,$ { /^\[device.kernel/,/^$/d }' "$here/small_cluster.toml" >none.toml
refused 'device "core" has no time function for kernel "matmul"' "$apportion" profile --square --app matmul --platform ./none.toml \
    --sizes 64:128:64 --out new.csv

# Ctrl-C loses no finished point; the same command continues. (SIGTERM means the same; a script's background jobs do
# not hear Ctrl-C.)
again=("$apportion" profile --app matmul --size 512 --sizes 320:510:10 --max-repetitions 3 --out slow.csv)
"${again[@]}" 2>slow.err &
pid=$!
while [ ! -s slow.csv ]; do kill -0 $pid && sleep 0.02; done
kill -TERM $pid
status=0
wait $pid || status=$?
[ $status = $((128 + $(kill -l TERM))) ] || fail "an interrupted run ends with status $status"
grep -q 'the same command continues' slow.err || fail "an interrupted run does not say how to go on"
before=$(points slow.csv)
[ "$before" -lt 40 ] || fail "the run was over before it was interrupted"
"${again[@]}" | grep -q "$before were there before" || fail "the second run does not continue"
[ "$(points slow.csv)" = 40 ] || fail "slow.csv has not 2 x 20 points"

"$apportion" profile --app matmul --size 64,48,32 "${quick[@]}" --out rectangle.csv
grep -q '^# load: matmul-float-64x32$' rectangle.csv || fail "the profile is not one of the size that was given"
env XDG_DATA_HOME="$folder/data" "$apportion" profile --app matmul --size 64 --processors 0 "${quick[@]}"
[ "$(points "$folder"/data/apportion/profiles/*/matmul-64.csv)" = 16 ] ||
    fail "without --out the profile is not where programs look for it, or has not the 16 default sizes"

for option in --show --forget --app; do
    refuses "an empty value of $option" 2 "$option: its value is empty" "$apportion" profile $option ''
done
refuses "an empty value of --out" 2 "--out: its value is empty" "$apportion" profile --app matmul --out ''
refuses "an empty report" 2 "report: its value is empty" "$apportion" explain ''
for command in --help --version 'profile --help'; do
    # shellcheck disable=SC2086 # several words
    if "$apportion" $command >/dev/full 2>error; then fail "$command does not say that it could not be written"; fi
    [ "$(wc -l <error)" = 1 ] || fail "$command that could not be written: $(cat error)"
done
"$apportion" profile --help | tr -s ' \n' ' ' | grep -q 'sixteenths of the problem; with --platform hundreds of sizes' ||
    fail "the help does not say which sizes are measured"
refused "is no bundled application" "$apportion" profile --app nothing --out new.csv
refused "2 numbers are no size of this application; give one or 3" "$apportion" profile --app matmul --size 64,48 --out new.csv
refused "2 numbers are no size of this application; give one" "$apportion" profile --app jacobi --size 64,48 --out new.csv
refused "--size 0: give whole numbers from 1 on" "$apportion" profile --app matmul --size 0 --out new.csv
refused "give from:to:step" "$apportion" profile --app matmul --sizes 1:2 --out new.csv
refused "begins behind its end" "$apportion" profile --app matmul --sizes 2:1:1 --out new.csv
refused "there is no folder" "$apportion" profile --app matmul --out missing/new.csv
refused "precision must be greater" "$apportion" profile --app matmul --precision 0 --out new.csv
refused "is given twice" "$apportion" profile --app matmul --processors 1,1 --out new.csv
refused "more than the 64" "$apportion" profile --app matmul --size 64 --sizes 16:128:16 --out new.csv
refused "is no StarPU worker" "$apportion" profile --app matmul --size 64 --processors 2 --out new.csv
refused "was measured with kernel 'matmul', not 'fft2d'" "$apportion" profile --app fft2d --size 64 --out matmul.csv
refused "was measured with load 'matmul-64', not 'matmul-32'" "$apportion" profile --app matmul --size 32 --out matmul.csv
refused "name what to measure" "$apportion" profile --out new.csv
cmp matmul.csv before.csv
[ ! -e new.csv ] || fail "a refused command left a file"
