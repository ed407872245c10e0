// SPDX-License-Identifier: LGPL-2.1-or-later
//
// One process is all there is. Where mpirun started several, each would compute everything: an error.
#include <cstdlib>

#include "apps/app.hpp"
#include "apps/nodes.hpp"

namespace apportion {

namespace {

/// What mpirun tells the processes that it starts, Open MPI's or MPICH's.
int number(const char* open_mpi, const char* mpich) {
    const char* text = std::getenv(open_mpi);
    if (!text) text = std::getenv(mpich);
    return text ? std::atoi(text) : 0;
}

class Alone final : public Nodes {
  public:
    Alone() {
        if (number("OMPI_COMM_WORLD_SIZE", "PMI_SIZE") < 2) return;
        if (number("OMPI_COMM_WORLD_RANK", "PMI_RANK") > 0) std::exit(2);  // one of them says it
        throw UsageError(
            "this program runs on one node, and mpirun started several processes of it, each of which would compute "
            "everything; take the program of the flavour mpi (tools/build mpi, build/mpi/apps)");
    }
};

}  // namespace

Nodes& Nodes::here() {
    static Alone alone;
    return alone;
}

void Nodes::start() { Error::check(apportion_init(nullptr)); }

void Nodes::stop() { apportion_shutdown(); }

}  // namespace apportion
