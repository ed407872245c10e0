// SPDX-License-Identifier: LGPL-2.1-or-later
//
// plb-hec's plan: shares with which all processors finish together, from what is known of each now, with what they
// compute already. What is unknown is guessed:
//
//  - a processor that has run blocks of one size only: as a known one of its kind, slower by what these blocks show; if
//    there is none, fixed costs are a part of a device's time, none of a core's;
//  - one that computes its first block: as the fastest known, slower by as much as that block shows already;
//  - an idle one of which nothing is known: it gets no share.
#pragma once

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "policies/planners/continuous/equal_finish_ipopt.hpp"
#include "policies/plb_hec/plb_hec_models.hpp"
#include "policies/plb_hec/plb_hec_pipeline.hpp"

namespace apportion {

/// What has run twice as long as predicted is not as predicted, and what is unknown may take twice as long as is known
/// of it: as long again as it has run, or as others need (the engine's recovery takes the same).
inline constexpr double kTwice = 2;

class PlbHecPlan {
  public:
    /// The models must outlive the plan.
    explicit PlbHecPlan(const PlbHecModels& models) : models_(models) {}

    void begin(const LoadDescription& load);
    /// Something is known that was not when the last plan was made, of all or of one.
    void outdate() { made_ = false; }
    void outdate(int processor) { outdated_.insert(processor); }
    void block_ended(const FinishedBlock& block);
    /// The processor, which was idle, was given so many units, or nothing.
    void answered(int processor, Units units);
    /// There was nothing for it to do.
    void had_nothing(int processor) { refused_[index(processor)] = true; }
    void lose(int processor) { lost_[index(processor)] = true, outdate(); }
    void take_back(int processor) { lost_[index(processor)] = false, outdate(); }
    bool lost(int processor) const { return lost_[index(processor)]; }
    /// Whether all others are.
    bool alone(int processor) const { return std::ranges::count(lost_, false) == (lost(processor) ? 0 : 1); }
    /// End of the processor's last block; 0: it has had none.
    double last_end_s(int processor) const { return last_[index(processor)].end_s; }

    /// The equal-finish plan for everything not handed out, by bisection. What a processor is given is taken off its
    /// share, and the plan holds as long as all end as planned, up to worthwhile_error_s(): to find that out costs
    /// little. Who does not gets the share that it ends by the common finish; all are planned anew when a
    /// hundredth of the units is in nobody's share then, or so many in two that all would end earlier by that error.
    void make(double now_s, const Progress& progress);
    void gave(int processor, Units units, double now_s);
    /// What it was not given of its share, or was given beyond it (below 0), is for others.
    void leave_rest(int processor);
    /// What others left is in this processor's share, if it ends that with the others, up to worthwhile_error_s().
    void take_rests(int processor);
    /// Whether there are units that are in nobody's share.
    bool some_unshared() const { return unshared_ + rests_ > 0; }
    /// Without a plan, before the load begins: time() of each processor for runs in which the data that stay are where
    /// they are needed.
    void pose_for_all();
    /// The same plan, solved by IPOPT.
    void refine();

    const std::vector<double>& shares() const { return plan_.shares_units; }
    /// What of its share the processor was not given yet.
    double share(int processor) const {
        return std::max(0.0, plan_.shares_units[index(processor)] - given_[index(processor)]);
    }
    double finish_s() const { return plan_.finish_s; }
    double units() const { return problem_.units; }  ///< shared out
    const PipelineTime& time(int processor) const { return times_[index(processor)]; }
    const EqualFinishIpopt& solver() const { return solver_; }

    /// When it would end so many units after what it computes; never where it gets none.
    double end_s(int processor, double units) const;
    /// Whether the others together, each after what it computes, end so many units by then.
    bool others_end(int processor, double units, double by_s) const;

    /// By how much the end of such a block may be mispredicted.
    double error_s(int processor, double block) const;
    /// What a processor saves the run when its share becomes k blocks is that its last one is late by error / k; what
    /// it loses is k times its fixed costs, which are its part of the work for all. So k = error / E, and all together
    /// lose the sum of fixed costs x part x error / E, and E: least when E is the root of that sum. Nobody waits for
    /// one that computes alone: one part is as good as several.
    double worthwhile_error_s() const {
        return compute_ > 1 ? worthwhile_error_s_ : std::numeric_limits<double>::infinity();
    }
    /// Of a core for its next block, as of late.
    double waiting_s() const { return waiting_s_; }

    /// A first block. Its time is unknown, and a core's may exceed the rest of the run: cores begin with the smallest
    /// block. A device's block has high fixed costs, so that more units hardly make it longer: as many as are expected
    /// of a first block where there are devices alone, if the link carries them in the time of its latency. Devices of
    /// a kind begin with different powers of two times as many: two sizes tell what is fixed. (Twice as many are
    /// always tried, more only while the link carries them so.)
    Units first_units(int processor) const;
    /// Nothing that it ran itself is believed. Devices of a known kind are taken for one of it until they say
    /// otherwise.
    bool is_untried(int processor) const {
        return !models_.measured(processor) && (!at(processor).own_memory || models_.suspected(processor));
    }

  private:
    static std::size_t index(int processor) { return static_cast<std::size_t>(processor); }
    const Processor& at(int processor) const { return load_.processors[index(processor)]; }
    double granule() const { return static_cast<double>(load_.granularity); }

    Units first_of_devices(int processor) const;
    Units in_latency(int processor) const;
    int of_its_kind_before(int processor) const;
    PipelineTime time_of(int processor, double now_s, std::span<const BlockInFlight> in_flight) const;
    void guess_unknown(double now_s, const Progress& progress);
    void pose(double now_s, const Progress& progress);
    void pose_processor(int processor, double now_s, const Progress& progress);
    void leave_out_untried(double now_s);
    void share_out();
    void round_shares();
    bool holds(double now_s, const Progress& progress);
    bool compare(double now_s, const Progress& progress);
    bool adjust(int processor, double now_s, const Progress& progress);
    void learn_waiting(const FinishedBlock& block);
    void find_worthwhile_error();
    double share_end_s(int processor) const;

    const PlbHecModels& models_;
    LoadDescription load_;
    double waiting_s_ = 0;
    std::vector<bool> refused_;             ///< the processor, since its last block ended
    std::vector<PipelineTime::Free> last_;  ///< after each processor's last block that ended; its data were there ...
    std::vector<PipelineTime::Free> free_;  ///< ... and as planned, after those that it was given
    std::vector<bool> lost_;
    std::vector<PipelineTime> times_;  ///< per processor, as planned with
    EqualFinishProblem problem_;
    EqualFinishPlan plan_;
    std::vector<double> given_;  ///< units of it, per processor
    EqualFinishIpopt solver_;
    double worthwhile_error_s_ = 0;
    int compute_ = 0;                                ///< processors, by the plan
    bool made_ = false;                              ///< plan_ is one for what is left, as far as is known
    std::optional<double> checked_at_s_;             ///< at this moment it was found to hold
    Units left_ = 0;                                 ///< units of it that nobody was given
    std::set<int> outdated_;                         ///< of these processors something else is known,
    double unshared_ = 0;                            ///< as it was of others whose shares shrank by so many units
    double rests_ = 0;                               ///< units that processors left of their shares
    std::vector<double> planned_share_end_s_;        ///< per processor
    std::vector<std::deque<double>> planned_end_s_;  ///< of the blocks in flight, per processor
};

}  // namespace apportion
