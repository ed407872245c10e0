// SPDX-License-Identifier: LGPL-2.1-or-later
//
// MPI as this library uses it: a communicator of its own for what all ranks do together, which is agreeing on errors,
// telling what rank 0 knows, and gathering small facts; and one for StarPU-MPI's messages about grants and their data,
// so that they do not meet those of the program.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace apportion {

class World {
  public:
    /// The process's; starts MPI if it is not running. Throws ApiError when it cannot be used.
    static World& get();
    /// Ends MPI if get() started it.
    static void finish();

    int rank() const { return rank_; }
    int size() const { return size_; }
    MPI_Comm of_grants() const { return of_grants_; }

    /// The sentence of the lowest rank whose `problem` is not empty; empty: all are well.
    std::string agreed_problem(const std::string& problem) const;
    void share(void* data, std::size_t bytes) const;
    /// Every rank's text, on all ranks.
    std::vector<std::string> gather(const std::string& text) const;

  private:
    World();

    MPI_Comm common_ = MPI_COMM_NULL, of_grants_ = MPI_COMM_NULL;
    int rank_ = 0, size_ = 1;
    bool started_here_ = false;
};

}  // namespace apportion
