// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the blocks of one processor took, block by block, over the runs of many processes: a bounded number of sizes
// with their mean times. It follows the processor: of one size the latest block counts a quarter at least, a time that
// contradicts what is known is set aside as a spike unless the next one does, too, and then all older ones go.
#pragma once

#include <optional>
#include <vector>

#include "models/profile_file.hpp"

namespace apportion {

class LearntTimes {
  public:
    static constexpr std::size_t kMostSizes = 32;  ///< then the two nearest ones become one

    LearntTimes() = default;
    /// As of an earlier process: by ascending units, as ProcessorProfile::points.
    explicit LearntTimes(std::vector<ProfilePoint> points);

    /// A block; in_s and out_s are 0 where its transfers were not seen. Skipped: times that are not positive and
    /// finite. O(sizes).
    void add(const ProfilePoint& block);

    /// The process ends. If nothing agreed with what was known before, its only block is believed.
    void end_process();

    const std::vector<ProfilePoint>& points() const { return points_; }

  private:
    bool contradicts(const ProfilePoint& block) const;
    void merge(const ProfilePoint& block);
    void join_nearest_sizes();

    std::vector<ProfilePoint> points_;
    std::optional<ProfilePoint> suspect_;  ///< a spike unless the next block confirms it
    bool agreed_ = false;                  ///< a block of this process did, or there was nothing to agree with
};

/// Seconds of a block by the line through the neighbouring sizes; below the smallest and beyond the largest the speed
/// stays. `points`: by ascending units, at least one.
double interpolated_seconds(const std::vector<ProfilePoint>& points, double units);

}  // namespace apportion
