#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# extreme_platforms.sh APPORTION MATMUL: what the reader of platforms lets pass, can be simulated; sensible numbers
# that give senseless times at the size of the problem end with one sentence.
. "$(dirname "$0")/../../checks.sh"
apportion=$1 matmul=$2
export XDG_CACHE_HOME=$folder STARPU_SCHED=greedy
# rate, base_s, bytes_per_s, latency_s, memory_bytes, noise
platform() {
    cat >"$folder/machine.toml" <<END
noise = $6
[kernel.matmul]
work = { factor = 2, m = 1, k = 1 }
[[link]]
name = "bus \"<&\\u001b[31m"
bytes_per_s = $3
latency_s = $4
[[device]]
name = "card \"<&\\u001b[31m\`touch executed\`"
kind = "cuda"
count = 2
link = "bus \"<&\\u001b[31m"
memory_bytes = $5
[device.kernel.matmul]
rate = $1
base_s = $2
END
}
for numbers in "1e24 1e-12 1e15 1e-12 1e15 1e-9" "1e9 1e6 1e3 1e3 33554432 0" "1 0 1e3 0 1e15 0"; do
    platform $numbers
    output=$(timeout 60 "$apportion" platform "$folder/machine.toml" "$matmul" --size 64 2>&1) ||
        fail "with $numbers: status $?: $output"
done
platform 1e-6 0 1e9 0 1e9 0
refuses "senseless times" 1 "a unit of kernel matmul takes 8.58993e+15 s" \
    "$apportion" platform "$folder/machine.toml" "$matmul" --size 65536
