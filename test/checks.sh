# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What tests that are shell scripts share; they source it first. They have $folder, which goes when they end, with a
# TMPDIR of their own in it, and end at their first failure.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/temporary"
export TMPDIR=$folder/temporary
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
# what is checked, text with single blanks that must be in the output, then a command that succeeds
shows() {
    local what=$1 text=$2 output
    shift 2
    output=$("$@" 2>&1 | tr -s ' ') || fail "$what: exit status $?: $output"
    [[ $output == *"$text"* ]] || fail "$what: '$text' is not in: $output"
}
# what is checked, exit status, text that must be in the only line of errors beside warnings, then a command that prints
# nothing else and leaves nothing in TMPDIR
refuses() {
    local what=$1 status=$2 text=$3 output said actual=0
    shift 3
    output=$("$@" 2>"$folder/error" </dev/null) || actual=$?
    said=$(grep -v -e '^\[starpu\]' -e 'Other programs kept .* CPUs busy meanwhile' -e 'this size is left out$' "$folder/error") || true
    [[ $actual == $status ]] || fail "$what: status $actual instead of $status: $said"
    [ -z "$output" ] || fail "$what: it printed $output"
    [[ $said == *"$text"* ]] || fail "$what: '$text' is not in: $said"
    [ "$(wc -l <<<"$said")" = 1 ] || fail "$what: more than one line: $said"
    [ -z "$(ls -A "$TMPDIR")" ] || fail "$what: left files: $(ls "$TMPDIR")"
}
# text, then a command that fails as one does that was used wrongly
refused() { refuses "${*:2}" '[12]' "$@"; }
# Names of the policies that refuse a load without a profile, a line each; $apportion is the command.
policies_that_need_a_profile() {
    "$apportion" policies --json | python3 -c 'import json, sys
print(*(policy["name"] for policy in json.load(sys.stdin)["policies"] if policy["profile"] == "required"), sep="\n")'
}
