#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# own_program.sh AXPY_OVER_NODES: a user's program over nodes, whose data are vectors or rows of a matrix; ranks that are
# slow, late, fail or differ.
. "$(dirname "$0")/run_nodes.sh"
axpy=$1
# lost nodes, at least (on a busy machine healthy ones may be late), then arguments of nodes
right() {
    local lost=$1 said
    shift
    said=$(nodes "$@" 2>&1) || { fail "status $?: $*: $said"; return; }
    [ "$(grep -c 'nodes, [0-9]* lost' <<<"$said")" = 2 ] || fail "no two runs: $*: $said"
    [ "$(sed -n 's/.*nodes, \([0-9]*\) lost.*/\1/p' <<<"$said" | sort -n | tail -1)" -ge "$lost" ] || fail "not $lost lost: $*: $said"
}
for policy in plb-hec equal greedy acosta hdss fpm-dynamic; do
    for inner in plb-hec eager; do
        right 0 -np 3 env APPORTION_NODES=$policy STARPU_SCHED=$inner "$axpy" 500
    done
done
for units in 0 1 2 7; do right 0 -np 3 "$axpy" $units; done
right 0 -np 3 "$axpy" 400 rows
right 0 -np 1 "$axpy" 400 rows
right 0 -np 3 "$axpy" 1000 uses
right 0 -np 2 "$axpy" 400 'fewer options'
right 0 -np 3 "$axpy" 2000 slow 1
for outer in plb-hec gss; do right 0 -np 3 env APPORTION_NODES=$outer "$axpy" 400 letter; done
right 0 -np 1 "$axpy" 400 letter
nodes -np 1 env -u STARPU_SILENT -u STARPU_NCPU -u STARPU_MPI_NOBIND "$axpy" 7 >"$folder/out" 2>&1 && ! grep 'MPI' "$folder/out" ||
    fail "one rank, for which StarPU-MPI has no core: $(cat "$folder/out")"
# Under greedy grants are many, so that the failing and the late node have some.
right 1 -np 3 env APPORTION_NODES=greedy "$axpy" 2000 fails 1
right 1 -np 3 env APPORTION_NODES=greedy STARPU_SCHED=greedy "$axpy" 2000 fails 0
right 1 -np 3 env APPORTION_NODES=greedy STARPU_SCHED=greedy "$axpy" 3000 late 2
# Its own load gives up a block, which its run waits for.
right 1 -np 2 env STARPU_NCPU=2 APPORTION_STALL_FACTOR=4 APPORTION_NODES=greedy STARPU_SCHED=greedy "$axpy" 2000 stalls 1
# One core, which nobody there can tell to stall, has as long as a block that stalls and is given up.
right 1 -np 2 env APPORTION_STALL_FACTOR=5 APPORTION_NODES=greedy STARPU_SCHED=greedy "$axpy" 2000 stalls 1
# What a task stores that was given up reaches no other load's input.
right 0 -np 2 env STARPU_NCPU=2 APPORTION_STALL_FACTOR=4 APPORTION_NODES=equal STARPU_SCHED=greedy "$axpy" 2000 'stores late' 1
refused "rank 1 .*a task of load 'axpy' that was given up has not ended after another .* it hangs" -np 2 \
    env STARPU_NCPU=2 APPORTION_STALL_FACTOR=2 APPORTION_NODES=greedy STARPU_SCHED=greedy "$axpy" 2000 'task hangs' 1
# Another core computes its block, and whatever begins next does not wait forever for who hangs.
refused "rank 1 .*a task of load 'axpy' that was given up has not ended after another .* it hangs" -np 2 \
    env STARPU_NCPU=2 APPORTION_STALL_FACTOR=2 APPORTION_NODES=greedy STARPU_SCHED=greedy "$axpy" 2000 'stays and hangs' 1
refused 'node 0 .*not finished' -np 2 env STARPU_NCPU=2 APPORTION_STALL_FACTOR=4 APPORTION_NODES=greedy STARPU_SCHED=greedy "$axpy" 2000 stalls 0
right 0 -np 1 env STARPU_NCPU=2 STARPU_SCHED=greedy "$axpy" 2000 stays 0
for inner in greedy eager; do right 1 -np 3 env APPORTION_NODES=greedy STARPU_SCHED=$inner "$axpy" 2000 unfilled 1; done

refused 'ranks 0 and 1 do not run the same load: arrays\|ranks 0 and 1 do not run the same load: units' -np 3 "$axpy" 500 differs 1
refused 'rank 2 .*none of the context.s 1 worker can run codelet' -np 3 "$axpy" 500 unable 2
refused 'rank 0 calls apportion_mpi_share of 8 bytes, and rank 1 calls apportion_mpi_share of 16 bytes' -np 3 "$axpy" 500 'shares more' 1
refused 'rank 2 calls apportion_mpi_share of 8 bytes at NULL' -np 3 "$axpy" 500 'shares nothing' 2
refused 'apportion_mpi_init has been called before' -np 2 "$axpy" 500 'starts twice'
refused 'arrays.0. and arrays.1., .*changes its data in place' -np 2 "$axpy" 500 'in place'
refused 'arrays.0.: stride must be .* no less than a piece of all units' -np 2 "$axpy" 500 'dense rows'
refused 'the program has started StarPU-MPI itself' -np 2 "$axpy" 500 'starts StarPU-MPI'
# Ranks that call different things, or end, where the others go on: no rank waits forever.
refused 'rank 0 calls apportion_mpi_load_create, and rank 1 calls apportion_mpi_share of 8 bytes; all ranks must' -np 3 "$axpy" 500 'shares again' 1
refused "rank 0 calls apportion_mpi_load_run of load 1 ('axpy'), and rank 2 calls apportion_mpi_shutdown" -np 3 "$axpy" 500 'ends early' 2
refused 'no node is left to compute' -np 1 env STARPU_SCHED=greedy "$axpy" 500 fails 0
# What goes wrong on one rank alone, where the others wait for it.
refused 'apportion: no thread can be had for the watch' -np 2 "$axpy" 500 'no threads' 0
# A worker that calls exit(), as macros that check CUDA's status do: the other threads go on, and the status is its own.
for rank in 0 0 0 0 1 2; do
    status=0
    nodes -np 3 env APPORTION_NODES=greedy STARPU_SCHED=greedy "$axpy" 2000 exits $rank >"$folder/out" 2>&1 || status=$?
    [ $status = 7 ] || fail "a worker of rank $rank exits, and the status is $status: $(cat "$folder/out")"
done
# A node that stops altogether: others compute what it had, and the job ends with its name.
refused 'apportion: node 1 .* has not answered for 3 s: it hangs' -np 3 env APPORTION_STALL_FACTOR=2 "$axpy" 500 hangs 1
[ $failed = 0 ]
