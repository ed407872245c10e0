// SPDX-License-Identifier: LGPL-2.1-or-later
//
// equal: every processor gets n / p units, in as few blocks as its memory allows. Needs no model; right for identical
// processors, and the yardstick for all others (HPOPTA's paper, section 6).
#include <algorithm>
#include <numeric>

#include "policies/policy.hpp"

namespace apportion {

namespace {

class Equal final : public Policy {
  public:
    void begin(const LoadDescription& load) override {
        granularity_ = load.granularity;
        memory_.clear();
        for (const Processor& processor : load.processors) memory_.push_back(processor.memory_units);
        // Whole granules, the first processors get one more where they do not divide.
        left_.assign(load.processors.size(), 0);
        lost_.assign(load.processors.size(), false);
        if (!load.open) units_added(load.units);
    }

    void units_added(Units units) override {
        const auto processors = static_cast<Units>(std::ranges::count(lost_, false));
        if (processors == 0) return;
        const Units granules = quotient_up(units, granularity_);
        Units number = 0;
        for (std::size_t p = 0; p < left_.size(); ++p) {
            if (lost_[p]) continue;
            left_[p] += (granules / processors + (number < granules % processors ? 1 : 0)) * granularity_;
            ++number;
        }
    }

    Units next_block(int processor, double, const Progress& progress) override {
        const auto p = static_cast<std::size_t>(processor);
        if (left_[p] <= 0 && !lost_[p]) left_[p] = abandoned(progress);
        const Units units = std::min({left_[p], std::max(memory_[p], granularity_), progress.room(processor)});
        left_[p] -= units;
        return units;
    }

    void processor_lost(int processor) override {
        left_[static_cast<std::size_t>(processor)] = 0;
        lost_[static_cast<std::size_t>(processor)] = true;
    }

  private:
    /// An equal part of what lost processors left, for those that are there.
    Units abandoned(const Progress& progress) const {
        const Units units = progress.remaining() - std::accumulate(left_.begin(), left_.end(), Units{0});
        if (units <= 0) return 0;
        const auto processors = static_cast<Units>(std::ranges::count(lost_, false));
        return quotient_up(quotient_up(units, granularity_), processors) * granularity_;
    }

    Units granularity_ = 1;
    std::vector<Units> memory_;
    std::vector<Units> left_;  ///< of each processor's share
    std::vector<bool> lost_;
};

}  // namespace

extern const PolicyEntry equal_policy{
    .name = "equal",
    .description = "equal shares for all processors, in as few blocks as memory allows",
    .make = make_policy<Equal>};

}  // namespace apportion
