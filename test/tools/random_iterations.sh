#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# random_iterations.sh RANDOM_ITERATIONS BUILD: tools/random_iterations on a small machine: what it prints and refuses.
. "$(dirname "$0")/../checks.sh"
tool=$1 build=$2
cd "$folder"
"$tool" --build "$build" --seeds 6..6 --policies plb-hec,equal,dmda --cases jacobi:512:3,mpdata:16x8x8:2 >table ||
    fail "iterations on a machine are measured"
for line in jacobi:512:3 mpdata:16x8x8:2 all; do
    for policy in plb-hec equal; do
        grep -Eq "^$line +$policy +[12]( +[0-9]+\.[0-9]{3}){6}  6$" table || fail "no figures of $line, $policy: $(cat table)"
    done
done
! "$tool" --build "$build" --seeds 6..6 --cases matmul:512:3 2>error || fail "an application without iterations"
grep -q 'matmul:512:3: give APPLICATION:SIZE:ITERATIONS' error || fail "what is wrong is not told: $(cat error)"
! "$tool" --build nowhere --seeds 6..6 --cases jacobi:512:3 >/dev/null 2>error || fail "a build that is not there"
grep -q 'seed 6, jacobi:512:3: .*nowhere' error || fail "what failed is not told: $(cat error)"
