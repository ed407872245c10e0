#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the library exports: the functions of its C interface and StarPU's entry to a plug-in. Arguments: the library, the
# header.
library=$1
header=$2
export LC_ALL=C
shown=$(nm -D --defined-only "$library" | awk '{ print $NF }' | sort) || exit 1
# Declarations begin a line; types and inline functions are no symbols.
wanted=$({
    grep -E '^[a-z].*[ *]apportion_[a-z_]+\(' "$header" | grep -vE '^(typedef|static)' | grep -oE 'apportion_[a-z_]+\(' | tr -d '('
    printf '%s\n' starpu_get_sched_lib_policy starpu_get_sched_lib_policies
} | sort -u)
[ "$(wc -l <<<"$wanted")" -gt 2 ] || { echo "no function is declared in $header"; exit 1; }
difference=$(diff <(echo "$wanted") <(echo "$shown")) || { echo "declared (<) and exported (>) differ: $difference"; exit 1; }
readelf -d "$library" | grep -q 'SONAME.*\[libapportion\.so\.[0-9]' || { echo "no version in the SONAME"; exit 1; }
