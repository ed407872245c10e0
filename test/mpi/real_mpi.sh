#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# real_mpi.sh BUILD SOURCE PC: a program of the user calls the MPI that mpirun started, in whichever order it is linked
# with MPI, StarPU and Apportion, and with IPOPT in the process, whose sequential MUMPS has stand-ins of MPI's functions.
. "$(dirname "$0")/run_nodes.sh"
export STARPU_SCHED=plb-hec # loads IPOPT as it starts
build=$1 source=$2 pc=$3
libraries="$build/policies/starpu/libapportion.so $build/policies/mpi/libapportion-mpi.so"
for library in $libraries "$build/apps/matmul"; do
    ! ldd "$library" | grep -E 'mumps|mpiseq|ipopt' || fail "$library brings a sequential MUMPS"
done

cat >"$folder/inner.c" <<'END'
#include <mpi.h>
int ranks(void) { int n = 0; MPI_Comm_size(MPI_COMM_WORLD, &n); return n; }
END
cat >"$folder/program.c" <<'END'
#define _GNU_SOURCE
#include <apportion_mpi.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int ranks(void);
int main(void) {
    if (apportion_mpi_init(NULL) != 0) return fprintf(stderr, "%s\n", apportion_mpi_error()), 1;
    if (!dlopen("libapportion-ipopt.so", RTLD_NOW | RTLD_NOLOAD)) return fprintf(stderr, "no IPOPT: %s\n", dlerror()), 1;
    Dl_info info;
    const char* names[] = {"MPI_Init", "MPI_Comm_size", "MPI_Finalize", "MPI_Wtime"};
    int wrong = ranks() != 2 || apportion_mpi_nodes() != 2;
    for (int k = 0; k < 4; ++k)
        if (!dladdr(dlsym(RTLD_DEFAULT, names[k]), &info) || !strstr(info.dli_fname, "libmpi.so")) wrong = 1;
    apportion_mpi_shutdown();
    return wrong;
}
END
flags="-I$source/policies/mpi -I$source/policies/starpu $(PKG_CONFIG_PATH=$pc pkg-config --cflags starpumpi-1.4)"
mpi=$(mpicc -showme:link 2>/dev/null || mpicc -show | sed 's/^[^ ]*//')
cc -shared -fPIC "$folder/inner.c" -o "$folder/libinner.so" $(mpicc -showme:compile) $mpi
starpu=$(PKG_CONFIG_PATH=$pc pkg-config --libs starpumpi-1.4)
number=0
for order in "$libraries $folder/libinner.so $starpu" "$folder/libinner.so $starpu $libraries" "$starpu $libraries $folder/libinner.so $mpi" \
    "$mpi $libraries $folder/libinner.so" "-llapack $libraries $folder/libinner.so"; do
    number=$((number + 1))
    cc $flags "$folder/program.c" -Wl,--no-as-needed $order -ldl -o "$folder/program$number" \
        -Wl,-rpath,"$folder:$build/policies/starpu:$build/policies/mpi:$(PKG_CONFIG_PATH=$pc pkg-config --variable=libdir starpu-1.4)" 2>"$folder/log" || {
        grep -q 'cannot find -llapack' "$folder/log" || fail "order $number does not link: $(cat "$folder/log")"
        continue
    }
    nodes -np 2 "$folder/program$number" || fail "order $number: $order"
done
[ $failed = 0 ]
