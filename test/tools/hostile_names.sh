#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# hostile_names.sh APPORTION FAKE_APP: names in files that are commands, escape sequences or no UTF-8 are shown escaped
# and executed never; what is no regular file is refused at once; commands that make no sense end with status 2.
. "$(dirname "$0")/../checks.sh"
tool=$1
fake=$2
mkdir -p "$folder"/build/real/{tools,apps} "$folder/build/simgrid/apps" "$folder/work"
cp "$tool" "$folder/build/real/tools/apportion"
cp "$fake" "$folder/build/real/apps/fake"
sed 's/CPU 0/\\`touch executed\\`\\u001b[31m/' "$fake" >"$folder/build/real/apps/hostile"
chmod +x "$folder/build/real/apps/hostile"
cp "$folder/build/real/apps/hostile" "$folder/build/simgrid/apps/hostile"
cd "$folder/work"
export XDG_CACHE_HOME=$folder/cache
apportion=$folder/build/real/tools/apportion
escape=$(printf '\033')
# what is checked, the status, a text that must be in the output, then a command; no escape character may be in it
said() {
    local what=$1 status=$2 text=$3 output actual=0
    shift 3
    output=$(timeout 20 "$@" 2>&1 </dev/null) || actual=$?
    [ "$actual" = "$status" ] || fail "$what: status $actual instead of $status: $output"
    [[ $output == *"$text"* ]] || fail "$what: '$text' is not in: $output"
    [[ $output != *"$escape"* ]] || fail "$what: an escape sequence is in the output"
    iconv -f UTF-8 -t UTF-8 <<<"$output" >/dev/null 2>&1 || fail "$what: the output is no UTF-8"
    [ ! -e executed ] || fail "$what: a name was executed"
    rm -f executed
}

printf 'processor,units,seconds\n"`touch executed`",1,1\n"a\033[31m\xf6\042\042$(touch executed)",1,2\n' >names.csv
said "a profile's names in a table" 0 'a\x1b[31m\xf6"$(touch executed)' "$apportion" plan --profiles names.csv --units 2
said "a profile's names in all planners' table" 0 'a\x1b[31m\xf6' "$apportion" plan --profiles names.csv --units 2 --algorithm all
said "a profile's names in JSON" 0 'a\u001b[31m' "$apportion" plan --profiles names.csv --units 2 --json
said "a profile's names in the condition" 0 'a\x1b[31m\xf6' "$apportion" plan --profiles names.csv --condition
said "a profile's names in a picture" 0 'touch executed' "$apportion" plan --profiles names.csv --units 2 --plot names.png
said "a picture whose name is a command" 0 '' "$apportion" plan --profiles names.csv --units 2 --plot '`touch executed`.png'
said "a picture whose name is a pipe" 0 '' "$apportion" plan --profiles names.csv --units 2 --plot '|touch executed .png'
for picture in names.png '`touch executed`.png' '|touch executed .png'; do
    [ "$(head -c 4 -- "$picture" | tail -c 3)" = PNG ] || fail "there is no picture $picture"
done
said "a file's name in a message" 2 'no\x1b[31m.csv: cannot be opened' "$apportion" plan --profiles "no${escape}[31m.csv" --units 2
printf 'processor,units,seconds\na,1,\033[31m\xf6\n' >value.csv
said "a value in a message" 2 "value.csv:2: seconds are '\\x1b[31m\\xf6'" "$apportion" plan --profiles value.csv --units 2
said "a processor's name in a message" 2 'the processors are: `touch executed`, a\x1b' \
    "$apportion" plan --profiles names.csv --units 2 --max nobody=1

cat >platform.toml <<'END'
description = "\u001b[31m"
[kernel.hostile]
[[link]]
name = "`touch executed`\u001b"
bytes_per_s = 1e9
[[device]]
name = "`touch executed`\u001b[31m\"'"
kind = "cuda"
link = "`touch executed`\u001b"
memory_bytes = 1e9
lost_at_s = 5
[device.kernel.hostile]
rate = 1024
END
said "a platform's names in a table" 0 '`touch executed`\x1b[31m"' "$apportion" platform ./platform.toml
said "a platform's names in JSON" 0 '`touch executed`\u001b[31m' "$apportion" platform ./platform.toml --json
said "a platform's names in machine files" 0 'platform' "$apportion" platform ./platform.toml sh -c 'echo $STARPU_HOSTNAME'
said "a platform's names in a comparison" 0 '`touch executed`\x1b[31m' \
    "$apportion" compare --app hostile --size 64 --policies plb-hec --platform ./platform.toml --plot platform.png
said "a report's names in JSON" 0 '`touch executed`\u001b[31m' \
    "$apportion" compare --app hostile --size 64 --policies plb-hec --json
[ "$(head -c 4 platform.png | tail -c 3)" = PNG ] || fail "there is no picture of the comparison"

mkfifo pipe
for what in pipe /dev/zero; do
    said "$what as a profile" 2 "$what: is not a regular file" "$apportion" plan --profiles $what --units 2
    said "$what as an instance" 2 "$what: is not a regular file" "$apportion" plan --instance $what --units 2
    said "$what as a platform" 2 "$what: is not a regular file" "$apportion" platform "$what"
    said "$what as a new profile" 2 "$what: exists" "$apportion" profile --app matmul --size 8 --out $what
    echo "include = [\"$what\"]" >including.toml
    said "$what in a platform" 2 "$what: is not a regular file" "$apportion" platform ./including.toml
done
echo 'include = ["itself.toml"]' >itself.toml
said "a platform that includes itself" 2 'itself.toml:1: the platform has no device' "$apportion" platform ./itself.toml

said "no command" 2 'a command is missing; choose one of compare, explain, plan, platform, policies, profile, trace' "$apportion"
said "a misspelt command" 2 "there is no command 'plna' (did you mean plan?); choose one of compare, explain, plan, platform, policies, profile, trace" "$apportion" plna
said "a misspelt option" 2 '--polices (did you mean --policies?); see apportion compare --help' "$apportion" compare --polices eager
said "a misspelt option of a group" 2 '--aapp (did you mean --app?); see apportion profile --help' "$apportion" profile --aapp matmul
for command in compare explain plan platform policies profile trace; do
    said "an unknown option of $command" 2 "see apportion $command --help" "$apportion" $command --nothing
    "$apportion" $command --help >/dev/null || fail "$command --help"
done
said "an unknown policy" 2 'there is no policy' "$apportion" compare --app fake --size 8 --policies best
said "an unknown platform" 2 'there is no platform' "$apportion" platform nowhere
