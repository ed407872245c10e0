// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How ranks do something together: agree on errors, tell what rank 0 knows, and gather small facts.
//
// By MPI (world.cpp) on a communicator of its own; StarPU-MPI's messages about grants and their data have another, so
// that they do not meet those of the program. In a simulation (world_simulated.cpp) MPI belongs to StarPU-MPI, which
// knows one communicator, so that what is said travels as StarPU-MPI's handles. Before StarPU-MPI runs there nothing
// can be said, and need not be: ranks are parts of one process, started by one command line, and find the same things
// wrong.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace apportion {

class World {
  public:
    /// The process's; starts MPI if it is not running. Throws ApiError when it cannot be used.
    static World& get();
    /// StarPU runs: starts StarPU-MPI. Empty, or what is wrong.
    std::string start_starpu_mpi();
    /// This process's rank and the number of ranks. Asks no other rank where MPI runs.
    static std::pair<int, int> rank_and_size();
    /// Whether get() has started it, or found it running, and finish() has not ended it.
    static bool runs();
    /// Ends StarPU-MPI if it runs.
    static void stop_starpu_mpi();
    /// Ends MPI if get() started it.
    static void finish();
    /// Ends all ranks.
    [[noreturn]] static void abort();

    int rank() const { return rank_; }
    int size() const { return size_; }
    MPI_Comm of_grants() const { return of_grants_; }

    /// Whether StarPU-MPI's thread needs a core of this machine.
    static bool takes_core();

    /// All ranks have come to the same call; otherwise throws ApiError, the same on all of them. In a simulation ranks
    /// run one program with one command line, and nothing is asked.
    void meet(const std::string& call) const;
    void share(void* data, std::size_t bytes) const;
    /// Every rank's text, on all ranks.
    std::vector<std::string> gather(const std::string& text) const;

  private:
    World();

    MPI_Comm common_ = MPI_COMM_NULL, of_grants_ = MPI_COMM_NULL;
    int rank_ = 0, size_ = 1;
    bool started_here_ = false;
    bool starpu_mpi_runs_ = false;
    mutable std::int64_t tag_ = 0;  ///< of the next message, the same on all ranks; in a simulation
};

}  // namespace apportion
