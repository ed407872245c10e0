#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# installed.sh BUILD_FOLDER PREFIX SOURCE_FOLDER: installs, and compiles the examples of docs/several-nodes.md with what was
# installed, by pkg-config and by CMake, and runs it on two nodes; first one with what is in the build folder. What was
# installed lies over the prefix in a mount namespace of its own, in which the build folder and the sources are empty.
set -euo pipefail
fail() {
    echo "$1"
    exit 1
}

# The second part, in the namespace.
if [ "$1" = --inside ]; then
    prefix=$2 run_nodes=$3
    . "$run_nodes"
    unset LD_LIBRARY_PATH
    for example in heat sum; do
        mpicc -Wall -Wextra -pedantic ${example}_over_nodes.c $(pkg-config --cflags --libs apportion-mpi) -o $example >output 2>&1 ||
            fail "mpicc: $(cat output)"
        [ ! -s output ] || fail "the compiler warns: $(head -5 output)"
    done
    ! ldd heat | grep 'not found' || fail "libraries are missing"
    [[ $(ldd heat) == *"$prefix/"*libapportion-mpi* ]] || fail "another library: $(ldd heat)"
    nodes -np 2 ./heat >output 2>&1 || fail "the example: $(cat output)"
    grep -q '^2 nodes, .* 0 points wrong$' output || fail "$(cat output)"
    nodes -np 2 ./sum >output 2>&1 && grep -q '^2 nodes, .*, sum 5999995$' output || fail "the example of a sum: $(cat output)"
    [ -e "$(pkg-config --variable=sched_lib apportion-mpi)" ] || fail "there is no plug-in at $(pkg-config --variable=sched_lib apportion-mpi)"
    if command -v cmake >/dev/null; then
        cmake -S . -B cmake-build -DCMAKE_C_COMPILER=mpicc >output 2>&1 && cmake --build cmake-build >output 2>&1 ||
            fail "cmake: $(tail -20 output)"
        nodes -np 2 cmake-build/heat >output 2>&1 || fail "built by CMake: $(cat output)"
    fi
    exit "$failed" # fail() of run_nodes.sh counts
fi

build=$1 prefix=$2 source=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/installed" "$folder/user"
DESTDIR=$folder/installed meson install -C "$build" --no-rebuild --quiet
installed=$folder/installed$prefix
for file in apportion_mpi.h apportion.h apportion-mpi.pc apportion-mpiConfig.cmake; do
    [ -n "$(find "$installed" -name $file)" ] || fail "$file is not installed"
done
pc=$(dirname "$(find "$installed" -name apportion-mpi.pc)")
[ "$(dirname "$pc")" = "$(dirname "$(dirname "$(dirname "$(find "$installed" -name apportion-mpiConfig.cmake)")")")" ] ||
    fail "apportion-mpi.pc is in $pc, where neither pkg-config nor CMake's file looks for it"
cp "$source"/docs/examples/*_over_nodes.c "$source/test/mpi/run_nodes.sh" "$0" "$folder/user/"
cat >"$folder/user/CMakeLists.txt" <<'END_OF_CMAKE'
cmake_minimum_required(VERSION 3.18)
project(heat C)
find_package(apportion-mpi 0.1 REQUIRED)
add_executable(heat heat_over_nodes.c)
target_compile_options(heat PRIVATE -Wall -Wextra -Werror)
target_link_libraries(heat apportion::apportion-mpi)
END_OF_CMAKE
(
    cd "$folder/user"
    . ./run_nodes.sh
    unset LD_LIBRARY_PATH
    export PKG_CONFIG_PATH=$build/meson-uninstalled
    mpicc sum_over_nodes.c $(pkg-config --cflags --libs apportion-mpi) -o uninstalled >output 2>&1 || fail "not installed: $(cat output)"
    nodes -np 2 ./uninstalled >output 2>&1 && grep -q '^2 nodes, .*, sum 5999995$' output || fail "not installed: $(cat output)"
    [ -e "$(pkg-config --variable=sched_lib apportion-mpi)" ] || fail "not installed: there is no plug-in"
    exit "$failed"
) || exit 1
name_space=(unshare --mount)
[ "$(id -u)" = 0 ] || name_space=(unshare --mount --map-root-user)
# shellcheck disable=SC2016
enter='set -e; installed=$1 prefix=$2; shift 2
mount -t overlay overlay -o lowerdir="$installed:$prefix" "$prefix"
while [ "$1" != -- ]; do mount -t tmpfs tmpfs "$1"; shift; done; shift
exec "$@"'
"${name_space[@]}" sh -c "$enter" sh "$installed" "$prefix" -- true 2>/dev/null || {
    echo "no mount namespace can be had here: what was installed is not run"
    exit 77
}
cd "$folder/user"
PKG_CONFIG_PATH=$prefix${pc#"$installed"} "${name_space[@]}" sh -c "$enter" sh "$installed" "$prefix" "$build" "$source" -- \
    "$folder/user/installed.sh" --inside "$prefix" "$folder/user/run_nodes.sh"
