// SPDX-License-Identifier: LGPL-2.1-or-later
//
// plb-hec where units are unlike (rows of a triangular matrix, points of Mandelbrot's set) or times vary much: what was
// measured of sizes says nothing of blocks elsewhere in the load then. Of a processor's blocks only that is assumed
// that neither their time nor their speed falls with their size. A block contradicts that when one in four of the
// earlier ones about as large does, by half. Units are unlike when of most processors' latest four blocks three do, all
// to the same side: what varies by chance does so to both. So they are in the next run while one of the four still
// does. Nodes are not judged: they become faster while they learn about their own processors. A run may have too few
// blocks to tell: once blocks took twice as long as planned, the next run goes without a plan, and the one after it
// with one. Where runs have begun in both ways, that one is taken which took less on average; later runs count more.
//
// From then on every block is a tenth of the chunk that adaptive factoring gives the processor by the means and
// variances of its last ten blocks (as af.cpp does), which needs no model. Three things are added to the published law:
// fixed costs are at most a twentieth of a block that is smaller than a chunk; a chunk is at least a tenth of a share,
// or there would be no end of them; and who needs longer for a granule than the others for all that is left gets none,
// where these others take no longer than usual for what they compute.
#pragma once

#include <deque>
#include <limits>
#include <map>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

class UnlikeUnits {
  public:
    /// What runs showed holds for this one where it has as many units and the same processors. Of the last one, whether
    /// it began with curves of all processors, and whether blocks took twice as long as it planned.
    void begin(const LoadDescription& load, bool knew_all = false, bool broke_promise = false);
    void finished(const FinishedBlock& block);
    void late_block_ended(int processor, Units units, double busy_s);
    void set_lost(int processor, bool lost) { at(processor).lost = lost; }

    bool found() const { return found_; }
    /// Whether the processor has finished a block, in this run or one before.
    bool measured(int processor) const { return at(processor).measured(); }
    /// Units of the next block of a processor that is measured; 0: none now.
    Units next_block(int processor, double now_s, const Progress& progress) const;
    /// Whether the others, of which something is known, end all that is left before a block of so many seconds ends.
    bool outlasts_others(int processor, double seconds, double now_s, const Progress& progress) const;

  private:
    struct Sample {
        double units = 0;
        double seconds = 0;  ///< with what of its transfer was not hidden
        double kernel_s = 0;
    };
    /// The blocks of a run together.
    struct Run {
        double blocks = 0, units = 0, seconds = 0;
        double variance = 0;  ///< of the last ones
    };
    struct Lane {
        std::deque<Sample> last;  ///< of this run
        Run of_run, before;       ///< this one, and the last one that it had a part in
        Sample shortest, fastest;
        std::map<int, Sample> of_size;  ///< the last one, by the exponent of its units
        std::deque<int> deviations;     ///< of the latest blocks: 1, longer than earlier ones admit, 0, -1, shorter
        bool judged = false;
        int contradicted = 0;  ///< to which side
        bool lost = false;

        void begin();
        void add(const Sample& sample);
        bool measured() const { return !last.empty() || before.units > 0; }
        int deviation(const Sample& sample) const;
        /// How many blocks of this run are missing to know it by, for which those of the run before count.
        double missing() const;
        double mean_s() const;    ///< of a unit
        double variance() const;  ///< of a unit's seconds; n units have n times as much
        double fixed_s() const;   ///< of a block, at most
    };
    Lane& at(int processor) { return lanes_[static_cast<std::size_t>(processor)]; }
    const Lane& at(int processor) const { return lanes_[static_cast<std::size_t>(processor)]; }
    struct Together {
        double units_per_s = 0, variance_s = 0;
        double fastest_s = std::numeric_limits<double>::infinity();  ///< of a unit
    };

    bool overdue(int processor, double now_s, const Progress& progress) const;
    Together together(int without, double now_s, const Progress* progress) const;
    void judge(Lane& lane, int deviation);

    std::vector<Processor> processors_;
    std::vector<Lane> lanes_;
    Units units_ = 0, granularity_ = 1;
    /// Of runs that began in the same way.
    struct Way {
        int runs = 0;
        double mean_s = 0;

        void add(double seconds);
    };
    bool found_ = false;               ///< in this run, which may have begun so
    bool seen_ = false;                ///< in this run by its blocks
    bool promise_broken_ = false;      ///< in any
    bool began_without_plan_ = false;  ///< this run, ...
    double end_s_ = 0;                 ///< ... whose last block ended then
    Way with_plan_, without_plan_;
};

}  // namespace apportion
