// SPDX-License-Identifier: LGPL-2.1-or-later
//
// When a load that runs again is worth distributing anew. FuPerMod's load balancing of iterative applications (section
// 4, algorithm 1) redistributes after each iteration, whatever that costs and however little it gains. Here a
// distribution is kept until another one gains clearly, and more over the remaining runs than moving the data costs
// once. The other one is that with which moving once and all the runs to come take least, so that a slow link, or few
// runs, move less; and of all that are nearly as good, the one that moves fewest units.
#pragma once

#include <bit>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

/// Seconds that a processor needs for a share of that many units (> 0), never falling.
using SecondsOfShare = std::function<double(std::size_t processor, double units)>;

/// What another distribution must promise, of a run's duration: less is noise.
inline constexpr double kLeastGain = 0.04;

/// Runs in an average. Of that many latest ones it varies by a quarter, 1 / sqrt(2 x 8 - 1), of what a run does: by
/// less than kLeastGain where runs vary by a tenth, which is no change. More would only follow later.
inline constexpr int kMostAveraged = 8;

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
/// time before wherever that gained nothing: nothing was better, or less than half of what was promised came true, as
/// models are wrong, times vary, or processors disturb each other. So of N runs at most log N move data for nothing.
class Rebalancer {
  public:
    /// Another load, other processors, or processors that have changed.
    void forget() { *this = {}; }
    /// An earlier process had so many runs with these shares, which took so long: as if it went on, until runs take
    /// longer or cannot keep the shares.
    void resume(const std::vector<double>& shares, double run_s, int runs);
    /// A run ended with other shares than those it began with: what was decided on counts for nothing, or somebody has
    /// changed.
    void shares_not_kept();
    /// What was decided last was not done.
    void not_followed();

    /// `now_s`: what `seconds` says of the blocks that make up the shares of that run, where others would do better.
    Redistribution decide(const LoadDescription& load, const EndedRun& ended, const SecondsOfShare& seconds,
                          std::span<const double> now_s = {});

  private:
    /// What runs with a distribution took.
    struct RunAverages {
        std::vector<double> shares;
        std::vector<double> mean_s;  ///< per processor; empty: not known
        int runs = 0;                ///< in the averages, in which the last few count
        double run_s = std::numeric_limits<double>::infinity();
        double shortest_s = run_s, longest_s = 0;  ///< lately: they come nearer to what runs take
        int slow_runs = 0;                         ///< of the latest, in no average

        void add(std::span<const double> ends_s);
    };
    /// What it takes to move data, seen in the runs in which they do.
    class MovingCost {
      public:
        /// To another distribution, by the links.
        void begin(double promised_s) { promised_s_ = promised_s, last_s_ = all_s_ = runs_ = 0; }
        /// Data moved in that run.
        void moved_in(double run_s) { last_s_ = run_s, all_s_ += run_s, ++runs_; }
        /// Whether they still do.
        bool still_move_in(double run_s);
        /// Of what it took to what the links promise, at most so far.
        double ratio() const { return ratio_; }

      private:
        double promised_s_ = 0;
        double last_s_ = 0;            ///< what the last run took while data moved; 0: they do not
        double all_s_ = 0, runs_ = 0;  ///< of those in which they did
        double ratio_ = 1;
    };
    /// After how many runs the distribution is thought over.
    class Backoff {
      public:
        /// Another run told something. Whether to look at what is known: after 1, 2, 4... of them.
        bool looks_after_run() { return std::has_single_bit(static_cast<unsigned>(++waited_)); }
        bool due() const { return waited_ >= wait_; }
        /// What was decided on gains enough if runs take no longer.
        void promise(double run_s) { promised_s_ = run_s, waited_ = 0; }
        /// Whether they do; the promise is forgotten.
        bool promise_broken(double run_s) {
            const double promised_s = std::exchange(promised_s_, 0);
            return promised_s > 0 && run_s > promised_s;
        }
        void resume(int runs);
        void in_vain();
        void changed();  ///< it is thought over now
        void shares_not_kept();

      private:
        int wait_ = 1, waited_ = 0;  ///< runs until then, and those that were
        double promised_s_ = 0;      ///< 0: nothing was
    };
    /// Whether nothing has been seen yet of what an earlier process did.
    bool resumed() const { return current_.runs == 0 && current_.longest_s > 0; }
    bool learn(const LoadDescription& load, const EndedRun& ended);
    bool begin_with(const LoadDescription& load, const EndedRun& ended, double run_s);
    Redistribution back_to_best(const LoadDescription& load) const;
    Redistribution better_than_current(const LoadDescription& load, bool grows, const SecondsOfShare& seconds,
                                       std::span<const double> now_s) const;

    RunAverages current_, best_;
    MovingCost moving_;
    Backoff backoff_;
    std::vector<double> moved_from_;  ///< units that each kept of what it had when that was decided; -1: none
    bool decided_ = false;            ///< the run began with such a thought, which takes time
};

}  // namespace apportion
