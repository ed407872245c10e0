#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# every_policy.sh APPORTION APP SIZE POLICY...: `apportion compare` runs the application on CPU workers under every one of
# these policies, the static ones with a profile that `apportion profile` measures for it. Each run verifies its result,
# or ends the comparison; all units must have been computed, under exactly the policies that were asked for.
set -euo pipefail
apportion=$1 app=$2 size=$3
shift 3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_DATA_HOME=$folder STARPU_NCUDA=0 STARPU_NOPENCL=0
policies=$(printf ',%s' "$@")
"$apportion" compare --app "$app" --size "$size" --policies "${policies:1}" --blocks 5 --repeat 1 --json >"$folder/result"
python3 - "$folder/result" "$@" <<'END'
import json, sys
with open(sys.argv[1]) as file:
    result = json.load(file)
failed = False
for run in result["runs"]:
    units = sum(run["units_per_processor"].values())
    print(f"{run['policy']:<10} {run['makespan_seconds']['median']:10.6f} s  {run['units_per_processor']}")
    if units != result["units"]:
        print(run["policy"], "computed", units, "units instead of", result["units"])
        failed = True
ran, wanted = {run["policy"] for run in result["runs"]}, set(sys.argv[2:])
if ran != wanted:
    print("differs from what was asked for:", ran ^ wanted)
sys.exit(failed or ran != wanted)
END
