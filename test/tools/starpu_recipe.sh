#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# starpu_recipe.sh TOOLS: StarPU is built once for each recipe, and again when the recipe changes. The source package is a
# stand-in that notes how it was configured. Both flavours have room for machines with more than four GPUs.
. "$(dirname "$0")/../checks.sh"
mkdir -p "$folder/tools" "$folder/cache/source" "$folder/starpu/src/drivers/cuda" "$folder/starpu/src/datawizard" "$folder/cuda/bin" "$folder/none"
cp "$1/starpu-flavour" "$1/starpu-recipe" "$folder/tools/"
printf '#include <drivers/cuda/driver_cuda.h>\nif (props[devid].computeMode == cudaComputeModeExclusive) {}\n' \
    >"$folder/starpu/src/drivers/cuda/driver_cuda.c"
# What the recipe's patch takes out.
printf '/* And prevent double-count in starpu_malloc_flags */\n\tflags &= ~STARPU_MALLOC_COUNT;\nkept\n' \
    >"$folder/starpu/src/datawizard/malloc.c"
cat >"$folder/starpu/configure" <<'END'
#!/bin/sh
echo "$*" >>"$FOLDER/configured"
prefix=$(echo "$*" | sed 's/.*--prefix=\([^ ]*\).*/\1/')
printf 'all:\ninstall:\n\tmkdir -p %s/lib/pkgconfig && touch %s/lib/pkgconfig/starpu-1.4.pc\n' "$prefix" "$prefix" >Makefile
END
printf '#!/bin/sh\necho release 13.0\n' >"$folder/cuda/bin/nvcc"
chmod +x "$folder/starpu/configure" "$folder/cuda/bin/nvcc"
mkdir "$folder/cuda/lib64"
for library in cudart cublas; do cc -shared -x c /dev/null -o "$folder/cuda/lib64/lib$library.so"; done
tar czf "$folder/cache/source/starpu_1.4.10+dfsg.orig.tar.gz" -C "$folder" starpu
touch "$folder/cache/source/complete"
export FOLDER=$folder APPORTION_CACHE=$folder/cache CUDA_HOME=$folder/cuda PKG_CONFIG_LIBDIR=$folder/none PKG_CONFIG_PATH=
unset APPORTION_STARPU_REAL
touch "$folder/configured"

flavour() { "$folder/tools/starpu-flavour" real 2>"$folder/log" || fail "starpu-flavour: $(cat "$folder/log")"; }
first=$(flavour)
[ -f "$first/starpu-1.4.pc" ] || fail "$first holds no StarPU"
[ "$(flavour)" = "$first" ] && [ "$(wc -l <"$folder/configured")" = 1 ] || fail "the same recipe is built twice"
ln -s cuda "$folder/toolkit"
[ "$(CUDA_HOME=$folder/toolkit flavour)" = "$first" ] || fail "a link to the same CUDA toolkit is another recipe"
grep -q -- "--enable-maxcudadev=16 .*--with-cuda-dir=$folder/cuda" "$folder/configured" ||
    fail "no room for 16 GPUs: $(cat "$folder/configured")"
(
    die() { exit 1; }
    . "$folder/tools/starpu-recipe" simgrid
    [[ $options == *--enable-maxcudadev=16* ]]
) || fail "no room for 16 simulated GPUs"
(
    die() { exit 1; }
    . "$folder/tools/starpu-recipe" smpi
    [[ $options == *--enable-simgrid* && $options == *--enable-static* && $options == *--disable-shared* &&
        $options == *"--enable-mpi --with-mpicc="* && $options != *--disable-mpi* && $options != *--disable-static* ]]
) || fail "simulated ranks that are no static StarPU-MPI over SMPI"

sed -i 's/--enable-maxcudadev=16/--enable-maxcudadev=17/' "$folder/tools/starpu-recipe"
second=$(flavour)
[ "$second" != "$first" ] && [ -f "$second/starpu-1.4.pc" ] && [ "$(wc -l <"$folder/configured")" = 2 ] ||
    fail "a changed recipe is not built: $second"
grep -q -- "--enable-maxcudadev=17" "$folder/configured" || fail "the changed recipe is not the one that is built"
[ -f "$first/starpu-1.4.pc" ] || fail "the former StarPU, which build folders still use, is gone"

# A toolkit without all that StarPU needs, such as that of the HPC SDK, whose cuBLAS lies elsewhere.
rm "$folder/cuda/lib64/libcublas.so"
without=$(unset CUDA_HOME; PATH=$folder/cuda/bin:$PATH flavour)
tail -n 1 "$folder/configured" | grep -q -- "--disable-cuda" && [ -f "$without/starpu-1.4.pc" ] ||
    fail "a toolkit without cuBLAS is configured: $(cat "$folder/configured")"
grep -q "$folder/cuda has no lib64/libcublas.so, which StarPU needs: going on without CUDA" "$folder/log" ||
    fail "nobody says why there is no CUDA: $(cat "$folder/log")"
refuses "a CUDA_HOME without cuBLAS" 1 "libcublas.so, which StarPU needs; set CUDA_HOME" "$folder/tools/starpu-flavour" real
