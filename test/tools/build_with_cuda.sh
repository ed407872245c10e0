#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# build_with_cuda.sh TOOLS: tools/build configures with the CUDA toolkit that StarPU is built with, that of the nvcc in the
# PATH, and passes on what the configuration warns of. Programs are stand-ins.
. "$(dirname "$0")/../checks.sh"
mkdir -p "$folder"/{tools,bin,toolkit/bin,toolkit/lib64}
for library in cudart cublas; do cc -shared -x c /dev/null -o "$folder/toolkit/lib64/lib$library.so"; done
cp "$1"/{build,starpu-recipe,compiler-cache} "$folder/tools/"
program() { # name, lines
    printf '%s\n' '#!/bin/sh' "$2" >"$folder/$1"
    chmod +x "$folder/$1"
}
program tools/setup ''
program tools/starpu-flavour 'echo /starpu'
program toolkit/bin/nvcc ''
program bin/meson 'echo "$*" >configured && mkdir -p build/real/policies/starpu && touch build/real/build.ninja
echo "meson.build:9: WARNING: without CUDA codelets: a reason"'
program bin/ninja 'touch build/real/policies/starpu/libapportion.so'
unset CUDA_HOME
said=$(PATH=$folder/bin:$folder/toolkit/bin:$PATH "$folder/tools/build" real 2>&1) || fail "tools/build: $said"
grep -q -- "-Dnvidia_home=$(readlink -f "$folder/toolkit")\$" "$folder/configured" ||
    fail "another CUDA toolkit than StarPU's: $(cat "$folder/configured")"
[ "$said" = "build: without CUDA codelets: a reason" ] || fail "the warning is not passed on: $said"
