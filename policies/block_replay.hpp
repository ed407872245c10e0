// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Repeats the blocks of the previous run of a load, so that in iterative applications the data stay where they are.
// Does so while it pays: the run it repeats was planned with models, all its processors finished within the threshold
// of each other, no run since took longer by more than the threshold, and nobody was lost.
#pragma once

#include <deque>
#include <limits>
#include <optional>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

class BlockReplay {
  public:
    /// A run begins; `planned`: it will be with models of all processors, so that it is worth repeating.
    void begin(const LoadDescription& load, bool planned);

    /// Units of the processor's next block (0: nothing now), or nothing when the run is not, or no longer, a
    /// repetition.
    std::optional<Units> next(int processor, const Progress& progress);

    void finished(const FinishedBlock& block);
    void stop() { active_ = false; }  ///< a processor has changed
    bool active() const { return active_; }

  private:
    bool worth_repeating(const LoadDescription& load) const;

    struct Lane {
        std::deque<Units> recorded;  ///< blocks of this run
        std::deque<Units> planned;   ///< blocks to repeat
        double end_s = 0;
    };
    std::vector<Lane> lanes_;
    bool active_ = false;
    bool planned_ = false;
    bool any_finished_ = false;
    double shortest_s_ = std::numeric_limits<double>::infinity();  ///< of the runs with these blocks
};

}  // namespace apportion
