// SPDX-License-Identifier: LGPL-2.1-or-later
//
// One process is all there is. Where mpirun started several, each would compute everything: an error.
#include <cstdlib>

#include "apps/app.hpp"
#include "apps/nodes.hpp"
#include "codelets/common/mpirun.hpp"

namespace apportion {

namespace {

class Alone final : public Nodes {
  public:
    Alone() {
        const MpirunProcess here = mpirun_process();
        if (here.count < 2) return;
        if (here.rank > 0) std::exit(2);  // one of them says it
        throw UserError(
            "this program runs on one node, and mpirun started several processes of it, each of which would compute "
            "everything; take the program of the flavour mpi (tools/build mpi, build/mpi/apps)");
    }
};

}  // namespace

Nodes& Nodes::here() {
    static Alone alone;
    return alone;
}

}  // namespace apportion
