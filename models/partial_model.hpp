// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A partial functional performance model: the piecewise linear speed function through the few points that were measured
// so far, while an application runs (FuPerMod, section 4: dynamic partitioning and load balancing). It is good near
// these points, which is where the partitioning looks next.
//
// Beyond the paper, which takes every measurement for the truth: measurements of about one size are averaged, the
// latest few of them; and one that contradicts the model where it is known is set aside as a spike, unless the next one
// says the same. Then the processor has changed, and what was measured before goes. Believed as printed, every
// measurement is a point; of several of exactly one size, their mean, as a function has one speed for a size.
#pragma once

#include <optional>
#include <vector>

#include "models/piecewise_linear.hpp"

namespace apportion {

class PartialModel {
  public:
    enum class Verdict { used, spike, changed };
    enum class Belief { judged, as_printed };

    explicit PartialModel(Belief belief = Belief::judged) : belief_(belief) {}

    /// Samples that are not positive and finite are spikes.
    Verdict add(const BlockTime& sample);

    const std::optional<PiecewiseLinear>& function() const { return function_; }
    int samples() const { return static_cast<int>(samples_.size()); }

  private:
    bool contradicts(const BlockTime& sample) const;
    void rebuild();

    Belief belief_;
    std::vector<BlockTime> samples_;  ///< oldest first; as printed, by size
    std::optional<BlockTime> suspect_;
    std::optional<PiecewiseLinear> function_;
};

}  // namespace apportion
