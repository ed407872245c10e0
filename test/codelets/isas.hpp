// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <vector>

#include "codelets/common/isa.hpp"

namespace apportion {

/// Those that this processor has and kernels are compiled for.
inline std::vector<Isa> isas() {
    std::vector<Isa> result{Isa::generic};
    if (best_isa() != Isa::generic) result.push_back(Isa::v3);
    if (best_isa() == Isa::v4) result.push_back(Isa::v4);
    return result;
}

}  // namespace apportion
