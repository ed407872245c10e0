# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What tests of commands share; they source it in the folder where they work. A failure does not end a test:
# end_of_checks does, when all were tried.
failures=0
fail() {
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
}
# what is checked, text with single blanks that must be in the output, then a command that succeeds
shows() {
    local what=$1 text=$2 output
    shift 2
    output=$("$@" 2>&1 | tr -s ' ') || fail "$what: exit status $?: $output"
    [[ $output == *"$text"* ]] || fail "$what: '$text' is not in: $output"
}
# what is checked, exit status, text that must be in the only line of errors, then a command that prints nothing else and
# leaves nothing in TMPDIR
refuses() {
    local what=$1 status=$2 text=$3 output actual=0
    shift 3
    output=$("$@" 2>error </dev/null) || actual=$?
    [ "$actual" = "$status" ] || fail "$what: status $actual instead of $status"
    [ -z "$output" ] || fail "$what: it printed $output"
    [[ $(cat error) == *"$text"* ]] || fail "$what: '$text' is not in: $(cat error)"
    [ "$(wc -l <error)" = 1 ] || fail "$what: more than one line: $(cat error)"
    [ -z "$(ls -A "$TMPDIR")" ] || fail "$what: left files: $(ls "$TMPDIR")"
}
end_of_checks() {
    [ "$failures" = 0 ] || { echo "$failures checks failed" >&2; exit 1; }
}
