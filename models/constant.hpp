// SPDX-License-Identifier: LGPL-2.1-or-later
//
// CPM, the constant performance model (FuPerMod, section 4): one measured point gives the speed for all sizes. Right
// where the data fit one memory level at every size; elsewhere a share is wrong by as much as the speed changes.
#pragma once

#include "models/time_function.hpp"

namespace apportion {

class Constant final : public SpeedFunction {
  public:
    /// `reference`: the one point, units > 0 and seconds > 0.
    explicit Constant(const BlockTime& reference)
        : reference_units_(reference.units), speed_(reference.units / reference.seconds) {}

    /// The speed at the measured size nearest to `units`; nothing without a valid sample.
    static std::optional<Constant> at(std::span<const BlockTime> samples, double units);

    double speed(double) const override { return speed_; }
    double speed_slope(double) const override { return 0; }
    std::optional<double> units_within(double seconds) const override { return seconds * speed_; }
    MeasuredRange range() const override { return {reference_units_, reference_units_}; }

  private:
    double reference_units_;
    double speed_;
};

}  // namespace apportion
