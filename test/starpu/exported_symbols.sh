#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the library shows to programs: its C interface and StarPU's way into a plug-in. Arguments: the library, the header.
library=$1
header=$2
export LC_ALL=C
shown=$(nm -D --defined-only "$library" | awk '{ print $NF }' | sort) || exit 1
wanted=$({
    grep -oE '\bapportion_[a-z_]+\(' "$header" | tr -d '('
    printf '%s\n' starpu_get_sched_lib_policy starpu_get_sched_lib_policies
} | sort -u)
# The header also names types and what a program defines itself.
unwanted=$(comm -23 <(echo "$shown") <(echo "$wanted"))
[ -z "$unwanted" ] || { echo "shown, but in no header: $unwanted"; exit 1; }
[ "$(wc -l <<<"$shown")" -ge 17 ] || { echo "only these are shown: $shown"; exit 1; }
readelf -d "$library" | grep -q 'SONAME.*\[libapportion\.so\.[0-9]' || { echo "no version in the SONAME"; exit 1; }
