#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# manual.sh APPORTION: man pages and completion have what the parser has, and are well-formed.
. "$(dirname "$0")/../checks.sh"
apportion=$(realpath "$1")
cd "$folder"
"$apportion" generate --bash >completion || fail "no completion"
bash -n completion || fail "the completion is no bash"
commands=$("$apportion" --help | sed -n '/^Subcommands:/,$s/^  \([a-z]*\) .*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 6 ] || fail "commands: $commands"
for command in apportion $commands; do
    "$apportion" generate --man "$command" >"$command.1" || fail "no page of $command"
    if command -v groff >/dev/null; then
        warnings=$(groff -man -ww -Tutf8 "$command.1" 2>&1 >/dev/null)
        [ -z "$warnings" ] || fail "page of $command: $warnings"
    fi
    arguments=$command
    [ "$command" != apportion ] || arguments=
    # The options that --help names, of which a page says -\-.
    for option in $("$apportion" $arguments --help | sed -n '/^Options:/,$s/^  \(-[a-z],\)\?\(--[a-z-]*\).*/\2/p'); do
        grep -qF -- "${option//-/\\-}" "$command.1" || fail "page of $command lacks $option"
        grep -q -- "[\" ]$option[\" ]" completion || fail "completion lacks $option"
    done
done

# As bash calls it.
source ./completion
completes() {
    COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2)) COMPREPLY=()
    _apportion
    [ "${COMPREPLY[*]}" = "$1" ] || fail "completion of '${*:2}' is '${COMPREPLY[*]}' instead of '$1'"
}
completes "plan platform" apportion pl
completes "--platform --plot" apportion compare --pl
completes "serial parallel" apportion plan --network ""
completes "parallel" apportion plan --network p
completes "" apportion trace re

if "$apportion" generate --man none 2>error; then fail "a page of no command"; fi
grep -q 'there is no such command' error || fail "a page of no command: $(cat error)"
for command in "" $commands; do
    status=0
    "$apportion" $command --nothing >/dev/null 2>&1 || status=$?
    [ $status = 2 ] || fail "$command with an unknown option: status $status"
    "$apportion" $command --help >/dev/null || fail "$command --help"
done
[[ $("$apportion" --version) =~ ^apportion\ [0-9.]+$ ]] || fail "--version"
