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
#include <string>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

/// The shares of the even processors are less by the offset, those of the odd ones more; a last one without partner has
/// an equal share.
class OffsetSearch {
  public:
    explicit OffsetSearch(bool as_published = false) : as_published_(as_published) {}

    /// A run begins. `ended`: the one before can be learnt from. Same load as before: units, granularity, processors.
    void begin(const LoadDescription& load, bool ended);
    void add(const FinishedBlock& block);

    Units offset() const { return offset_; }  ///< of this run
    /// Makespan of this run, or NaN while that is being found out.
    double predicted_s() const;
    std::string note() const;

  private:
    enum class Phase { searching, comparing, keeping };

    /// Makespans at one offset.
    struct Times {
        std::vector<double> last_s;  ///< a bounded number, oldest first
        int count = 0;               ///< of all

        void add(double seconds);
        double least_s() const;    ///< infinite before the first
        double typical_s() const;  ///< lower median; infinite before the first
    };

    struct Share {
        Units units = 0;
        double busy_s = 0;
        double end_s = 0;
    };

    void reset(const LoadDescription& load);
    void learn();
    void search();
    void search_as_published();
    void choose();
    void begin_comparison(double lost_before_s);
    void compare();
    void keep();

    double equal_s() const { return typical_s(0); }
    double typical_s(Units offset) const;
    double budget_s() const;
    double proportional_s(Units units) const;
    double loss_s(Units offset, const Times& times) const;
    double lost_s() const;
    bool affordable(double loss_s) const { return lost_s() + loss_s <= budget_s(); }

    bool as_published_;
    Units units_ = -1, granularity_ = 0, balanced_ = 0, step_ = 1, offset_ = 0;
    std::vector<Share> shares_;  ///< of this run
    int runs_ = 0, runs_expected_ = 0;
    Phase phase_ = Phase::searching;
    std::map<Units, Times> makespans_;  ///< by offset
    std::map<Units, double> times_;  ///< the part of the time function that is known: size of a share, its least time
    Units tried_ = 0;                ///< the largest offset so far
    Units found_ = 0;                ///< the one that is compared with equal shares
    int comparisons_ = 0;            ///< how often it was
    double lost_before_s_ = 0;       ///< by runs that are no longer in makespans_
};

}  // namespace apportion
