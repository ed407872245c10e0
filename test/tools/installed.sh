#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Installs, and lets a user who may read nothing else use it: run an application, list the platforms, compile README.md's
# examples by their commands and by CMake, run them under a policy, compare, profile, explain, trace and report them, and
# load the plug-in. What was installed lies over the prefix
# in a mount namespace of its own, in which the source tree, the build folder and StarPU's build are empty.
#     installed.sh BUILD_FOLDER PREFIX FOLDER_OF_STARPU_PC SOURCE_FOLDER
set -euo pipefail
build=$1 prefix=$2 starpu=$3 source=$4
me=$(realpath "$0")
fail() {
    echo "$1"
    exit 1
}

# The second part, in the namespace, as that user.
if [ "$build" = --as-user ]; then
    folder=$3
    cd "$folder"
    export HOME=$folder/home STARPU_NCUDA=0 STARPU_NOPENCL=0
    unset XDG_CACHE_HOME XDG_DATA_HOME CCACHE_DIR LD_LIBRARY_PATH APPORTION_CACHE
    # shellcheck disable=SC2012
    [ -z "$(ls "$source" 2>/dev/null)" ] || fail "$source is not hidden"
    for policy in plb-hec eager; do
        STARPU_SCHED=$policy "$prefix/bin/matmul" --size 64 >output 2>&1 || fail "matmul under $policy: $(cat output)"
        # Debian's StarPU always misses one, which its package lacks.
        ! grep 'does not exist' output | grep -v '</usr/share/starpu/perfmodels/sampling>' || fail "StarPU misses a folder of where it was built"
    done
    # Without IPOPT every solution is the bisection's; with it those of runs whose times fit no curve may be.
    for _ in 1 2 3 4 5 6 7 8; do
        STARPU_SCHED=plb-hec-published APPORTION_REPORT=report "$prefix/bin/matmul" --size 64 >output 2>&1 ||
            fail "matmul under plb-hec-published: $(cat output)"
    done
    grep -q '"solver":{[^}]*"fallbacks":0,' report || fail "IPOPT is not found: $(cat report)"
    mkdir broken && echo nothing >broken/libapportion-ipopt.so
    rm report
    LD_LIBRARY_PATH=broken STARPU_SCHED=plb-hec-published APPORTION_REPORT=report "$prefix/bin/matmul" --size 64 >output 2>&1 ||
        fail "matmul without IPOPT: $(cat output)"
    grep -q '"note":"libapportion-ipopt.so cannot be loaded, so' report || fail "nobody says that IPOPT is missing: $(cat report)"
    "$prefix/bin/apportion" platform plbhec-a >output 2>&1 || fail "apportion platform: $(cat output)"
    cc -Wall -Wextra -pedantic hello_blocks.c $(pkg-config --cflags --libs apportion) -o hello >output 2>&1 ||
        fail "cc: $(cat output)"
    [ ! -s output ] || fail "the compiler warns: $(head -5 output)"
    STARPU_SCHED=plb-hec ./hello >output 2>&1 || fail "hello_blocks: $(cat output)"
    grep -q '^policy plb-hec, .* s, verified: true$' output || fail "$(cat output)"
    c++ -std=c++17 -Wall -Wextra -Werror axpb.cpp $(pkg-config --cflags --libs apportion) -o axpb >output 2>&1 || fail "c++: $(cat output)"
    STARPU_SCHED=equal ./axpb >output 2>&1 || fail "axpb: $(cat output)"
    # The tools, on both, as that user, in a folder that cannot be written.
    export TMPDIR=$folder/temporary
    mkdir temporary unwritable && chmod 555 unwritable && cd unwritable
    tool() { "$prefix/bin/apportion" "$@" >../output 2>&1 || fail "apportion $1: $(cat ../output)"; }
    tool compare --policies equal,plb-hec,eager --blocks 4 --repeat 1 -- ../axpb
    tool profile --repeat 1 -- ../hello
    STARPU_SCHED=hpopta ../hello >../output 2>&1 || fail "hpopta by that profile: $(cat ../output)"
    APPORTION_REPORT=../runs APPORTION_TRACE=1 STARPU_SCHED=plb-hec ../axpb >../output 2>&1 || fail "a report: $(cat ../output)"
    tool explain ../runs
    tool trace ../runs --out ../trace.json
    cd ..
    cc unmodified_program.c $(pkg-config --cflags --libs apportion) -o unmodified
    STARPU_SCHED=greedy STARPU_SCHED_LIB=$(pkg-config --variable=sched_lib apportion) ./unmodified greedy >output 2>&1 ||
        fail "the plug-in: $(cat output)"
    if command -v cmake >/dev/null; then
        cmake -S . -B cmake-build >output 2>&1 && cmake --build cmake-build >output 2>&1 || fail "cmake: $(tail -20 output)"
        STARPU_SCHED=equal cmake-build/hello >output 2>&1 || fail "built by CMake: $(cat output)"
        ! cmake -S . -B cmake-other -DWANTED=99 >output 2>&1 || fail "CMake takes this version for 99"
    fi
    exit 0
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/installed" "$folder/user" "$folder/user/home"
(umask 077 && DESTDIR=$folder/installed meson install -C "$build" --no-rebuild --quiet)
installed=$folder/installed$prefix
pc=$(find "$installed" -name apportion.pc)
[ -n "$pc" ] || fail "there is no apportion.pc"
closed=$(find "$installed" ! -type l ! -perm -o+r)
[ -z "$closed" ] || fail "not everybody may read $closed"
for file in $(find "$installed" -name 'lib*.so*' -type f) "$installed"/bin/*; do
    ! readelf -S "$file" | grep -q '\.symtab' || fail "$file is not stripped"
    run_path=$(readelf -d "$file" | sed -n 's/.*RUNPATH.*\[\(.*\)\]/\1/p')
    case :$run_path in *:/root/* | *:/home/* | *:"$HOME"/* | *:"$build"*) fail "the run path of $file is $run_path" ;; esac
done

cp "$source/apps/hello_blocks.c" "$source/docs/examples/axpb.cpp" "$source/test/starpu/unmodified_program.c" "$folder/user/"
cat >"$folder/user/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.18)
project(hello C)
set(WANTED 0.1 CACHE STRING "")
find_package(apportion ${WANTED} REQUIRED)
if(NOT EXISTS "${APPORTION_SCHED_LIB}")
  message(FATAL_ERROR "APPORTION_SCHED_LIB is '${APPORTION_SCHED_LIB}'")
endif()
add_executable(hello hello_blocks.c)
target_compile_options(hello PRIVATE -Wall -Wextra -Werror)
target_link_libraries(hello apportion::apportion)
END
chmod -R a+rwX "$folder"
pc=$prefix${pc#"$installed"}
hidden=("$build" "$source")
[ -z "$(find "$installed" -name starpu-1.4.pc)" ] || hidden+=("$(realpath "$starpu/../..")")
cp "$me" "$folder/user/as-user"
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
as_user=()
[ "$(id -u)" != 0 ] || as_user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
PKG_CONFIG_PATH=$(dirname "$pc") "${name_space[@]}" sh -c "$enter" sh "$installed" "$prefix" "${hidden[@]}" -- \
    "${as_user[@]}" "$folder/user/as-user" --as-user "$prefix" "$folder/user" "$source"
