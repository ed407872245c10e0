// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How long a load would take under a policy if its blocks took the recorded times: the policy decides about the same
// blocks as in earnest, in the same flow, and only the clock is virtual. So no policy needs a prediction of its own.
//
// A block's data travel over the processor's link as recorded_links() knows it, one block after the other, while the
// block before is computed; so do results, each direction held up by what goes the other way.
#pragma once

#include <vector>

#include "models/piecewise_linear.hpp"
#include "policies/policy.hpp"

namespace apportion {

/// Seconds until the last result is in main memory; infinite when the policy refuses the load (PolicyError).
/// `functions`: one per processor.
double virtual_makespan(const LoadDescription& load, Policy& policy, const std::vector<PiecewiseLinear>& functions);

}  // namespace apportion
