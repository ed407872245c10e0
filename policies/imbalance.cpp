// SPDX-License-Identifier: LGPL-2.1-or-later
//
// imbalance: identical processors in two equal teams; the odd ones get as much more than an equal share as the even
// ones get less, by the offset that Algorithm 1 finds (Lastovetsky, Szustak, Wyrzykowski, EULAG, section 4;
// planners/imbalance.hpp). Pays where a larger size can take less time.
//
// With a profile, the offsets are those of the planned steps (recorded_plan.hpp). Without one, a load that is submitted
// again adapts itself (section 5.6): the first run is balanced, each further one is imbalanced by one step more, until
// a step is significantly slower than the best, at most 20 runs; Algorithm 1 then chooses by the times of these runs,
// and all later runs keep its distribution. A single run is enough for a time, as there. Readings: a step is a
// thirtieth of an equal share (4 of 120 in the paper); significantly slower: by 5 %. Beyond the paper: the first run is
// repeated, because it warms up; at most a third of the runs that the application announces is spent on searching; what
// was found is compared with equal shares in turn, and given up unless it is faster, for one slow run misleads the
// search; unlike processors are refused.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "policies/planners/planner_table.hpp"
#include "policies/static_policy.hpp"

namespace apportion {

namespace {

constexpr Units kStepsOfShare = 30;
constexpr int kMostRuns = 20;      // that search
constexpr int kRunsPerSearch = 3;  // expected runs for one that searches
constexpr double kDrop = 1.05;     // of the time, that ends the search
constexpr int kComparisons = 3;    // runs of what was found, and as many with equal shares

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

std::vector<Units> shares_at(const Teams& teams, Units offset, std::size_t processors) {
    std::vector<Units> shares(processors, 0);
    for (const std::size_t p : teams.members) shares[p] = teams.balanced;
    for (std::size_t i = 0; i + 1 < teams.members.size(); i += 2) {
        shares[teams.members[i]] -= offset;
        shares[teams.members[i + 1]] += offset;
    }
    return shares;
}

/// Algorithm 1 on the recorded times at the sizes n / p + k step.
Plan algorithm_1(const RecordedProblem& problem) {
    const Teams teams = teams_of(problem, problem.shares.granularity);
    PlanProblem alike;
    alike.granularity = problem.load->granularity;
    alike.units = teams.balanced * static_cast<Units>(teams.members.size());
    for (const std::size_t p : teams.members) {
        DiscreteTimes times{problem.load->processors[p].name, {}, {}};
        for (Units size = teams.balanced % teams.step; size <= 2 * teams.balanced; size += teams.step) {
            const double seconds = size > 0 ? problem.times[p].best(size).seconds : INFINITY;
            if (!(seconds < INFINITY)) continue;
            times.points.push_back(size);
            times.seconds.push_back(problem.busy_s[p] + seconds);
        }
        alike.processors.push_back(std::move(times));
    }
    Plan plan = run_planner(*find_planner("imbalance"), alike);
    if (!plan.failure.empty()) return plan;
    std::vector<Units> shares(problem.lost.size(), 0);
    for (std::size_t i = 0; i < teams.members.size(); ++i) shares[teams.members[i]] = plan.shares[i];
    plan.shares = std::move(shares);
    return plan;
}

struct Sum {
    double seconds = 0;
    int count = 0;
};

/// What the runs of a load that was never profiled tell, and which offset is tried next.
class OffsetSearch {
  public:
    /// A run begins. `ended`: the one before can be learnt from.
    void begin(const LoadDescription& load, bool ended);
    void add(const FinishedBlock& block);

    Units offset() const { return offset_; }
    bool searching() const { return searching_; }
    double predicted_s() const { return searching_ || compared_left_ > 0 ? std::nan("") : chosen_s_; }
    std::string note() const;

  private:
    struct Share {
        Units units = 0;
        double busy_s = 0;
        double end_s = 0;
    };

    double end_s() const;
    void learn();
    void choose();
    void compare();

    Units units_ = -1, granularity_ = 0, balanced_ = 0, step_ = 1, offset_ = 0;
    std::vector<Share> shares_;   ///< of this run
    std::map<Units, Sum> times_;  ///< the part of the time function that is known: size of a share, its times
    bool searching_ = false;
    Units found_ = 0;                                 ///< the offset that is compared with equal shares
    int compared_left_ = 0;                           ///< runs
    double found_s_ = INFINITY, equal_s_ = INFINITY;  ///< the least of both
    int runs_ = 0;
    double best_s_ = INFINITY, chosen_s_ = 0;
};

void OffsetSearch::begin(const LoadDescription& load, bool ended) {
    const auto processors = static_cast<Units>(load.processors.size());
    if (load.units != units_ || load.granularity != granularity_ || load.processors.size() != shares_.size()) {
        *this = {};
        units_ = load.units;
        granularity_ = load.granularity;
        balanced_ = units_ / granularity_ / processors * granularity_;
        step_ = std::max<Units>(1, balanced_ / granularity_ / kStepsOfShare) * granularity_;
        searching_ = processors > 1;
    } else if (searching_ && ended) {
        learn();
        if (load.runs_expected > 0 && load.run > load.runs_expected / kRunsPerSearch) searching_ = false;
        if (!searching_)
            choose();
        else if (runs_ > 1)
            offset_ += step_;
    } else if (compared_left_ > 0 && ended) {
        compare();
    }
    shares_.assign(load.processors.size(), {});
    ++runs_;
}

void OffsetSearch::add(const FinishedBlock& block) {
    Share& share = shares_[static_cast<std::size_t>(block.processor)];
    share.units += block.units;
    share.busy_s += block.busy_s;
    share.end_s = std::max(share.end_s, block.end_s);
}

double OffsetSearch::end_s() const {
    double end_s = 0;
    for (const Share& share : shares_) end_s = std::max(end_s, share.end_s);
    return end_s;
}

/// The run before is one step of the search. The very first warms up: it is repeated, and not counted.
void OffsetSearch::learn() {
    if (runs_ == 1) return;
    for (std::size_t p = 0; p < shares_.size(); ++p) {
        const bool paired = p % 2 == 1 || p + 1 < shares_.size();
        const Units size = !paired ? balanced_ : p % 2 == 0 ? balanced_ - offset_ : balanced_ + offset_;
        if (shares_[p].units == 0) continue;
        times_[size].seconds += shares_[p].busy_s;
        ++times_[size].count;
    }
    best_s_ = std::min(best_s_, end_s());
    if (end_s() > kDrop * best_s_ || runs_ > kMostRuns || offset_ + step_ > balanced_) searching_ = false;
}

void OffsetSearch::choose() {
    PlanProblem problem;
    problem.units = balanced_ * static_cast<Units>(shares_.size());
    problem.granularity = granularity_;
    DiscreteTimes times;
    for (const auto& [units, sum] : times_) {
        times.points.push_back(units);
        times.seconds.push_back(sum.seconds / sum.count);
    }
    problem.processors.assign(shares_.size(), times);
    const Plan plan = run_planner(*find_planner("imbalance"), problem);
    found_ = plan.shares.size() > 1 ? plan.shares[1] - balanced_ : 0;
    chosen_s_ = plan.shares.empty() ? std::nan("") : plan.makespan_s;
    offset_ = 0;
    compared_left_ = found_ == 0 ? 0 : 2 * kComparisons;
}

/// The run before was one of those that compare what was found with equal shares, in turn.
void OffsetSearch::compare() {
    double& least_s = offset_ == 0 ? equal_s_ : found_s_;
    least_s = std::min(least_s, end_s());
    offset_ = offset_ == 0 ? found_ : 0;
    if (--compared_left_ > 0) return;
    offset_ = found_s_ < equal_s_ ? found_ : 0;
    if (offset_ == 0) chosen_s_ = equal_s_;
}

std::string OffsetSearch::note() const {
    if (searching_) return fmt::format("no profile: searching, offset {} of {} units", offset_, balanced_);
    if (compared_left_ > 0)
        return fmt::format("no profile: comparing offset {} of {} units with equal shares", found_, balanced_);
    return fmt::format("no profile: offset {} of {} units found by trying", offset_, balanced_);
}

class Imbalance final : public Policy {
  public:
    void begin(const LoadDescription& load) override {
        for (const Processor& processor : load.processors)
            if (processor.kind != load.processors.front().kind)
                throw PolicyError(fmt::format(
                    "imbalance needs identical processors, but '{}' and '{}' are not; choose another policy, or let "
                    "StarPU use alike ones only (STARPU_NCPU, STARPU_NCUDA)",
                    load.processors.front().name, processor.name));
        recorded_ = load.recorded.processors.size() == load.processors.size();
        if (!recorded_) search_.begin(load, ended_well_);
        ended_well_ = true;
        first_plan_ = true;
        if (!recorded_) static_.forget_plan();
        static_.begin(recorded_ ? load : without_profile(load));
    }

    Units next_block(int processor, double now_s, const Progress& progress) override {
        return static_.next_block(processor, now_s, progress);
    }

    void block_finished(const FinishedBlock& block) override {
        static_.block_finished(block);
        if (!recorded_) search_.add(block);
    }

    void processor_lost(int processor) override {
        static_.processor_lost(processor);
        ended_well_ = false;
    }

    PolicyReport report() const override {
        PolicyReport report = static_.report();
        if (recorded_) return report;
        report.profile.clear();
        report.note = search_.note();
        for (PlannedDistribution& distribution : report.distributions)
            distribution.predicted_end_s = search_.predicted_s();
        return report;
    }

    bool plans_from_profile() const override { return true; }

  private:
    /// Stands in for times that nobody knows: all shares as one block, where memory does not bound it.
    static LoadDescription without_profile(const LoadDescription& load) {
        LoadDescription assumed = load;
        assumed.recorded = {};
        for (const Processor& processor : load.processors)
            assumed.recorded.processors.push_back({processor.name, {{std::max<Units>(load.units, 1), 1.0, 0, 0}}});
        assumed.links.clear();
        return assumed;
    }

    Plan plan(const RecordedProblem& problem) {
        if (recorded_) return algorithm_1(problem);
        const Teams teams = teams_of(problem, 1);
        Plan plan;
        plan.shares = shares_at(teams, first_plan_ ? search_.offset() : 0, problem.lost.size());
        first_plan_ = false;
        return plan;
    }

    StaticPolicy static_{[this](const RecordedProblem& problem) { return plan(problem); }};
    OffsetSearch search_;
    bool recorded_ = false;
    bool first_plan_ = true;
    bool ended_well_ = true;  ///< nobody was lost in the run before
};

}  // namespace

extern const char* const describe_imbalance;
const char* const describe_imbalance = "identical processors: shares that differ on purpose, by profile or by trying";

std::unique_ptr<Policy> make_imbalance() { return std::make_unique<Imbalance>(); }

}  // namespace apportion
