#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# interrupted_compare.sh APPORTION: Ctrl-C, an end by the batch system and the end of the terminal stop `apportion
# compare` while it records a profile for itself: the recording ends, its temporary folder goes.
. "$(dirname "$0")/../checks.sh"
apportion=$1
mkdir "$folder/data"
export XDG_DATA_HOME=$folder/data STARPU_SILENT=1 STARPU_NCPU=2 STARPU_NCUDA=0 STARPU_NOPENCL=0
export STARPU_WORKERS_NOBIND=1
for signal in INT TERM HUP; do
    # Not in the background of this shell, which would ignore SIGINT for it.
    (exec env --default-signal "$apportion" compare --app matmul --size 512 --policies hpopta --repeat 1 >"$folder/out" 2>"$folder/err") &
    pid=$!
    until [ -n "$(find "$TMPDIR" -name profile.csv)" ]; do
        kill -0 $pid 2>/dev/null || fail "compare ended too soon: $(cat "$folder/err")"
        sleep 0.02
    done
    child=$(cat /proc/$pid/task/*/children)
    [ -n "$child" ] || fail "there is no child that records"
    kill -$signal $pid
    status=0
    wait $pid || status=$?
    [ $status = $((128 + $(kill -l $signal))) ] || fail "SIG$signal ends it with status $status: $(cat "$folder/err")"
    for c in $child; do
        if kill -0 "$c" 2>/dev/null; then fail "SIG$signal left the child $c"; fi
    done
    [ -z "$(ls -A "$TMPDIR")" ] || fail "SIG$signal left $(ls -A "$TMPDIR")"
    [ ! -s "$folder/out" ] || fail "SIG$signal: something was printed"
    grep -q '^apportion: ended by signal' "$folder/err" || fail "SIG$signal: it does not say why it ended"
done

# nohup: a signal that was ignored stays ignored.
"$apportion" compare --app matmul --size 64 --policies eager --blocks 2 --repeat 1 >/dev/null || fail "compare does not work"
(trap '' HUP; exec "$apportion" compare --app matmul --size 64 --policies hpopta --repeat 1 >/dev/null 2>"$folder/err") &
pid=$!
until [ -n "$(find "$TMPDIR" -name profile.csv)" ]; do
    kill -0 $pid 2>/dev/null || fail "compare ended too soon: $(cat "$folder/err")"
    sleep 0.02
done
kill -HUP $pid
wait $pid || fail "a signal that is to be ignored ended it: $(cat "$folder/err")"
