#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# clusters.sh APPORTION APPS: programs on simulated clusters. APPORTION is of the real flavour, beside this one; where it
# is not built the test is skipped.
set -euo pipefail
apportion=$1 apps=$2
[ -x "$apportion" ] || {
    echo "there is no $apportion: build the real flavour, too (tools/build real smpi)" >&2
    exit 77
}
export STARPU_SILENT=1 APPORTION_LEARN=0 STARPU_SCHED=plb-hec
unset APPORTION_NODES
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CACHE_HOME=$folder
failed=0
fail() {
    echo "FAILED: $*" >&2
    failed=$((failed + 1))
}
cat >"$folder/three.toml" <<'END'
[kernel.matmul]
work = { factor = 2, m = 1, k = 1 }
bytes_in = { factor = 4, k = 1 }
bytes_out = { factor = 4, m = 1 }
[[link]]
name = "bus"
bytes_per_s = 6e9
[[device]]
name = "core"
kind = "cpu"
[device.kernel.matmul]
rate = 1e10
[[device]]
name = "card"
kind = "cuda"
link = "bus"
memory_bytes = 2e9
[device.kernel.matmul]
rate = 2e11
half_saturation = 16
[[node]]
name = "home"
devices = { "core" = 2 }
network = { bytes_per_s = 1e9, latency_s = 1e-5 }
[[node]]
name = "cards"
count = 2
devices = { "card" = 2, "core" = 1 }
network = { bytes_per_s = 1e9, latency_s = 1e-5 }
END
# on PLATFORM PROGRAM ARGUMENTS: under a time limit, which ends what hangs
on() { timeout -k 5 120 "$apportion" platform "$@"; }
# checks of JSON on standard input: each argument is an expression
holds() {
    python3 -c '
import json, sys
j = json.load(sys.stdin)
for check in sys.argv[1:]:
    if not eval(check): sys.exit("does not hold: %s in %.2000s" % (check, json.dumps(j)))' "$@"
}

on "$folder/three.toml" "$apps/matmul" --size 2048 --json >"$folder/one" 2>"$folder/err" || fail "matmul: $(tail -3 "$folder/err")"
holds 'sum(p["units"] for p in j["report"]["processors"]) == 2048' 'len(j["report"]["nodes"]) == 3' \
    '[p["name"] for p in j["report"]["processors"]] == ["node 0 (home)", "node 1 (cards-1)", "node 2 (cards-2)"]' \
    '[len(n["processors"]) for n in j["report"]["nodes"]] == [2, 3, 3]' 'j["verified"] is None' \
    'j["policy"] == "plb-hec/plb-hec"' 'j["report"]["network"]["bytes"] >= j["report"]["network"]["least_bytes"] > 0' \
    <"$folder/one" || fail "the report of matmul"
# Virtual time is the same again, whatever the machine does and the environment says of it.
STARPU_NCPU=1 STARPU_HOSTNAME=another on "$folder/three.toml" "$apps/matmul" --size 2048 --json 2>"$folder/err" | cat >"$folder/two"
[ "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["runs"] == json.load(open(sys.argv[2]))["runs"])' \
    "$folder/one" "$folder/two")" = True ] || fail "another time: $(cat "$folder/one" "$folder/two")"

for arguments in 'blackscholes --size 1000000' 'grn --size 2000' 'fft2d --size 1024' 'jacobi_batch --size 64,128' \
    'jacobi --size 4096' 'mpdata --size 256,64,64 --steps 10' 'matmul --size 1024 --repeat 3'; do
    on plbhec-nodes "$apps/"$arguments --json >"$folder/out" 2>"$folder/err" || fail "$arguments: $(tail -3 "$folder/err")"
    holds 'j["seconds"] > 0' 'j["nodes"] == 4' <"$folder/out" || fail "$arguments"
done
for outer in equal gss greedy awf-c hdss acosta fpm-dynamic; do
    for inner in plb-hec dmda; do
        APPORTION_NODES=$outer STARPU_SCHED=$inner on "$folder/three.toml" "$apps/matmul" --size 1024 --json \
            >"$folder/out" 2>"$folder/err" || fail "$outer/$inner: $(tail -3 "$folder/err")"
        holds "j['policy'] == '$outer/$inner'" 'sum(p["units"] for p in j["report"]["processors"]) == 1024' \
            <"$folder/out" || fail "$outer/$inner"
    done
done
on unlike-16 "$apps/blackscholes" --size 2000000 --json >"$folder/out" 2>"$folder/err" || fail "16 nodes: $(tail -3 "$folder/err")"
holds 'j["nodes"] == 16' 'sum(p["units"] for p in j["report"]["processors"]) == 2000000' <"$folder/out" || fail "16 nodes"

# A node that becomes three or twenty times slower at 30 % of the healthy run: what is possible then, by the speeds of that
# run, is missed by a fifth at most.
on "$folder/three.toml" "$apps/matmul" --size 8192 --json >"$folder/healthy" 2>"$folder/err" || fail "healthy: $(tail -3 "$folder/err")"
from_s=$(python3 -c 'import json, sys; print(0.3 * json.load(sys.stdin)["seconds"])' <"$folder/healthy")
for factor in 3 20; do
    sed 's/^count = 2$/count = 1/' "$folder/three.toml" >"$folder/slower.toml"
    cat >>"$folder/slower.toml" <<END
[[node]]
name = "slower"
devices = { "card" = 2, "core" = 1 }
network = { bytes_per_s = 1e9, latency_s = 1e-5 }
drift = { factor = $factor, from_s = $from_s }
END
    on "$folder/slower.toml" "$apps/matmul" --size 8192 --json >"$folder/out" 2>"$folder/err" || fail "slower: $(tail -3 "$folder/err")"
    python3 - "$folder/healthy" "$folder/out" $factor "$from_s" <<'END' || fail "a node $factor times slower"
import json, sys
healthy, slower = (json.load(open(file)) for file in sys.argv[1:3])
factor, from_s = map(float, sys.argv[3:5])
units, node = healthy["report"]["units"], healthy["report"]["processors"][2]["units"]
lost_speed = node / healthy["seconds"] * (1 - 1 / factor)
best_s = (units - lost_speed * from_s) / (units / healthy["seconds"] - lost_speed)
print(f"{factor:g} times slower: {slower['seconds'] / best_s:.3f} of the best possible")
if slower["seconds"] > 1.2 * best_s: sys.exit(f"{slower['seconds']:.4g} s, the best possible is {best_s:.4g} s")
END
done

# A node that was lost, 200 times slower from some moment on, is a line with the reason below the table; the report's note
# names it.
sed '/^drift/d' "$folder/slower.toml" >"$folder/lost.toml"
echo 'drift = { factor = 200, from_s = 0.02 }' >>"$folder/lost.toml"
lost() { APPORTION_NODES=greedy on "$folder/lost.toml" "$apps/matmul" --size 2048 "$@" >"$folder/out" 2>"$folder/err" || fail "lost: $(tail -3 "$folder/err")"; }
lost
grep -q '^  node 2 (slower) got no more blocks from .* s on: units .* not computed after .* s$' "$folder/out" || fail "lost: $(cat "$folder/out")"
lost --json
holds 'j["report"]["note"].endswith("node 2 (slower) got nothing more from some moment on, see lost_processors")' <"$folder/out" || fail "the note"

# A load that is nearly over before a message could come back runs in few grants when it runs again.
on unlike-4 "$apps/blackscholes" --size 3000 --repeat 4 --json >"$folder/out" 2>"$folder/err" || fail "a small load: $(tail -3 "$folder/err")"
holds 'max(j["runs"][1:]) < 0.6 * j["runs"][0]' 'j["report"]["blocks"] <= 4' 'j["report"]["units"] == 3000' \
    <"$folder/out" || fail "a small load"

# A node behind a slow network, whose input alone travels for 67 s under equal, keeps nobody waiting much longer than
# what was sent when the others were done.
sed -e 's/^count = 2$/count = 1/' "$folder/three.toml" >"$folder/slow.toml"
cat >>"$folder/slow.toml" <<'END'
[[node]]
name = "far"
devices = { "card" = 2, "core" = 1 }
network = { bytes_per_s = 1e6, latency_s = 1e-3 }
END
on "$folder/slow.toml" "$apps/matmul" --size 8192 --json >"$folder/out" 2>"$folder/err" || fail "slow network: $(tail -3 "$folder/err")"
python3 - "$folder/healthy" "$folder/out" <<'END' || fail "slow network: $(tail -3 "$folder/err")"
import json, sys
healthy, slow = (json.load(open(file)) for file in sys.argv[1:3])
sent_s = slow["report"]["units"] / 64 / 3 * 2 * 8192 * 4 / 1e6  # a first grant, of the second node of its kind
if not slow["seconds"] < 1.5 * healthy["seconds"] + 1.5 * sent_s:
    sys.exit(f"{slow['seconds']} s, {healthy['seconds']} s with another network")
END
APPORTION_NODES=equal on "$folder/slow.toml" "$apps/matmul" --size 8192 --json >"$folder/out" 2>"$folder/err" ||
    fail "slow network under equal: $(tail -3 "$folder/err")"
holds 'j["seconds"] < 100' 'sum(p["units"] for p in j["report"]["processors"]) == 8192' <"$folder/out" ||
    fail "slow network under equal"

# A comparison, with policies that plan from true times; nothing is faster than the bound.
timeout -k 5 300 "$apportion" compare --platform "$folder/three.toml" --app matmul --size 2048 --policies plb-hec,equal,cpm,hpopta \
    --json >"$folder/out" 2>"$folder/err" || fail "compare: $(tail -3 "$folder/err")"
holds 'sorted(c["policy"] for c in j["runs"]) == ["cpm", "equal", "hpopta", "plb-hec"]' \
    'all(t >= j["lower_bound_seconds"] for c in j["runs"] for t in [c["makespan_seconds"]["min"]])' <"$folder/out" || fail "compare"

# Where the policy inside of nodes plans from true times, too: the run that tells which processors there are does not.
STARPU_SCHED=hpopta timeout -k 5 300 "$apportion" compare --platform "$folder/three.toml" --app matmul --size 2048 --policies hpopta \
    --json >"$folder/out" 2>"$folder/err" || fail "compare inside of nodes: $(tail -3 "$folder/err")"
holds 'j["runs"][0]["makespan_seconds"]["median"] >= j["lower_bound_seconds"]' <"$folder/out" || fail "compare inside of nodes"

# Processors whose times rise and fall: a node is granted what its processors together are fast for, so that the run takes
# what hpopta plans for all processors of both nodes at once.
cat >"$folder/jagged.toml" <<'END'
[kernel.matmul]
work = { factor = 2, m = 1, k = 1 }
[[device]]
name = "core 0"
kind = "cpu"
[device.kernel.matmul]
table = "core0.csv"
[[device]]
name = "core 1"
kind = "cpu"
[device.kernel.matmul]
table = "core1.csv"
[[node]]
name = "node"
count = 2
devices = { "core 0" = 1, "core 1" = 1 }
network = { bytes_per_s = 1e12, latency_s = 1e-7 }
END
python3 - "$folder" <<'END'
import sys
folder = sys.argv[1]
node, both = (open(f"{folder}/{name}.csv", "w") for name in ("node", "both"))
for file in node, both: print("processor,units,seconds", file=file)
for core in 0, 1:
    with open(f"{folder}/core{core}.csv", "w") as table:
        print("units,seconds", file=table)
        for units in range(4, 513, 4):
            seconds = 1e-3 * units * (1 + core) * (1 + units // 4 * (7 + 4 * core) % 16 / 8)
            print(f"{units},{seconds:.9f}", file=table)
            print(f"CPU {core},{units},{seconds:.9f}", file=node)
            for k in 0, 1: print(f"{k}/{core},{units},{seconds:.9f}", file=both)
END
APPORTION_NODES=hpopta STARPU_SCHED=hpopta APPORTION_PROFILES="$folder/node.csv" on "$folder/jagged.toml" "$apps/matmul" --size 64,512,64 --json \
    >"$folder/out" 2>"$folder/err" || fail "jagged: $(tail -3 "$folder/err")"
planned=$("$apportion" plan --profiles "$folder/both.csv" --units 512 --algorithm hpopta --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["makespan_seconds"])')
holds "j['seconds'] <= 1.01 * $planned" <"$folder/out" || fail "two levels of hpopta: more than the $planned s planned"

# words of the sentence on standard error, which comes once, then the command
refused() {
    local words=$1 status=0
    shift
    "$@" >"$folder/out" 2>"$folder/err" || status=$?
    [ $status != 0 ] && [ $status != 124 ] && [ $status != 137 ] || fail "status $status: $*"
    [ "$(grep -c "$words" "$folder/err")" = 1 ] || fail "not said once, '$words': $*: $(cat "$folder/err")"
}
refused 'give --size' on "$folder/three.toml" "$apps/matmul"
refused 'size 12,x' on "$folder/three.toml" "$apps/matmul" --size 12,x
refused 'STARPU_SCHED=nonsense' env STARPU_SCHED=nonsense timeout -k 5 60 "$apportion" platform "$folder/three.toml" "$apps/matmul" --size 64
refused 'APPORTION_NODES' env APPORTION_NODES=nonsense timeout -k 5 60 "$apportion" platform "$folder/three.toml" "$apps/matmul" --size 64
refused 'blackscholes' on "$folder/three.toml" "$apps/blackscholes" --size 64
refused 'white space' on "$folder/three.toml" "$apps/matmul" --a "a b"
[ $failed = 0 ]
