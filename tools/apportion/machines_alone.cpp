// SPDX-License-Identifier: LGPL-2.1-or-later
#include <cstdlib>

#include "codelets/common/mpirun.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/machines.hpp"

namespace apportion {

Machines& Machines::here() {
    if (const MpirunProcess here = mpirun_process(); here.count > 1) {
        if (here.rank > 0) std::exit(2);  // one of them says it
        throw UserError(
            "mpirun started several processes of a program that measures one machine; take that of the flavour mpi "
            "(tools/build mpi, build/mpi/tools/apportion)");
    }
    static Machines alone;
    return alone;
}

}  // namespace apportion
