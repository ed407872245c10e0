// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the blocks of one processor took, block by block, over the runs of many processes: a bounded number of sizes
// with their mean times. It follows the processor: of one size the latest block counts a quarter at least. Blocks that
// contradict what is known are set aside, and decide nothing until the process ends. Either blocks agree with what is
// known again meanwhile: then something was in the processor's way, and nothing is forgotten. Or two at least went on
// contradicting it up to the end: then the processor is another one now. What they took replaces all sizes among them,
// and sizes that they did not reach become slower in proportion, or as fast as the nearest of them, so that a few small
// blocks never cost what is known of large ones.
#pragma once

#include <vector>

#include "models/profile.hpp"

namespace apportion {

class LearntTimes {
  public:
    static constexpr std::size_t kMostSizes = 32;  ///< then the two nearest ones become one

    LearntTimes() = default;
    /// As of an earlier process: by ascending units, as ProcessorProfile::points.
    explicit LearntTimes(std::vector<ProfilePoint> points);

    /// A block; in_s and out_s are 0 where its transfers were not seen. Skipped: times that are not positive and
    /// finite, and units that no profile can hold. O(sizes).
    void add(const ProfilePoint& block);

    /// The process ends: decides on the blocks that were set aside. If nothing agreed with what was known before, a
    /// single one of them is believed.
    void end_process();

    const std::vector<ProfilePoint>& points() const { return points_; }

  private:
    std::vector<ProfilePoint> points_;
    std::vector<ProfilePoint> aside_;  ///< times since a block contradicted points_; empty: none does
    int contradicting_ = 0;            ///< blocks among them
    bool agreed_ = false;              ///< a block of this process did not contradict
};

/// Seconds of a block by the line through the neighbouring sizes; beyond the largest the speed stays, below the
/// smallest fixed costs do (LineBelow). `points`: by ascending units, at least one.
double interpolated_seconds(const std::vector<ProfilePoint>& points, double units);

}  // namespace apportion
