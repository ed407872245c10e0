// SPDX-License-Identifier: LGPL-2.1-or-later
//
// imbalance: identical processors in two equal teams; the odd ones get as much more than an equal share as the even
// ones get less, by the offset that Algorithm 1 finds (Lastovetsky, Szustak, Wyrzykowski, EULAG, section 4;
// planners/imbalance.hpp). Pays where a larger size can take less time.
//
// A given offset (APPORTION_OFFSET) is used as it is, as in the paper's tables of all offsets; "published" tries
// offsets as the paper does, whatever is recorded. Else, with a recorded profile (learnt times are too few, and never
// fall), the offsets are those of the planned steps (recorded_plan.hpp). Without one, a load that is submitted again
// adapts itself (section 5.6; offset_search.hpp). Beyond the paper: unlike processors are refused.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "policies/config.hpp"
#include "policies/forwarding_policy.hpp"
#include "policies/planners/imbalance.hpp"
#include "policies/planners/planner_table.hpp"
#include "policies/shared/offset_search.hpp"
#include "policies/shared/static_policy.hpp"

namespace apportion {

namespace {

/// The processors that share what there is, and the step of the offsets.
struct Teams {
    std::vector<std::size_t> members;
    Units balanced = 0;  ///< units of an equal share
    Units step = 1;
};

Teams teams_of(const RecordedProblem& problem, Units step) {
    Teams teams;
    for (std::size_t p = 0; p < problem.lost.size(); ++p)
        if (!problem.lost[p]) teams.members.push_back(p);
    const Units g = problem.load->granularity, units = problem.shares.units + problem.granules_left;
    teams.balanced = units / g / static_cast<Units>(std::max<std::size_t>(teams.members.size(), 1)) * g;
    teams.step = step;
    return teams;
}

/// Of all processors, from those of the members.
std::vector<Units> shares_of_all(const Teams& teams, const std::vector<Units>& of_members, std::size_t processors) {
    std::vector<Units> shares(processors, 0);
    for (std::size_t i = 0; i < teams.members.size(); ++i) shares[teams.members[i]] = of_members[i];
    return shares;
}

/// Algorithm 1 on the recorded times at the sizes n / p + k step, which the planner sees as 1, 2, 3, ... or, where the
/// step divides n / p, as 0, 1, 2, ...
Plan algorithm_1(const RecordedProblem& problem) {
    const Teams teams = teams_of(problem, problem.shares.granularity);
    const Units smallest = teams.balanced % teams.step, number_of_smallest = smallest > 0 ? 1 : 0;
    const Units balanced = teams.balanced / teams.step + number_of_smallest;
    const auto size_of = [&](Units number) { return smallest + (number - number_of_smallest) * teams.step; };
    PlanProblem alike;
    alike.units = balanced * static_cast<Units>(teams.members.size());
    for (const std::size_t p : teams.members) {
        DiscreteTimes times{problem.load->processors[p].name, {}, {}};
        for (Units number = 1; size_of(number) <= 2 * teams.balanced; ++number) {
            const double seconds = problem.times[p].best(size_of(number)).seconds;
            if (!(seconds < INFINITY)) continue;
            times.points.push_back(number);
            times.seconds.push_back(problem.busy_s[p] + seconds);
        }
        alike.processors.push_back(std::move(times));
    }
    Plan plan = run_planner(*find_planner("imbalance"), alike);
    if (!plan.failure.empty()) return plan;
    for (Units& share : plan.shares) share = size_of(share);
    plan.shares = shares_of_all(teams, plan.shares, problem.lost.size());
    return plan;
}

class Imbalance final : public ForwardingPolicy {
  public:
    void begin(const LoadDescription& load) override {
        for (const Processor& processor : load.processors)
            if (processor.kind != load.processors.front().kind)
                throw PolicyError(fmt::format(
                    "imbalance needs identical processors, but '{}' and '{}' are not; choose another policy, or let "
                    "StarPU use alike ones only (STARPU_NCPU, STARPU_NCUDA, STARPU_NOPENCL)",
                    load.processors.front().name, processor.name));
        given_ = given_offset(load);
        recorded_ = !given_ && !offset_as_published() && load.recorded.processors.size() == load.processors.size() &&
                    !load.recorded.learnt;
        if (!recorded_ && !given_) {
            const Units before = search_ ? search_->offset() : 0;
            if (!search_ || !search_->is_for(load)) search_ = make_offset_search(load, offset_as_published());
            search_->begin_run(load.runs_expected, ended_well_);
            if (search_->offset() != before) static_->forget_plan();
        }
        ended_well_ = true;
        first_plan_ = true;
        static_->begin(recorded_ ? load : without_profile(load));
        first_plan_ = false;
    }

    void block_finished(const FinishedBlock& block) override {
        static_->block_finished(block);
        if (!recorded_ && !given_) search_->add(block);
    }

    void processor_lost(int processor) override {
        static_->processor_lost(processor);
        ended_well_ = false;
    }

    PolicyReport report() const override {
        PolicyReport report = static_->report();
        if (recorded_) return report;
        report.profile.clear();
        if (given_) {
            report.note = fmt::format("the offset {} was given", *given_);
        } else if (search_) {
            report.note = search_->note();
        }
        for (PlannedDistribution& distribution : report.distributions)
            distribution.predicted_end_s = given_ ? NAN : search_->predicted_s();
        return report;
    }

  private:
    Policy& policy() const override { return *static_; }

    static std::optional<Units> given_offset(const LoadDescription& load) {
        const std::optional<Units> offset = offset_option();
        const Units share = load.units / std::max<Units>(static_cast<Units>(load.processors.size()), 1);
        if (offset && (*offset > share || *offset % load.granularity != 0))
            throw PolicyError(
                fmt::format("APPORTION_OFFSET is {}, but an equal share of {} units on {} processors is {}; give a "
                            "multiple of {} that is no larger",
                            *offset, load.units, load.processors.size(), share, load.granularity));
        return offset;
    }

    /// Stands in for times that are not known: all shares as one block, where memory does not bound it.
    static LoadDescription without_profile(const LoadDescription& load) {
        LoadDescription assumed = load;
        assumed.recorded = {};
        std::vector<ProcessorProfile> processors;
        for (const Processor& processor : load.processors)
            processors.push_back({processor.name, {{std::max<Units>(load.units, 1), 1.0, 0, 0}}});
        assumed.recorded.processors = std::move(processors);
        assumed.links.clear();
        return assumed;
    }

    Plan plan(const RecordedProblem& problem) {
        if (recorded_) return algorithm_1(problem);
        const Teams teams = teams_of(problem, 1);
        Plan plan;
        const Units offset = !first_plan_ ? 0 : given_ ? *given_ : search_->offset();
        const std::vector<Units> of_members = team_shares(teams.members.size(), teams.balanced, offset);
        plan.shares = shares_of_all(teams, of_members, problem.lost.size());
        return plan;
    }

    const std::unique_ptr<StaticPolicy> static_ =
        std::make_unique<StaticPolicy>([this](const RecordedProblem& problem) { return plan(problem); });
    std::unique_ptr<OffsetSearch> search_;
    std::optional<Units> given_{};  ///< offset
    bool recorded_ = false;
    bool first_plan_ = false;  ///< of this run
    bool ended_well_ = true;   ///< no processor was lost in the run before
};

}  // namespace

extern const PolicyEntry imbalance_policy{
    .name = "imbalance",
    .description = "identical processors: shares that differ on purpose, by profile or by trying",
    .make = make_policy<Imbalance>,
    .profile = ProfileUse::optional,
    .identical_processors = true};

}  // namespace apportion
