// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Repeats the blocks of the previous run of a load, so that in iterative applications the data stay where they are.
// What can be repeated: a run that was planned with models. One run that took longer than usual is a spike, two in a
// row are a change, after which nothing is repeated.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

class BlockReplay {
  public:
    struct Distribution {
        std::vector<double> units;   ///< per processor; empty: not one to repeat
        std::vector<double> ends_s;  ///< when it was done
    };
    /// What the run that ended was like.
    Distribution conclude(const LoadDescription& load);

    /// A run begins; `planned`: it will be with models of all processors, so that it is worth repeating. `repeat`: with
    /// the blocks of the run that was concluded.
    void begin(const LoadDescription& load, bool planned, bool repeat);

    /// Units of the processor's next block (0: nothing now), or nothing when the run is not, or no longer, a
    /// repetition.
    std::optional<Units> next(int processor, const Progress& progress);

    void finished(const FinishedBlock& block);
    void stop() { active_ = false; }  ///< a processor has changed or is lost
    bool active() const { return active_; }

  private:
    void plan_missing(const Progress& progress);

    struct Lane {
        std::map<Units, Units> ran;  ///< blocks of this run: first unit -> units
        std::deque<Units> recorded;  ///< those of the run before, in the order of their units
        std::deque<Units> planned;   ///< blocks to repeat
        Units computed = 0;
        Units asked = 0;  ///< units of the blocks repeated so far
        double end_s = 0;
    };
    std::vector<Lane> lanes_;
    bool active_ = false;
    bool planned_ = false;
};

}  // namespace apportion
