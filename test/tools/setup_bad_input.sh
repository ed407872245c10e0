#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# setup_bad_input.sh TOOLS: what set-up and installation cannot work with is said in one sentence, with a status other than 0,
# before anything is written. Programs and StarPU are stand-ins.
. "$(dirname "$0")/../checks.sh"
tools=$1
mkdir "$folder/tools" "$folder/bin" "$folder/home"
cp "$tools"/{setup,build,install,starpu-flavour,starpu-recipe} "$folder/tools/"
printf '#!/bin/sh\n' >"$folder/none"
program() { # name, lines
    printf '%s\n' '#!/bin/sh' "$2" >"$folder/bin/$1"
    chmod +x "$folder/bin/$1"
}
export HOME=$folder/home PATH=$folder/bin:$PATH

# An own StarPU of the wrong kind, without headers, and none at all.
for kind in simgrid real none; do
    own="$folder/own $kind"
    mkdir -p "$own/lib/pkgconfig" "$own/include/starpu/1.4"
    printf '%s\n' "prefix=$own" 'includedir=${prefix}/include' 'Name: starpu' 'Description: x' 'Version: 1.4.10' \
        >"$own/lib/pkgconfig/starpu-1.4.pc"
done
echo '#define STARPU_SIMGRID 1' >"$folder/own simgrid/include/starpu/1.4/starpu_config.h"
echo '/* #undef STARPU_SIMGRID */' >"$folder/own real/include/starpu/1.4/starpu_config.h"
flavour=$folder/tools/starpu-flavour
refused "own real was configured without --enable-simgrid" env APPORTION_STARPU_SIMGRID="$folder/own real" "$flavour" simgrid
refused "own simgrid was configured with --enable-simgrid" env APPORTION_STARPU_REAL="$folder/own simgrid" "$flavour" real
refused "starpu_config.h is missing" env APPORTION_STARPU_REAL="$folder/own none" "$flavour" real
refused "holds no lib/pkgconfig/starpu-1.4.pc" env APPORTION_STARPU_REAL="$folder/home" "$flavour" real
for own in real simgrid; do
    [ "$(env "APPORTION_STARPU_${own^^}=$folder/own $own" "$flavour" $own)" = "$folder/own $own/lib/pkgconfig" ] ||
        fail "a StarPU in a folder with a space is not found"
done
refused "cannot be built in a folder with a space" env APPORTION_CACHE="$folder/a cache" "$flavour" simgrid
refused "/proc/none cannot be written" env APPORTION_CACHE=/proc/none "$flavour" simgrid

# Packages are missing, and there is no way to become root; meson is too old.
program apt-get 'echo called >&2'
program apt-cache ''
program dpkg-query 'exit 1'
program id 'echo 1000'
printf '#!/bin/sh\n' >"$folder/tools/starpu-flavour"
echo missing-package >"$folder/tools/debian-packages"
mkdir "$folder/few"
for name in bash env sed grep dirname cat; do ln -s "$(command -v $name)" "$folder/few/"; done
refused "no sudo: have these packages installed first: missing-package" env PATH="$folder/bin:$folder/few" "$folder/tools/setup"
program dpkg-query 'echo installed'
program meson 'echo 0.63.3'
refused "meson 0.63.3 is too old" "$folder/tools/setup"

# A prefix that cannot be written, or cannot be named in run paths.
refused "/proc/none cannot be made" "$folder/tools/install" /proc/none
refused "choose a prefix without spaces" "$folder/tools/install" "$folder/a prefix"
refused "below cannot be made" "$folder/tools/install" "$folder/none/below"
refused "at most the folder" "$folder/tools/install" a b

# A ccache that cannot write ends no build; one that can stays.
cp "$tools/compiler-cache" "$folder/tools/"
program ccache '[ -w "$HOME" ] && exec "$@"'
cache() { HOME=$1 bash -c '. "$1"; echo "${CCACHE_DISABLE:-used}"' - "$folder/tools/compiler-cache"; }
[ "$(cache /proc/none)" = 1 ] || fail "a ccache that cannot write is not switched off"
[ "$(cache "$folder/home")" = used ] || fail "a ccache that can write is switched off"
