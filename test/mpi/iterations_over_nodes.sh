#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# iterations_over_nodes.sh APPS RING HEAT: data that stay distributed, in jacobi, mpdata, a program of the test's own and
# the example of docs/several-nodes.md: results are those of one process bit for bit, units move to nodes that are
# faster, and what goes wrong on one rank is said once.
. "$(dirname "$0")/run_nodes.sh"
apps=$(realpath "$1") ring=$(realpath "$2") heat=$(realpath "$3")

# checks of the JSON object in $folder/out: each argument is an expression
holds() {
    python3 - "$folder/out" "$@" <<'END_OF_PYTHON'
import json, sys
run = json.load(open(sys.argv[1]))
report = run["report"]
for check in sys.argv[2:]:
    if not eval(check): sys.exit("does not hold: %s in %.2000s" % (check, json.dumps(run)))
END_OF_PYTHON
}
over_nodes() { # arguments of nodes, with a program that prints JSON
    nodes "$@" >"$folder/out" 2>"$folder/err" || { fail "$*: $(tail -3 "$folder/err")"; return 1; }
}

# One process under plb-hec against nodes under outer and inner policies, one of them handicapped.
python3 - "$folder" <<'END_OF_PYTHON'
import sys
n = 90
with open(sys.argv[1] + "/band.mtx", "w") as f:
    entries = [(i, j, 9 + i % 5 if i == j else -1 / (1 + abs(i - j))) for i in range(n) for j in range(max(0, i - 3), min(n, i + 2))]
    f.write("%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n" % (n, n, len(entries)))
    for i, j, value in entries: f.write("%d %d %.17g\n" % (i + 1, j + 1, value))
END_OF_PYTHON
systems=("--size 150 --iterations 25" "--size 90 --type float" "--a $folder/band.mtx")
for k in "${!systems[@]}"; do
    read -ra arguments <<<"${systems[$k]}"
    "$apps/jacobi" "${arguments[@]}" --out "$folder/one.npy" >"$folder/log" 2>&1 || fail "jacobi ${arguments[*]}: $(cat "$folder/log")"
    for policies in plb-hec/plb-hec equal/dmda; do
        rm -f "$folder/nodes.npy"
        export APPORTION_NODES=${policies%/*} STARPU_SCHED=${policies#*/}
        over_nodes -np 3 "$apps/jacobi" "${arguments[@]}" --json --out "$folder/nodes.npy" : -np 1 env APPORTION_HANDICAP=0=3 \
            "$apps/jacobi" "${arguments[@]}" --json --out "$folder/nodes.npy" || continue
        holds 'run["verified"]' 'run["nodes"] == 4 == len(report["processors"]) == len(report["nodes"])' "run['policy'] == '$policies'" \
            'sum(p["units"] for p in report["processors"]) == report["units"]' \
            'all(p["units"] == sum(d["units"] for d in own.get("processors", [])) for p, own in zip(report["processors"], report["nodes"]))' \
            'report["network"]["bytes"] >= report["network"]["least_bytes"] > 0 or sum(p["units"] > 0 for p in report["processors"]) == 1' || fail "jacobi ${arguments[*]} under $policies"
        cmp -s "$folder/one.npy" "$folder/nodes.npy" || fail "jacobi ${arguments[*]} under $policies: other bits than in one process"
    done
done
for arguments in '--size 40,12,9 --steps 12' '--size 24,10,10 --steps 8 --steps-at-once 2'; do
    # The last step is compared bit by bit with a reference, the invariants hold for all of them.
    for policies in plb-hec/plb-hec equal/dmda; do
        export APPORTION_NODES=${policies%/*} STARPU_SCHED=${policies#*/}
        over_nodes -np 3 "$apps/mpdata" $arguments --json : -np 1 env APPORTION_HANDICAP=0=3 "$apps/mpdata" $arguments --json || continue
        holds 'run["verified"]' 'run["max_error"] == 0' 'abs(run["mass_change"]) < 1e-12' "run['policy'] == '$policies'" \
            'sum(p["units"] for p in report["processors"]) == report["units"]' 'len(report["nodes"]) == 4' || fail "mpdata $arguments under $policies"
        largest=$(python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(r["largest"], r["smallest"], r["mass_change"])' "$folder/out")
        "$apps/mpdata" $arguments --json >"$folder/out" 2>"$folder/err" || fail "mpdata $arguments in one process"
        [ "$largest" = "$(python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(r["largest"], r["smallest"], r["mass_change"])' "$folder/out")" ] ||
            fail "mpdata $arguments under $policies: another field than in one process"
    done
done
unset APPORTION_NODES STARPU_SCHED

# More nodes than rows, and one node; reports of all runs in a file, with those of the nodes.
over_nodes -np 4 "$apps/jacobi" --size 2 --iterations 5 --json && { holds 'run["verified"]' 'len(report["processors"]) == 4' || fail "more nodes than rows"; }
over_nodes -np 4 "$apps/mpdata" --size 3,8,8 --steps 4 --json && { holds 'run["verified"]' || fail "more nodes than planes"; }
over_nodes -np 1 "$apps/mpdata" --size 12,8,8 --steps 4 --json && { holds 'run["verified"]' 'run["nodes"] == 1' || fail "one node"; }
APPORTION_REPORT=$folder/report over_nodes -np 3 "$apps/mpdata" --size 12,8,8 --steps 4
[ "$(wc -l <"$folder/report")" = 4 ] && [ "$(grep -c '"nodes":\[{.*},{.*},{' "$folder/report")" = 4 ] || fail "the reports: $(cat "$folder/report")"

for count in 1 3; do nodes -np $count "$heat" >"$folder/out" 2>&1 && grep -q " 0 points wrong" "$folder/out" || fail "the example on $count: $(cat "$folder/out")"; done
for count in 1 2 4; do nodes -np $count "$ring" 50 >"$folder/out" 2>&1 || fail "the ring on $count: $(cat "$folder/out")"; done
for units in 1 2 5; do nodes -np 4 "$ring" $units >"$folder/out" 2>&1 || fail "a ring of $units: $(cat "$folder/out")"; done
nodes -np 4 "$ring" 5 granules >"$folder/out" 2>&1 || fail "a share that is less than a granule: $(cat "$folder/out")"
nodes -np 3 "$ring" 40 nan 1 >"$folder/out" 2>&1 || fail "not-a-number: $(cat "$folder/out")"
nodes -np 3 "$ring" 90 slow 1 >"$folder/out" 2>&1 && grep -q 'moved [1-9]' "$folder/out" || fail "a slow node: $(cat "$folder/out")"
APPORTION_NODES=equal nodes -np 2 "$ring" 4 'on and on' >"$folder/out" 2>&1 || fail "memory that grows: $(cat "$folder/out")"
nodes -np 3 "$ring" 90 'slow once' 1 >"$folder/out" 2>&1 && grep -q 'moved 1 ' "$folder/out" || fail "results of nodes that no longer own them, after one move: $(cat "$folder/out")"
nodes -np 3 "$ring" 90 'unable once' 1 >"$folder/out" 2>&1 && grep -q 'failed once' "$folder/out" || fail "a run again after an error: $(cat "$folder/out")"
APPORTION_NODES=equal nodes -np 3 "$ring" 90 slow 1 >"$folder/out" 2>&1 && grep -q 'moved 0' "$folder/out" || fail "equal shares: $(cat "$folder/out")"

# Policies that plan give the shares of the first run.
for node in 0 1; do
    printf 'processor,units,seconds\n' >"$folder/$node.csv"
    for units in 1 10 20 40; do echo "CPU 0,$units,$((units * (1 + 3 * node))).0" >>"$folder/$node.csv"; done
done
for policy in hpopta cpm; do
    rm -f "$folder/report"
    APPORTION_NODES=$policy APPORTION_REPORT=$folder/report nodes -np 1 env APPORTION_PROFILES="$folder/0.csv" "$ring" 40 \
        : -np 1 env APPORTION_PROFILES="$folder/1.csv" "$ring" 40 >"$folder/out" 2>&1 || fail "planned shares: $(cat "$folder/out")"
    head -n 1 "$folder/report" | grep -q '"reason":"first shares","shares":\[32\.0,8\.0\]' || fail "$policy: $(grep -o '"distributions":[^]]*' "$folder/report")"
done

refused 'units = 50 on one and 51 on the other' -np 3 "$ring" 50 differs 2
refused 'arrays = .*"halo":1.*"halo":2' -np 3 "$ring" 50 halo 1
refused 'arrays = .*"starts":"with hash' -np 3 "$ring" 50 starts 1
refused 'options.units = 18446744073709551615 is too large' -np 2 "$ring" 50 countless
refused 'arrays\[1\]: starts must not fall' -np 3 "$ring" 50 falls
refused 'iteration_exchange: the arrays must be all of those' -np 3 "$ring" 50 'one array'
refused 'arrays\[0\]: a periodic halo of more units than there are' -np 3 "$ring" 5 wide
refused 'rank 0 calls apportion_mpi_iteration_exchange of .*, and rank 1 calls apportion_mpi_iteration_run of' -np 3 "$ring" 50 skips 1
refused 'rank 1: arrays\[1\]: data is NULL' -np 3 "$ring" 50 null 1
refused 'rank 2 .*can run codelet' -np 3 "$ring" 50 unable 2
refused "load 'ring': node 1 .*the test wants it.*unit 0 is unit [0-9]* of all" -np 3 "$ring" 50 fails 1
nodes -np 3 "$ring" 50 'fails at length' 1 >"$folder/out" 2>&1 || true
! grep 'has another' "$folder/out" || fail "the sentence of a failed run is not the same everywhere"
refused 'node 1 .*has not computed its units after .* it hangs' -np 3 env APPORTION_STALL_FACTOR=2 "$ring" 50 hangs 1
# Nobody but rank 0 itself waits for rank 0: here for a task that was given up, before what it may write is exchanged.
refused "rank 0 .*a task of load 'ring' that was given up has not ended after another .* it hangs" -np 2 \
    env STARPU_NCPU=2 APPORTION_STALL_FACTOR=1 APPORTION_NODES=equal STARPU_SCHED=greedy "$ring" 400 'task hangs' 0
# Who is stopped from outside, all of the job for longer than a node may be silent, is not late for that.
stoppable() { # the process numbers of the ranks
    local process
    for process in /proc/[0-9]*; do
        [ "$(cat "$process/comm" 2>&1)" = ring_over_nodes ] && grep -qzxs "STOPPABLE=$folder" "$process/environ" && basename "$process"
    done
    return 0
}
APPORTION_STALL_FACTOR=2 nodes -np 3 env STOPPABLE="$folder" "$ring" 12000 >"$folder/out" 2>&1 &
job=$! ranks=''
for _ in {1..100}; do
    ranks=$(stoppable)
    [ "$(wc -w <<<"$ranks")" != 3 ] || break
    sleep 0.1
done
sleep 1
for what in STOP CONT; do
    for rank in $ranks; do kill -$what "$rank" || fail "rank $rank has ended before it was to $what"; done
    sleep 5
done
[ "$(wc -w <<<"$ranks")" = 3 ] || fail "the ranks to stop: $ranks"
wait $job || fail "stopped and continued: $(cat "$folder/out")"
refused '2 planes are fewer than the 3' -np 2 "$apps/mpdata" --size 2 --steps 2
refused 'rank 1 .*the command line is' -np 1 "$apps/jacobi" --size 100 : -np 1 "$apps/jacobi" --size 101
refused 'recorded' -np 2 env APPORTION_NODES=hpopta APPORTION_PROFILES="$folder" "$apps/mpdata" --size 16 --steps 2
refused 'the report cannot be written' -np 2 env APPORTION_REPORT="$folder/none/report" "$apps/mpdata" --size 16 --steps 2
python3 - "$folder/large.mtx" <<'END_OF_PYTHON'
import sys
with open(sys.argv[1], "w") as f:
    f.write("%%MatrixMarket matrix coordinate real general\n3 3 5\n1 1 1\n2 2 1\n3 3 1\n1 2 9\n2 1 9\n")
END_OF_PYTHON
refused 'diverged after .*row 1 .* is not diagonally dominant' -np 2 "$apps/jacobi" --a "$folder/large.mtx"
[ $failed = 0 ]
