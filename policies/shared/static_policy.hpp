// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the static policies have in common: they plan the whole load from a recorded profile before the first block
// (recorded_plan.hpp) and hand every processor its share in the blocks that suit it. A policy of this kind is a
// function from the problem to shares. Data that stay where a load's last run put them (APPORTION_KEEP) do not travel
// again: of the plan for that and of one that counts, for each run to come, its part of what it costs to bring them,
// the better one is taken when these runs gain more by it than moving the data costs. When a processor is lost, or
// units come back, what is left is planned again over the processors that are there, each free when its blocks in
// flight should end; where the profile does not admit that, piece by piece to the processor that should end first. The
// same when a processor is late whose units others wait for; it is planned with again when its block has ended. What
// blocks really take otherwise changes no plan: that is what the other policies are for.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "policies/planners/planner.hpp"
#include "policies/shared/recorded_plan.hpp"

namespace apportion {

/// Shares (multiples of the granularity), per processor; what is missing from the units is added by complete_shares().
/// Plan::solve_s is filled in. No shares: Plan::failure says why.
using PlanShares = std::function<Plan(const RecordedProblem&)>;

/// The planner of that name for profiles (planner_table.hpp) on the best-time curves.
Plan plan_curves(const RecordedProblem& problem, const char* planner);

class StaticPolicy : public Policy {
  public:
    explicit StaticPolicy(PlanShares plan_shares) : plan_shares_(std::move(plan_shares)) {}

    void begin(const LoadDescription& load) override;
    /// The next load is planned again, even if it is the last one: what the shares follow from has changed.
    void forget_plan() { before_.reset(); }
    Units next_block(int processor, double now_s, const Progress& progress) override;
    /// The shares planned, each in one piece, so that blocks are whole, and the same in every run.
    std::vector<OwnedUnits> owned() const override;
    void block_finished(const FinishedBlock& block) override;
    void processor_lost(int processor) override;
    PolicyReport report() const override { return report_; }

  private:
    struct Lane {
        BlockRuns blocks;         ///< planned, not handed out
        bool overlapped = false;  ///< two of them at a time
        bool lost = false;
        bool late = false;     ///< others have got what was planned for it, until its block ends
        Units handed_out = 0;  ///< of all answers so far
        Units finished = 0;
        double last_end_s = 0;
    };

    /// A plan for a whole load, and all that it follows from.
    struct WholePlan {
        LoadDescription load;
        std::vector<LoadDescription::Link> links;  ///< of data that travel in every run
        RecordedSizes sizes;
        std::vector<ShareTimes> times;
        std::vector<Lane> lanes;
        PlannedDistribution distribution;
    };

    bool planned_before(const LoadDescription& load) const;
    void begin_with(const WholePlan& plan);
    WholePlan plan_whole(const LoadDescription& load, const char* reason);
    WholePlan plan_staying(const LoadDescription& load, double once);
    void plan_where_data_are(const LoadDescription& load);
    void set_times();
    void plan(Units units, double now_s, const Progress* progress, const char* reason);
    bool admit_more(bool begun, bool& across_holes);
    Plan shares_of(const RecordedProblem& problem) const;
    double busy_s(std::size_t processor, double now_s, const Progress& progress) const;
    void account(std::size_t processor, const Progress& progress);
    void look_for_late(double now_s, const Progress& progress);
    Units planned() const;

    PlanShares plan_shares_;
    LoadDescription load_;
    RecordedSizes sizes_;
    std::vector<ShareTimes> times_;
    std::vector<Lane> lanes_;
    const char* changed_ = nullptr;    ///< why to plan anew; null: no reason
    std::optional<WholePlan> before_;  ///< of the last load, for one that runs again
    std::vector<WholePlan> there_;     ///< the same where data that stay need not travel, until one is taken
    int there_runs_ = 0;               ///< for so many runs to come
    bool settled_ = false;             ///< ... which one is
    double moving_ratio_ = 1;          ///< of what a run took to what was planned, at most: links are shared
    PolicyReport report_;
};

}  // namespace apportion
