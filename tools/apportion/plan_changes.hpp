// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What if the machine were another one: a profile without some of its processors, with more of them, or with faster or
// slower ones.
#pragma once

#include <string>
#include <vector>

#include "models/profile_file.hpp"

namespace apportion {

struct MachineChanges {
    std::vector<std::string> without;  ///< processors that are not there
    std::vector<std::string> add;      ///< processors that there is one more of, each time they are named
    std::vector<std::string> scale;    ///< "PROCESSOR=F": its kernels are F times as fast; transfers stay

    bool empty() const { return without.empty() && add.empty() && scale.empty(); }
};

/// Scaled first, so that what is added is as fast as what it is like. Throws UserError: there is no such processor, a
/// factor is none, or no processor is left.
Profile changed_profile(const Profile& profile, const MachineChanges& changes);

}  // namespace apportion
