#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# every_policy.sh APPORTION APP SIZE: the application under every policy that is registered and four schedulers of
# StarPU, the list being the default of `apportion compare`. Each run verifies its result, or fails.
set -euo pipefail
export APP_UNDER_TEST=$2
"$1" compare --app "$2" --size "$3" --blocks 5 --repeat 1 --json | python3 -c '
import json, os, sys
result = json.load(sys.stdin)
failed = 0
for run in result["runs"]:
    units = sum(run["units_per_processor"].values())
    if units != result["units"]:
        print(run["policy"], "computed", units, "units instead of", result["units"])
        failed = 1
ran = {run["policy"] for run in result["runs"]}
print(os.environ["APP_UNDER_TEST"] + ":", ", ".join(sorted(ran)))
sys.exit(failed or not {"equal", "greedy", "plb-hec", "eager", "dmda"} <= ran)'
