// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What mpirun tells the processes that it starts: Open MPI's and MPICH's, and Slurm's srun only that it does.
#pragma once

#include <cstdlib>

namespace apportion {

inline bool started_by_mpirun() {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
        if (std::getenv(name)) return true;
    return false;
}

struct MpirunProcess {
    int count = 0, rank = 0;  ///< count 0: not started by an mpirun that tells
};

inline MpirunProcess mpirun_process() {
    const auto number = [](const char* open_mpi, const char* mpich) {
        const char* text = std::getenv(open_mpi);
        if (!text) text = std::getenv(mpich);
        return text ? std::atoi(text) : 0;
    };
    return {number("OMPI_COMM_WORLD_SIZE", "PMI_SIZE"), number("OMPI_COMM_WORLD_RANK", "PMI_RANK")};
}

}  // namespace apportion
