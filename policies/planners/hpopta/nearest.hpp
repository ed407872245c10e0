// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which of several optimal distributions `hpopta` takes: the one that moves the fewest units from a given distribution,
// then the one whose second-largest time is smallest. A dynamic programme over the processors and the deficits, the
// units that they give back of their largest sizes; run only where there is a choice.
#pragma once

#include <span>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

/// A size that a processor may take, and its time: 0 units take 0 seconds.
struct ShareOption {
    Units share;
    double seconds;
};

/// Of the distributions of `units` that take one of options[i] for each processor i, the best one as told above, when
/// all of them have the same largest time. Moved units are the sum of |share - previous share|. `options[i]` ascend and
/// begin with 0 units; `previous` has a share for each processor or is empty. Where that would take more than
/// `most_steps` additions, the best one with fewer units moved than it had time to look at, or nothing.
std::vector<Units> nearest_shares(std::span<const std::vector<ShareOption>> options, Units units,
                                  std::span<const Units> previous, double most_steps);

}  // namespace apportion
