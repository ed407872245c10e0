#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# apps_over_nodes.sh APPS [OUTER...]: every application over four nodes, one of them handicapped, under outer and inner
# policies (INNER="plb-hec dmda"): verified on rank 0, the report counts each unit once, and results are those of one
# process, the same bits where a unit's do not depend on the block that it is in. Policies that need a profile plan from
# what runs before learn.
. "$(dirname "$0")/run_nodes.sh"
apps=$(realpath "$1")
shift
outer=("$@")
[ ${#outer[@]} -gt 0 ] || outer=(plb-hec equal fpm-dynamic)
read -ra inner_policies <<<"${INNER:-plb-hec dmda}"
export APPORTION_LEARN=1 XDG_DATA_HOME=$folder/data

# program, arguments
unlike_nodes() { nodes -np 3 "$@" : -np 1 env APPORTION_HANDICAP=0=3 "$@"; }

# What policies need that plan from a profile, kept in $folder/learnt: a busy machine may forget it from run to run.
learn() { # program, arguments
    rm -rf "$folder/data" "$folder/learnt"
    [[ " ${outer[*]} ${inner_policies[*]} " == *" hpopta "* ]] || return 0
    local policy
    for policy in equal plb-hec equal plb-hec equal plb-hec; do
        APPORTION_NODES=$policy STARPU_SCHED=plb-hec unlike_nodes "$@" >"$folder/log" 2>&1 || fail "learning: $*: $(cat "$folder/log")"
        rm -rf "$folder/learnt"
        cp -r "$folder/data" "$folder/learnt"
        ! APPORTION_NODES=hpopta STARPU_SCHED=hpopta unlike_nodes "$@" >"$folder/log" 2>&1 || return 0
    done
    fail "nothing to plan from is learnt: $*: $(cat "$folder/log")"
}

# app, arguments; then checks of the JSON object
over_nodes() {
    local app=$1 json results=()
    shift
    [ "$app" = mpdata ] || results=(--out "$folder/results.${format[$app]:-npy}")
    learn "$apps/$app" "$@"
    json=$("$apps/$app" "$@" "${results[@]}" --json) || fail "$app in one process: status $?"
    [ "$app" = mpdata ] && echo "$json" >"$folder/expected" || mv "${results[1]}" "$folder/expected"
    for policy in "${outer[@]}"; do
        for inner in "${inner_policies[@]}"; do
            rm -rf "$folder/data"
            [ ! -d "$folder/learnt" ] || cp -r "$folder/learnt" "$folder/data"
            json=$(APPORTION_NODES=$policy STARPU_SCHED=$inner unlike_nodes "$apps/$app" "$@" "${results[@]}" --json) || {
                fail "$app under $policy/$inner: status $?"
                continue
            }
            python3 - "$app" "$policy/$inner" "$json" "$folder/expected" "${results[@]:1}" <<'END' || fail "$app under $policy/$inner"
import array, json, sys
app, policy, text, *files = sys.argv[1:]
run = json.loads(text)
reports = run["report"].get("parts", [run["report"]])
def expect(what, is_so):
    if not is_so: sys.exit(f"{app} under {policy}: {what}: {text[:2000]}")
expect("verified", run["verified"])
expect("policy", run["policy"] == policy)
expect("reports", len(reports) == (2 if app == "fft2d" else 1))
for report in reports:
    expect("nodes", run["nodes"] == 4 and len(report["processors"]) == 4)
    expect("each unit once", sum(p["units"] for p in report["processors"]) == report["units"])
    missing = "the nodes' own reports are missing" in report["note"]  # those of late ones are not awaited
    expect("reports of the nodes", len(report["nodes"]) == (0 if missing else 4))
    for node, own in zip(report["processors"], report["nodes"]):
        expect("units of its devices", sum(device["units"] for device in own.get("processors", [])) >= node["units"])
if app == "mpdata":
    one = json.load(open(files[0]))
    expect("the field of one process", run["max_error"] == 0 and all(run[k] == one[k] for k in ("largest", "smallest", "mass_change")))
else:
    one, nodes = (open(file, "rb").read() for file in files)
    expect("results as long as those of one process", len(one) == len(nodes))
    if app in ("matmul", "fft2d"):  # libraries compute blocks of different sizes in different orders
        end = 10 + int.from_bytes(one[8:10], "little")
        one, nodes = (array.array("f" if app == "matmul" else "d", data[end:]) for data in (one, nodes))
        expect("the results of one process", max(abs(a - b) for a, b in zip(one, nodes)) <= 1e-5 * max(map(abs, one)))
    else:
        expect("the bits of one process", one == nodes)
moved, least = (sum(report["network"][key] for report in reports) for key in ("bytes", "least_bytes"))
print(f"{app} {policy}: {run['seconds']:.3g} s, {sum(len(report['lost_processors']) for report in reports)} lost, " +
      (f"bytes {moved / least:.3f} x the least" if least > 0 else "all on rank 0"))
END
        done
    done
}
declare -A format=([grn]=tsv)
over_nodes matmul --size 300,500,200
over_nodes blackscholes --size 3000 --paths 500
over_nodes grn --size 2000 --targets 90
over_nodes fft2d --size 300,200
over_nodes jacobi_batch --size 40,60
over_nodes jacobi --size 150
over_nodes mpdata --size 40,12,9 --steps 12

# Small loads: more nodes than units, and one node.
nodes -np 4 "$apps/matmul" --size 8,2,8 --json >"$folder/log" || fail "more nodes than units: $(cat "$folder/log")"
nodes -np 1 "$apps/matmul" --size 200 --json >"$folder/log" || fail "one node: $(cat "$folder/log")"
nodes -np 3 "$apps/matmul" --size 200 --repeat 3 --json >"$folder/log" || fail "several runs: $(cat "$folder/log")"
[ $failed = 0 ]
