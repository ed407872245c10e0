// SPDX-License-Identifier: LGPL-2.1-or-later
//
// When a load that runs again is worth distributing anew. FuPerMod's load balancing of iterative applications (section
// 4, algorithm 1) redistributes after each iteration, whatever that costs and however little it gains. Here a
// distribution is kept until another one gains clearly, and more over the remaining runs than moving the data costs
// once. The other one is that with which moving once and all the runs to come take least, so that a slow link, or few
// runs, move less; and of all that are nearly as good, the one that moves fewest units.
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

/// Seconds that a processor needs for a share of that many units (> 0), never falling.
using SecondsOfShare = std::function<double(std::size_t processor, double units)>;

/// What another distribution must promise, of a run's duration: less is noise.
inline constexpr double kLeastGain = 0.04;

/// A run that takes so many times as long as others do: a spike, or a change.
inline constexpr double kClearlyLonger = 1.1;

/// Seconds to move a load's data, where they stay, when the units per processor change. Links work side by side: the
/// longest of what each has to carry. Data belong to blocks: a processor with another share has others, and theirs are
/// brought anew; but for those where a share that `grows` is the same blocks and others beside them.
double moving_seconds(const LoadDescription& load, std::span<const double> from, std::span<const double> to,
                      bool grows = false);

struct Redistribution {
    bool worthwhile = false;
    std::vector<double> shares;  ///< what to use from now on; the current ones unless worthwhile
    double run_s = 0;            ///< predicted duration of a run with them
    std::vector<bool> anew;      ///< per processor: not the blocks that it has; empty unless worthwhile
};

/// Runs to come, the present one included; where the application does not say, as many as there have been.
int runs_to_come(const LoadDescription& load);

/// The shares of the same sum with the fewest units that change owner, of which none is larger than its `most`; these
/// must admit that sum.
std::vector<double> least_movement(std::span<const double> current, std::span<const double> most);

/// Whole granules from real shares: rounded down, then one more each by the largest part cut off, until they cover the
/// sum, and no more. Whole shares stay as they are; so do those that a billionth, and a quarter of a granule, make
/// whole.
std::vector<Units> whole_shares(std::span<const double> shares, Units granularity);

/// A run that has ended.
struct EndedRun {
    std::vector<double> shares;  ///< units per processor, of sum load.units
    std::vector<double> ends_s;  ///< when each was done
    bool fixed = true;           ///< with these shares from the beginning on; else only its duration tells something
    bool grows = false;          ///< a processor that is to have more can keep its blocks, and get others beside them
};

/// Decides between the runs of a load. It knows what runs with the current distribution really took, on average: the
/// time functions are scaled to that, so that a link that processors share, or a model that is wrong by some factor,
/// does not make another distribution look better than it is. One run that took clearly longer is a spike; two in a row
/// are a change. Runs in which data move tell what moving costs, and nothing of the distribution; data have moved when
/// a run takes no less than the one before it. A distribution that turns out to be worse than the best one known is
/// taken back. Whether another one would be better is thought over after one run, and then after twice as many as the
/// time before wherever that was in vain: nothing was better, or less than half of what was promised was gained, be it
/// that models are wrong, that times vary, or that processors disturb each other. So of N runs log N are moved in vain.
class Rebalancer {
  public:
    /// Another load, other processors, or processors that have changed.
    void forget() { *this = {}; }
    /// A run ended with other shares than those it began with: what was decided on was in vain, or somebody has
    /// changed.
    void shares_not_kept();
    /// What was decided last was not done.
    void not_followed();

    /// `now_s`: what `seconds` says of the blocks that make up the shares of that run, where others would do better.
    Redistribution decide(const LoadDescription& load, const EndedRun& ended, const SecondsOfShare& seconds,
                          std::span<const double> now_s = {});

  private:
    struct Known {
        std::vector<double> shares;
        std::vector<double> mean_s;  ///< per processor; empty: not known
        int runs = 0;                ///< in the averages, in which the last few count
        double run_s = std::numeric_limits<double>::infinity();
        double shortest_s = run_s, longest_s = 0;  ///< of late: they come nearer to what runs take

        void add(std::span<const double> ends_s);
    };
    struct Moving {
        double promised_s = 0;            ///< by the links
        double last_s = 0;                ///< what the last run took while data moved; 0: they do not
        std::vector<double> runs_s = {};  ///< in which they did
    };
    void wait_longer();
    bool data_move(double run_s);
    bool learn(const LoadDescription& load, const EndedRun& ended);
    bool begin_with(const LoadDescription& load, const EndedRun& ended);
    Redistribution back_to_best(const LoadDescription& load) const;
    Redistribution better_than_current(const LoadDescription& load, bool grows, const SecondsOfShare& seconds,
                                       std::span<const double> now_s) const;

    Known current_, best_;
    int slow_runs_ = 0;          ///< of the latest
    int wait_ = 1, waited_ = 0;  ///< runs until the distribution is thought over, and those that were
    double promised_s_ = 0;      ///< runs with what was decided on gain enough if they take no longer; 0: nothing was
    std::vector<double> moved_from_;  ///< units that each kept of what it had when that was decided; -1: none
    bool decided_ = false;            ///< the run began with such a thought, which takes time
    Moving moving_;
    double moving_ratio_ = 1;  ///< of what it took to move data to what the links promise, at most so far
};

}  // namespace apportion
