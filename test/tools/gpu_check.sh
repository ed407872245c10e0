#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# gpu_check.sh GPU_CHECK: its table, its time limits and its verdicts, on applications, a driver and a sanitizer that are stand-ins. FAKE_* variables say how those behave; an application's name in one says which.
. "$(dirname "$0")/../checks.sh"
check=$1

mkdir -p "$folder/build/apps" "$folder/build/tools" "$folder/bin" "$folder/driver" "$folder/toolkit/lib64" "$folder/toolkit/bin"
cat >"$folder/build/apps/matmul" <<'END'
#!/usr/bin/env bash
me=$(basename "$0")
[ "$me" != "${FAKE_CRASHES:-}" ] || kill -SEGV $$
if [ "$me" = "${FAKE_HANGS:-}" ] && [ "$STARPU_SCHED" = plb-hec ]; then
    sleep 1000 &
    echo $! >"$FAKE_FOLDER/child"
    wait
fi
[ "$me" != "${FAKE_WARNS:-}" ] || echo "memory cannot be pinned" >&2
[ "$me" != "${FAKE_SAYS:-}" ] || { echo '{"app": "no report"}'; exit 0; }
[ -z "${FAKE_NO_CUDA:-}" ] || STARPU_NCUDA=0
wrong=true
[ "$me" != "${FAKE_WRONG:-}" ] || wrong=false
repeat=1
while [ $# -gt 0 ]; do
    case $1 in
    --repeat) repeat=$2 ;;
    --no-verify) wrong=null ;;
    esac
    shift
done
runs=0.5
for ((i = 1; i < repeat; ++i)); do runs=$runs,0.25; done
processor() { echo '{"name": "'$1' 0", "kind": "'$1'", "worker": '$2', "units": '$3', "blocks": 1, "compute_seconds": 0.1}'; }
processors=
[ "${STARPU_NCUDA:-}" = 0 ] || processors=$(processor CUDA 0 ${FAKE_GPU_UNITS:-60})
[ "${STARPU_NCPU:-}" = 0 ] || processors=$processors${processors:+,}$(processor CPU 1 40)
echo '{"app": "'$me'", "runs": ['$runs'], "verified": '$wrong', "report": {"units": 100, "granularity": 1, "processors": ['$processors']}}'
END
for app in grn mpdata; do cp "$folder/build/apps/matmul" "$folder/build/apps/$app"; done
cat >"$folder/build/tools/apportion" <<'END'
#!/usr/bin/env bash
[ "$1" != --version ] || echo "apportion 9.9"
[ "$1" != profile ] || echo "$*" >>"$FAKE_FOLDER/profiles"
END
cat >"$folder/bin/nvidia-smi" <<'END'
#!/usr/bin/env bash
[ -z "${FAKE_NO_GPU:-}" ] || exit 9
case "$1" in
'') echo "| NVIDIA-SMI 550.1   Driver Version: 550.1   CUDA Version: ${FAKE_DRIVER_KNOWS:-13.0} |" ;;
--query-gpu=name,driver_version,*) [ -z "${FAKE_OLD_SMI:-}" ] || exit 2; for ((i = 0; i < ${FAKE_GPUS:-1}; ++i)); do echo "Fake H1, 550.1, 8192 MiB, 345 MHz, 1980 MHz, 2619 MHz, 2619 MHz, 30, 700 W, 5, 16, Default"; done ;;
*) echo "Fake H1, 550.1" ;;
esac
END
cat >"$folder/bin/ldd" <<'END'
#!/usr/bin/env bash
printf '\tlibcudart.so.13 => /nowhere/libcudart.so.13 (0x0)\n'
[ -z "${FAKE_MISSING:-}" ] || printf '\tlibcublas.so.13 => not found\n'
END
cat >"$folder/toolkit/bin/compute-sanitizer" <<'END'
#!/usr/bin/env bash
while [ "$1" != --log-file ]; do shift; done
echo "ERROR SUMMARY: ${FAKE_ERRORS:-0} errors" >"$2"
shift 2
"$@" || exit
[ "${FAKE_ERRORS:-0}" = 0 ] || { echo "memcheck found errors" >&2; exit 99; }
END
cat >"$folder/driver/libcuda.c" <<'END'
#include <stdlib.h>
#include <string.h>
static int known(void) { return getenv("FAKE_LIBCUDA") ? atoi(getenv("FAKE_LIBCUDA")) : 0; }
int cuDriverGetVersion(int* version) { return *version = known(), 0; }
int cuInit(unsigned flags) { return flags; }
int cuDeviceGetCount(int* count) { return *count = known() ? 2 : 0, 0; }
int cuDeviceGetName(char* name, int size, int device) { return strncpy(name, device ? "Fake B" : "Fake A", size), 0; }
END
cc -shared -fPIC -o "$folder/driver/libcuda.so.1" "$folder/driver/libcuda.c"
chmod +x "$folder"/build/*/* "$folder"/bin/* "$folder"/toolkit/bin/*
export FAKE_FOLDER=$folder PATH=$folder/bin:$PATH CUDA_HOME=$folder/toolkit LD_LIBRARY_PATH=$folder/driver
unset STARPU_NCPU STARPU_NCUDA STARPU_SCHED

# gpu_check [VARIABLE=VALUE...] ARGUMENTS...: its output is in $folder/out and $folder/err, its status in $status
gpu_check() {
    local set=()
    while [[ ${1:-} == [A-Z]*=* ]]; do
        set+=("$1")
        shift
    done
    status=0
    env "${set[@]}" "$check" --build "$folder/build" --json "$folder/json" "$@" >"$folder/out" 2>"$folder/err" || status=$?
}
row='^[a-z]+ +[0-9,]+ (GPU|CPU|CPU\+GPU) +[a-z-]+ '
lives() { # a process, in the next seconds; a zombie does not
    for ((i = 0; i < 50; ++i)); do
        [ -e "/proc/$1/stat" ] && ! grep -q ') Z ' "/proc/$1/stat" || return 1
        sleep 0.1
    done
}
rows() { grep -cE "$row" "$folder/out" || true; }
said() { grep -qE "$1" "$folder/out" "$folder/err" || fail "$2: expected '$1' in: $(cat "$folder/out" "$folder/err")"; }
failed_with() {
    [ "$status" != 0 ] || fail "$2: ended well"
    said "$1" "$2"
    [ "$(grep -c Traceback "$folder/err")" = 0 ] || fail "$2: $(cat "$folder/err")"
}

for program in "$check" "$(dirname "$check")/gpu_machine.py"; do
    python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), feature_version=(3, 9))' "$program" ||
        fail "$program needs more than Python 3.9"
done

gpu_check
[ "$status" = 0 ] || fail "a good machine: $(cat "$folder/out" "$folder/err")"
[ "$(rows)" = 36 ] || fail "3 applications in 3 places under 4 schedulers are no 36 rows: $(cat "$folder/out")"
said "^matmul +8192 GPU +plb-hec +0.25 +1.00x 100.0 %  yes" "the GPU alone"
said "^matmul +8192 CPU\+GPU +plb-hec +0.25 +1.00x  60.0 %  yes" "both"
said "^matmul +8192 CPU +plb-hec +0.5 +1.00x   0.0 %  yes" "CPU cores alone, once"
said "^matmul: plb-hec on CPU\+GPU has 1.00 times the speed of the GPU alone, 0.67 of the sum of both" "the sum"
python3 - "$folder/json" <<'END' || fail "JSON lines: $(head -c 2000 "$folder/json")"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
about = lines[0]
assert about["record"] == "machine" and about["apportion"] == "apportion 9.9" and about["cuda_runtime"] == "13"
assert about["driver_knows_cuda"] == "13.0" and about["devices"][0]["clocks.max.sm"] == "1980 MHz"
assert [line["record"] for line in lines[1:]] == ["run"] * 36 + ["end"]
assert lines[-1]["runs"] == 36 and lines[-1]["failed"] == 0
assert all(line["verified"] and line["report"]["processors"] for line in lines[1:-1])
END

for part in 1/4 2/4 3/4 4/4; do
    gpu_check --part $part
    [ "$status" = 0 ] || fail "part $part: $(cat "$folder/err")"
    grep -E "$row" "$folder/out"
done | awk '{print $1, $3, $4}' | sort >"$folder/parts"
[ "$(wc -l <"$folder/parts")" = 36 ] && [ "$(uniq "$folder/parts" | wc -l)" = 36 ] || fail "four parts are not the whole: $(cat "$folder/parts")"

gpu_check --quick --apps grn --on GPU,CPU --policies dmda --repeat 2 --no-verify
[ "$status$(rows)" = 02 ] || fail "chosen rows: $(cat "$folder/out" "$folder/err")"
said "^grn +200 GPU +dmda +0.375 .* no$" "chosen rows"

gpu_check FAKE_OLD_SMI=1 --quick --apps grn --on GPU
[ "$status" = 0 ] || fail "an nvidia-smi that knows fewer fields: $(cat "$folder/err")"

gpu_check FAKE_GPUS=2 --quick --apps grn --on GPU
[ "$status" = 0 ] || fail "two GPUs: $(cat "$folder/err")"
said "^2 x Fake H1, driver 550.1, " "two GPUs"
said "^StarPU uses 1 of 2 GPUs" "a GPU that StarPU does not use"

# One program hangs, with a child of its own: the others are measured, and the child is gone.
gpu_check FAKE_HANGS=grn --quick --on GPU --timeout 2
failed_with "^grn .* no result after 2 s" "a program that hangs"
[ "$(rows)" = 6 ] || fail "beside a program that hangs: $(cat "$folder/out")"
lives "$(cat "$folder/child")" && fail "the child of a program that hangs lives on"

# gpu-check itself is ended while a program hangs: rows so far are there, and no child is left.
env FAKE_HANGS=mpdata "$check" --build "$folder/build" --json "$folder/json" --quick --on GPU >"$folder/out" 2>&1 &
rm -f "$folder/child"
for ((i = 0; i < 300; ++i)); do [ -s "$folder/child" ] && break || sleep 0.1; done
grep -q "^grn .* plb-hec .* yes" "$folder/out" || fail "rows are not written as they come: $(cat "$folder/out")"
[ "$(grep -c '"record": "run"' "$folder/json")" = 5 ] || fail "JSON lines are not written as they come"
kill $! && wait $! && fail "gpu-check that was ended ends well"
lives "$(cat "$folder/child")" && fail "a child outlives gpu-check"

gpu_check FAKE_HANGS=grn --quick --on GPU --minutes 0.05 --timeout 100
failed_with "0.05 minutes were not enough for [1-9] of 6 runs; share them out with --part" "too little time"
said "^mpdata .* left out: the time is up" "too little time"

gpu_check FAKE_NO_GPU=1
failed_with "^gpu-check: .*GPU" "no GPU"
[ "$(wc -l <"$folder/err")$(rows)" = 10 ] || fail "no GPU is more than one sentence: $(cat "$folder/err")"
gpu_check FAKE_NO_GPU=1 FAKE_LIBCUDA=13000 --quick --on GPU
[ "$status$(rows)" = 06 ] || fail "without nvidia-smi: $(cat "$folder/out" "$folder/err")"
said "^2 x Fake A, driver of CUDA 13.0, " "without nvidia-smi"
gpu_check FAKE_NO_GPU=1 FAKE_LIBCUDA=12040 FAKE_NO_CUDA=1 --quick
failed_with "StarPU has no CUDA worker; the driver knows CUDA 12.4 and the programs need 13: it is too old" "an old libcuda"
gpu_check FAKE_NO_GPU=1 --without-gpu --quick
[ "$status$(rows)" = 06 ] || fail "without a GPU: $(cat "$folder/out" "$folder/err")"
gpu_check FAKE_NO_CUDA=1 FAKE_DRIVER_KNOWS=12.4
failed_with "Fake H1 \(driver 550.1\) is here, but StarPU has no CUDA worker; the driver knows CUDA 12.4 and the programs need 13: it is too old" "an old driver"
gpu_check FAKE_GPU_UNITS=0 --on CPU+GPU
failed_with "Fake H1 is here and computed nothing in any run" "an idle GPU"
gpu_check FAKE_GPU_UNITS=0 --on GPU
failed_with "^matmul .* the GPU computed nothing" "a GPU that is idle alone"
gpu_check FAKE_MISSING=1
failed_with "matmul misses libcublas.so.13 => not found; set CUDA_HOME" "a missing toolkit"
gpu_check FAKE_WRONG=grn --quick
failed_with "^grn .* the result is wrong" "a wrong result"
gpu_check FAKE_CRASHES=grn --quick
failed_with "^grn .* signal 11" "a crash"
gpu_check FAKE_CRASHES=matmul --quick
failed_with "the first run \(matmul --size 512\) failed: signal 11" "a crash at once"
gpu_check FAKE_WARNS=grn --quick
[ "$status" = 0 ] || fail "a warning: $(cat "$folder/out" "$folder/err")"
said "^grn .* yes  \(memory cannot be pinned\)" "a warning"
gpu_check FAKE_SAYS=grn --quick
failed_with "^grn .* its output is no report" "an unknown output"

gpu_check --memcheck "$folder/memcheck"
[ "$status" = 0 ] && [ "$(ls "$folder/memcheck")" = "$(printf '%s\n' grn.txt matmul.txt mpdata.txt)" ] || fail "memcheck: $(cat "$folder/out" "$folder/err")"
gpu_check FAKE_ERRORS=3 --memcheck "$folder/memcheck"
failed_with "^matmul .* memcheck found errors" "memory errors"

for arguments in "--part 5/4" "--part x" "--apps gnr" "--on TPU" "--repeat 0" "--minutes -1"; do
    gpu_check $arguments
    failed_with "^gpu-check: .*${arguments% *}" "$arguments"
    [ "$(wc -l <"$folder/err")" = 1 ] || fail "$arguments: more than one sentence: $(cat "$folder/err")"
done
# In a bundle.
mkdir "$folder/bundle"
cp "$check" "$(dirname "$check")/gpu_machine.py" "$folder/bundle/"
cp -r "$folder/build/apps" "$folder/bundle/bin"
cp "$folder/build/tools/apportion" "$folder/bundle/bin/"
"$folder/bundle/gpu-check" --quick --apps grn --on GPU >"$folder/out" 2>&1 || fail "in a bundle: $(cat "$folder/out")"
rm "$folder/toolkit/bin/compute-sanitizer"
if ! command -v compute-sanitizer >/dev/null && ! ls /usr/local/cuda*/bin/compute-sanitizer >/dev/null 2>&1; then
    gpu_check --memcheck "$folder/memcheck"
    [ "$status" = 77 ] || fail "without a sanitizer: $(cat "$folder/out" "$folder/err")"
fi
