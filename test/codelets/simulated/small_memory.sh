#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Matrices B and C of 2 GiB, more than ten times the memory of every device: each policy and scheduler computes every
# column once, with blocks that fit the devices, and both devices work. Arguments: the apportion program, the platform.
set -u
output=$("$1" compare --app matmul --platform "$2" --size 4096,65536,4096 --blocks 256 --json) || exit 1
python3 -c '
import json, sys
result = json.load(sys.stdin)
bytes_of_b_and_c = 4 * 2 * 4096 * 65536
failed = bytes_of_b_and_c < 10 * 120e6
for run in result["runs"]:
    units = run["units_per_processor"]
    used = [sum(n for name, n in units.items() if device in name) > 0 for device in ("narrow", "tiny")]
    ok = sum(units.values()) == 65536 and all(used)
    ratio = run["makespan_seconds"]["median"] / result["lower_bound_seconds"]
    print("%-10s %6d blocks, %.3f x the bound: %s" % (run["policy"], run["blocks"], ratio, "holds" if ok else "FAILS"))
    failed |= not ok or ratio < 1
sys.exit(failed)' <<<"$output"
