// SPDX-License-Identifier: LGPL-2.1-or-later
//
// equal: every processor gets n / p units, in as few blocks as its memory allows. Needs no model; right for identical
// processors, and the yardstick for all others (paper 000, section 6).
#include <algorithm>

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
        const auto processors = static_cast<Units>(load.processors.size());
        const Units granules = (load.units + granularity_ - 1) / granularity_;
        left_.clear();
        for (Units p = 0; p < processors; ++p)
            left_.push_back((granules / processors + (p < granules % processors ? 1 : 0)) * granularity_);
    }

    Units next_block(int processor, double, const Progress& progress) override {
        const auto p = static_cast<std::size_t>(processor);
        if (left_[p] <= 0) left_[p] = abandoned(progress);
        const Units units = std::min({left_[p], std::max(memory_[p], granularity_), progress.room(processor)});
        left_[p] -= units;
        return units;
    }

  private:
    /// An equal part of what a lost processor gave back or will never ask for.
    /// Processors that run always have a block in flight while they have units left.
    Units abandoned(const Progress& progress) {
        const auto part = [this](Units units) {
            const Units granules = (units + granularity_ - 1) / granularity_;
            const auto processors = static_cast<Units>(left_.size());
            return (granules + processors - 1) / processors * granularity_;
        };
        Units planned = 0;
        for (std::size_t q = 0; q < left_.size(); ++q) {
            const int other = static_cast<int>(q);
            if (left_[q] > 0 && progress.in_flight(other).empty()) {
                const Units taken = part(left_[q]);
                left_[q] -= std::min(taken, left_[q]);
                return taken;
            }
            planned += left_[q];
        }
        return progress.remaining() > planned ? part(progress.remaining() - planned) : 0;
    }

    Units granularity_ = 1;
    std::vector<Units> memory_;
    std::vector<Units> left_;  ///< of each processor's share
};

}  // namespace

extern const char* const describe_equal;
const char* const describe_equal = "equal shares for all processors, in as few blocks as memory allows";

std::unique_ptr<Policy> make_equal() { return std::make_unique<Equal>(); }

}  // namespace apportion
