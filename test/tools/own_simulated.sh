#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# own_simulated.sh APPORTION BODIES.C BUILD_FOLDER: an own program with a performance model is compiled for the
# simulated flavour as documented and compared on a simulated machine; its runs there are explained and traced.
. "$(dirname "$0")/../checks.sh"
apportion=$(realpath "$1") bodies=$(realpath "$2") build=$3
cd "$folder"
export XDG_DATA_HOME=$folder/data XDG_CACHE_HOME=$folder/cache
unset APPORTION_LEARN APPORTION_PROFILES

export PKG_CONFIG_PATH=$build/meson-uninstalled
cc "$bodies" $(pkg-config --cflags --libs apportion-simgrid) -lm -o bodies || fail "bodies.c does not compile"
"$apportion" compare --platform plbhec-ab --policies equal,plb-hec,hpopta,dmda --blocks 16 -- ./bodies 8000 2>error | tr -s ' ' >table ||
    fail "compare: $(cat error)"
for text in '^bodies, on simulated platform plbhec-ab' '^ [0-9] hpopta' '^ [0-9] plb-hec' '^ [0-9] equal' '5 x bodies' \
    '^ 9 CPU cores'; do
    grep -q "$text" table || fail "compare: no '$text' in $(cat table)"
done
grep -q 'round' table && fail "what takes equally long each time was repeated: $(cat table)"
APPORTION_REPORT=runs.jsonl APPORTION_TRACE=1 STARPU_SCHED=plb-hec "$apportion" platform plbhec-ab ./bodies 8000 >printed 2>&1 ||
    fail "platform: $(cat printed)"
grep -q xbt_cfg printed && fail "platform: SimGrid tells of settings: $(cat printed)"
grep -q '^policy plb-hec, 5 iterations' printed || fail "platform: $(cat printed)"
shows "a simulated run is explained" "bodies: 8000 units under plb-hec took" "$apportion" explain runs.jsonl
shows "... and traced" '"bodies under plb-hec, run 5"' "$apportion" trace runs.jsonl
