// SPDX-License-Identifier: LGPL-2.1-or-later
//
// plb-hec where units are unlike (rows of a triangular matrix, points of Mandelbrot's set): what was measured of sizes
// says nothing of blocks elsewhere in the load then. A run finds it where of most processors' latest four blocks three
// contradict those before them, all to the same side; what varies by chance does so to both. Of a processor's blocks
// only that is assumed that neither their time nor their speed falls with their size: a block contradicts that when one
// in four of the earlier ones about as large does, by half. A run may have too few blocks to tell; the next one knows
// better, from all processors' blocks together (UnitCosts::conclude). Nodes are not judged: they become faster while
// they learn about their own processors.
//
// From then on every block is a tenth of the chunk that adaptive factoring gives the processor by the means and
// variances of its last ten blocks (as af.cpp does), in the units that average ones would be by what the runs before
// tell of their costs. Three things are added to the published law: fixed costs are at most a twentieth of a block that
// is smaller than a chunk; a chunk is at least a tenth of a share, or there would be no end of them, and what a block
// costs the runtime; and nobody begins a granule when the others end all that is left before it does.
#pragma once

#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "policies/plb_hec/unit_costs.hpp"
#include "policies/policy.hpp"

namespace apportion {

class UnlikeUnits {
  public:
    /// What runs showed holds for this one where it has as many units and the same processors. `by_size_s`: what such a
    /// block takes, by all that is known of its processor when units are alike; 0: nothing is.
    void begin(const LoadDescription& load, const std::function<double(int processor, Units units)>& by_size_s);
    /// `promised_s`: see UnitCosts. Returns whether it was another trial, which tells of its place, not of the
    /// processor.
    bool finished(const FinishedBlock& block, double promised_s = 0);
    void late_block_ended(int processor, Units units, double busy_s);
    /// Units that a core's block has at most in a first run: before that has ended nobody knows what units elsewhere
    /// cost, and nobody may take the block over, so that it is worth a hundredth of the run that dear units are in
    /// several. `block`: what it would have otherwise; `fixed_s`: of a block.
    double insured(int processor, double block, double fixed_s,
                   const std::function<double(int processor, Units units)>& by_size_s) const;
    /// Whether one that computes nothing, where another is much faster, may hold up the end, in `left_s`, with one
    /// granule: if it is as dear as two blocks look that take much longer than their units did on average. `granule_s`:
    /// what it should take.
    bool may_be_too_dear(double granule_s, double left_s, double now_s, const Progress& progress) const;
    void set_lost(int processor, bool lost) { at(processor).lost = lost; }
    /// The processor's next block is a trial, of the last units.
    void tries(int processor) { at(processor).on_trial = true; }
    /// Whether its only trial took clearly longer than a larger block since: it warmed up, or the last units are dear.
    /// Another one tells, as nothing warms up twice.
    bool doubts_trial(int processor) const { return at(processor).trials == 1 && at(processor).trial_exceeds_larger(); }

    bool found() const { return found_; }
    /// What the run that has ended leaves to other processes.
    LearntUnitCosts learnt(const std::function<double(int processor, Units units)>& by_size_s) const;
    /// Whether the processor has finished a block, in this run or one before.
    bool measured(int processor) const { return at(processor).measured(); }
    double computed_units(int processor) const { return at(processor).placed_units; }  ///< in this run
    /// Units of the next block of a processor that is measured; 0: none now.
    Units next_block(int processor, double now_s, const Progress& progress) const;
    /// Whether those others that are measured, and not overdue, end all that is left before the processor ends a
    /// granule, if it takes so long for a unit.
    bool outlasts_others(int processor, double unit_s, double now_s, const Progress& progress) const;

  private:
    struct Sample {
        double work = 0;     ///< of its units
        double seconds = 0;  ///< with what of its transfer was not hidden
        double units = 0;
        double kernel_s = 0;
        bool warms_up = false;  ///< a first block: a later one that takes less contradicts nothing
    };
    struct Lane {
        std::deque<Sample> last;  ///< of this run
        BlockSums of_last;
        BlockSums of_run, before;  ///< this one, and the last one that it had a part in
        double placed_units = 0;   ///< of this one, in blocks that costs_ knows
        double variance_of_run = 0, variance_before = 0;
        Sample shortest, fastest;
        std::map<int, Sample> of_size;  ///< the last one, by the exponent of its units
        std::deque<int> deviations;     ///< of the latest blocks: 1, longer than earlier ones admit, 0, -1, shorter
        bool lost = false;
        bool on_trial = false;
        int trials = 0;                                             ///< of this run
        Sample trial;                                               ///< the last one
        double larger_s = std::numeric_limits<double>::infinity();  ///< of a larger block after the first, at least

        void begin();
        bool add_trial(const Sample& sample);  ///< whether it was another one
        bool trial_exceeds_larger() const;
        void add(const Sample& sample);
        bool measured() const { return !last.empty() || before.work > 0; }
        int deviation(const Sample& sample) const;
        /// Whether most of its latest blocks deviate to that side.
        bool deviates(int side) const;
        /// How many blocks of this run are missing to know it by, for which those of the run before count.
        double missing() const;
        /// Of a unit's seconds; n units have n times as much. `unit_s`: their mean.
        double variance(double unit_s) const;
        double fixed_s() const;  ///< of a block, at most
    };
    /// What is left to be handed out.
    struct Rest {
        Progress::NextUnits next;
        double work = 0;
        double granule = 0;  ///< work of the next one
    };

    Lane& at(int processor) { return lanes_[static_cast<std::size_t>(processor)]; }
    const Lane& at(int processor) const { return lanes_[static_cast<std::size_t>(processor)]; }
    int kind(int processor) const { return processors_[static_cast<std::size_t>(processor)].kind; }

    BlockSums run_of(std::size_t processor, const UnitCosts& concluded) const;
    void judge();
    void judge_trials();
    double unit_s(int processor) const;
    double overdue(int processor, double now_s, const Progress& progress) const;
    double free_s(int processor, double now_s, const Progress& progress) const;
    Rest rest(int processor, const Progress& progress) const;

    std::vector<Processor> processors_;
    std::vector<Lane> lanes_;
    std::map<int, BlockSums> of_kind_;
    Units units_ = 0, granularity_ = 1;
    UnitCosts costs_;
    double done_ = 0;  ///< work of blocks that have ended
    bool found_ = false;
};

}  // namespace apportion
