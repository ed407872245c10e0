#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# last_line_of_check.sh TOOLS: tools/check ends with what passed and failed, where sanitizers do not compile as well, and
# counts a flavour whose tests did not run. The tests are one that passes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/tools" "$folder/bin" "$folder/starpu/tools/dev/tsan" "$folder/starpu/tools/dev/lsan"
cp "$1/check" "$1/sanitize" "$1/compiler-cache" "$1/count_tests" "$folder/tools"
touch "$folder"/starpu/tools/dev/{tsan/starpu.suppr,lsan/suppressions}
tar cf "$folder/starpu.tar" -C "$folder" starpu
program() { # its file; what it does is read
    { echo '#!/usr/bin/env bash' && cat; } >"$folder/$1"
    chmod +x "$folder/$1"
}
program tools/setup </dev/null
program tools/build <<<'mkdir -p build/{real,simgrid}/meson-logs'
program tools/starpu-flavour <<<"echo $folder/starpu.tar"
program bin/clang++ </dev/null
program bin/chrt <<<'shift 2 && exec "$@"' # beside other tests, what is idle gets no time
program bin/meson <<'END'
case "$1 $3" in
setup*) [ -n "${SETS_UP:-}" ] && mkdir -p "$2/meson-logs" && touch "$2/build.ninja" ;;
introspect*) echo '[]' ;;
'test build/simgrid') [ -n "${SIMGRID:-}" ] ;;
esac || exit 1
[ "$1" != test ] || echo '{"name": "a test", "result": "OK"}' >"$3/meson-logs/testlog.json"
END
program bin/ninja <<<'[ -n "${COMPILES:-}" ]'
ends_with() { # line, status, variables
    local status=0 said
    said=$(env PATH="$folder/bin:$PATH" "${@:3}" "$folder/tools/check" 2>&1) || status=$?
    [ "$(tail -n 1 <<<"$said")" = "$1" ] && [ $status = "$2" ] || { echo "not '$1', but status $status: $said" && exit 1; }
}
ends_with '2 passed, 2 failed' 1 SIMGRID=1
ends_with '2 passed, 2 failed' 1 SIMGRID=1 SETS_UP=1
ends_with '4 passed, 0 failed' 0 SIMGRID=1 SETS_UP=1 COMPILES=1
ends_with '3 passed, 1 failed' 1 SETS_UP=1 COMPILES=1 # the log of the run before is there
program tools/starpu-flavour <<<'exit 1'
ends_with '2 passed, 1 failed' 1 SIMGRID=1
