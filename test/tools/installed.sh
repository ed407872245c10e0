#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Installs, and compiles and runs a program with what was installed, by the command that README.md shows.
#     installed.sh BUILD_FOLDER PREFIX FOLDER_OF_STARPU_PC HELLO_BLOCKS_C
set -euo pipefail
build=$1 prefix=$2 source=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "$1"
    exit 1
}

DESTDIR=$folder meson install -C "$build" --no-rebuild --quiet
pc=$(find "$folder" -name apportion.pc)
[ -n "$pc" ] || fail "there is no apportion.pc"
sed -i "s|^prefix=.*|prefix=$folder$prefix|" "$pc"
export PKG_CONFIG_PATH=$(dirname "$pc"):$3
plugin=$(pkg-config --variable=sched_lib apportion)
[ -f "$plugin" ] || fail "sched_lib is $plugin, which is not there"

# Deprecation warnings of CUDA's headers, which StarPU's include, are no concern here.
# shellcheck disable=SC2046
cc -w "$source" $(pkg-config --cflags --libs apportion starpu-1.4) -o "$folder/hello"
readelf -d "$folder/hello" | grep -q "RUNPATH.*$prefix/" || fail "the program does not know the library's folder"
# The library is not yet where the program looks for it; StarPU is.
output=$(LD_LIBRARY_PATH=$(dirname "$plugin") STARPU_SCHED=plb-hec "$folder/hello")
grep -q '^policy plb-hec, .* s, verified: true$' <<<"$output" || fail "$output"
