#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# profile_over_nodes.sh APPORTION NO_LARGE_MEMORY INTERRUPTED_LINK MATMUL: `apportion profile` under mpirun: a profile of each machine, and all of them with the links
# between them as one instance; what is wrong on one rank or on all is said once, all end with a status other than 0, and
# none hangs.
. "$(dirname "$0")/run_nodes.sh"
apportion=$(realpath "$1") no_large_memory=$(realpath "$2") interrupted_link=$(realpath "$3") matmul=$(realpath "$4")
cd "$folder"
export XDG_DATA_HOME=$folder/data
quick=(--max-seconds 0.2 --max-repetitions 5)
profile=("$apportion" profile --app matmul --size 64 --sizes 16:32:16 "${quick[@]}")

nodes -np 3 "${profile[@]}" --out p.csv --instance p.json >told 2>err || fail "status $?: $(cat err)"
for rank in 0 1 2; do
    grep -q "^p-$rank.csv: 2 points measured$" told && [ "$(grep -vc -e '^#' -e '^processor,' p-$rank.csv)" = 2 ] || fail "rank $rank: $(cat told)"
done
[ "$(grep -c '^rank [12] (.*): a message takes .* s and .* bytes/s$' told)" = 2 ] || fail "links are not told: $(cat told)"
grep -q '^p.json: an instance of 3 nodes with 3 processing units$' told || fail "the instance: $(cat told)"
python3 - p.json <<'END' || fail "the instance: $(cat p.json)"
import json, sys
instance = json.load(open(sys.argv[1]))
assert [name.split(" (")[0] for name in instance["nodes"]] == ["rank 0", "rank 1", "rank 2"]
assert [unit["node"] for unit in instance["pus"]] == instance["nodes"]
startups_s, bandwidths = instance["a_N_s"], instance["b_N_bytes_per_s"]
assert startups_s[0] == 0 and bandwidths[0] is None and min(startups_s[1:]) > 0
assert all(1e6 < b < 1e13 for b in bandwidths[1:])  # a busy machine's, so no more is asked
assert instance["compute_s"] == instance["c_s"]  # no buses
assert instance["d_si_bytes"] == instance["d_sr_bytes"] == 256
END
"$apportion" plan --instance p.json --units 64 --algorithm ilp >told || fail "plan does not read it"
grep -q '^ *rank 2 (.*): CPU 0 ' told || fail "the plan has not all ranks: $(cat told)"
nodes -np 2 "${profile[@]}" --out p.csv >told 2>err || fail "again: $(cat err)"
grep -q '^p-1.csv: 0 points measured, 2 were there before$' told || fail "a profile is measured again: $(cat told)"
"${profile[@]}" --out alone.csv --instance alone.json >told || fail "without mpirun"
grep -q '^alone.json: an instance of 1 node with 1 processing unit$' told || fail "without mpirun: $(cat told)"

refused 'interrupted; i.json is not written' -np 1 env LD_PRELOAD="$interrupted_link" "${profile[@]}" --out p.csv --instance i.json : \
    -np 1 "${profile[@]}" --out p.csv --instance i.json
[ ! -e i.json ] || fail "a signal while links are measured: i.json is written"

# Without --out each profile is where the programs of its machine look for it. Two host names are two machines.
on_two() { nodes -np 1 env STARPU_HOSTNAME=first "$@" : -np 1 env STARPU_HOSTNAME=second "$@"; }
on_two "${profile[@]}" >told 2>err || fail "on two machines: $(cat err)"
APPORTION_NODES=hpopta STARPU_SCHED=hpopta on_two "$matmul" --size 64 >told 2>err || fail "hpopta over nodes: $(cat err)"

refused 'mpirun started one process' -np 1 "${profile[@]}" --out q.csv --instance q.json
refused 'none/q.json: cannot be written' -np 3 "${profile[@]}" --out q.csv --instance none/q.json
refused 'none/q-0.csv: cannot be written' -np 2 "${profile[@]}" --out none/q.csv
refused 'another .apportion profile. writes it' -np 2 "${profile[@]}" # both are this machine, and one is first
refused 'rank 1 .*the command line is' -np 1 "${profile[@]}" --out q.csv : -np 1 "${profile[@]}" --out q.csv --instance q.json
refused 'rank 1 .*is no StarPU worker' -np 1 "${profile[@]}" --out q.csv : -np 1 "${profile[@]}" --out q.csv --processors 7
refused 'is no bundled application' -np 3 "$apportion" profile --app nothing --out q.csv
refused 'choose a smaller size' -np 2 "$apportion" profile --app matmul --size 10000000 --out q.csv --instance q.json
[ -z "$(compgen -G "q*")" ] || fail "a refused command left a file: $(ls)"
# Its times are measured by then, and stay.
refused 'rank 1 .*the memory does not suffice' -np 1 "${profile[@]}" --out late.csv --instance late.json : \
    -np 1 env LD_PRELOAD="$no_large_memory" "${profile[@]}" --out late.csv --instance late.json
[ ! -e late.json ] && [ -s late-1.csv ] || fail "no memory for messages: $(ls)"
[ $failed = 0 ]
