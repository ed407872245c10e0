// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How imbalance finds the offset of its two teams for a load that was never profiled but runs again and again
// (Lastovetsky, Szustak, Wyrzykowski, EULAG, section 5.6): balanced runs first, each further run is imbalanced by one
// step more, until a step is significantly slower than the best, at most 20 runs; Algorithm 1 then chooses by the times
// of these runs, and all later runs keep its distribution. Readings: a step is a thirtieth of an equal share (4 of 120
// in the paper); significantly slower: by 5 %.
//
// Beyond the paper trying has a budget, and no single time is trusted: docs/papers/imbalance.md, "Self-adaptation", has
// both.
//
// As published there is nothing of that: the first run warms up, each offset is tried in one run, in steps of 4 units,
// and what Algorithm 1 chooses is kept.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

/// The offsets of one load, run by run: the shares are team_shares() (planners/imbalance.hpp).
class OffsetSearch {
  public:
    virtual ~OffsetSearch() = default;

    /// It has as many units, granularity and processors.
    bool is_for(const LoadDescription& load) const;
    /// A run begins. `ended`: the one before can be learnt from.
    void begin_run(int runs_expected, bool ended);
    void add(const FinishedBlock& block);

    Units offset() const { return offset_; }  ///< of this run
    /// Makespan of this run, or NaN while that is being found out.
    double predicted_s() const;
    std::string note() const;

  protected:
    enum class Phase { searching, comparing, keeping };

    /// Makespans at one offset.
    struct Times {
        std::vector<double> last_s;  ///< a bounded number, oldest first
        int count = 0;               ///< of all

        void add(double seconds);
        double least_s() const;    ///< infinite before the first
        double typical_s() const;  ///< lower median; infinite before the first
    };

    OffsetSearch(const LoadDescription& load, Units step, const char* how);

    /// The next run's offset and phase, by what those so far took.
    virtual void decide() = 0;
    /// The offset that Algorithm 1 chooses by them.
    Units best_offset() const;
    double typical_s(Units offset) const;
    double shortest_typical_s() const;  ///< at any offset

    const Units balanced_;  ///< units of an equal share
    const Units step_;
    Units offset_ = 0;
    Units found_ = 0;  ///< what was chosen
    Phase phase_;
    std::map<Units, Times> makespans_;  ///< by offset
    int runs_ = 0, runs_expected_ = 0;

  private:
    struct Share {
        Units units = 0;
        double busy_s = 0;
        double end_s = 0;
    };
    void learn();

    const Units units_, granularity_;
    const char* how_;
    std::vector<Share> shares_;      ///< of this run
    std::map<Units, double> times_;  ///< the part of the time function that is known: size of a share, its least time
};

std::unique_ptr<OffsetSearch> make_offset_search(const LoadDescription& load, bool as_published);

}  // namespace apportion
