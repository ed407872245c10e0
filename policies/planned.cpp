// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The policies that cut a load once, by recorded times of its kernel (static_policy.hpp): a planner each. Beyond the
// papers, they plan with times of whole shares, transfers and blocks included (recorded_plan.hpp).
#include <algorithm>
#include <cmath>

#include "policies/config.hpp"
#include "policies/planners/assignment/data_assignment.hpp"
#include "policies/planners/planner_table.hpp"
#include "policies/shared/recorded_plan.hpp"
#include "policies/shared/static_policy.hpp"

namespace apportion {

namespace {

// A recorded problem as the data assignment problem of Boinski and Czarnul (planners/assignment/data_assignment.hpp):
// main memory with all its processors is one node without transfers, and each device with its own memory is a node of
// one unit.
//
// What a packet costs is constant in that model: c_j the kernels' seconds, w_N the transfers' that are not hidden
// behind kernels (the paper's "effective" bandwidth), a_N half of the link's latency. Here they depend on the share,
// through start-up, blocks and overlap. So they are taken from the best-time curve at the share of the plan before, at
// first an equal one, until the shares stay; the plan of the smallest makespan is kept. Memory bounds blocks, not
// shares: a share that exceeds it runs as several blocks, which c_j and w_N contain.
//
// A serial network is the paper's, whose transfers neither overlap each other nor kernels: w_N is all of them, and a
// plan is judged by the sum. StarPU overlaps both, so that it is no prediction here.

constexpr int kMostRounds = 10;

/// Seconds of a share's transfers that its kernels do not hide; over a serial network they hide none.
double transfers_s(const RecordedProblem& problem, std::size_t p, Units share, const ShareRun& run, Network network) {
    const LoadDescription::Link link = problem.load->links.empty() ? LoadDescription::Link{} : problem.load->links[p];
    if (network == Network::serial) return link.seconds_per_unit() * static_cast<double>(share);
    return std::max(0.0, run.seconds - run.kernel_s - link.latency_s());
}

/// The costs of a packet, which is one step, at the given shares.
DataAssignment assignment_at(const RecordedProblem& problem, std::span<const Units> shares, Network network) {
    DataAssignment assignment;
    const Units step = problem.shares.granularity;
    assignment.packets = problem.shares.units / step;
    assignment.network = network;
    assignment.nodes.push_back({"main memory", 0, 0, kNoLimit});
    for (std::size_t p = 0; p < shares.size(); ++p) {
        const Processor& processor = problem.load->processors[p];
        const ShareRun run = run_of(problem.times[p], shares[p]);
        const Units packets = shares[p] / step;
        const bool admitted = run.seconds < INFINITY && !problem.lost[p];
        AssignmentUnit unit;
        unit.name = processor.name;
        unit.seconds_per_packet = admitted ? (problem.busy_s[p] + run.kernel_s) / static_cast<double>(packets) : 1;
        unit.computing_per_packet_s = unit.seconds_per_packet;
        unit.maximum_packets = admitted ? kNoLimit : 0;
        if (processor.own_memory) {
            const double latency_s = problem.load->links.empty() ? 0 : problem.load->links[p].latency_s();
            const double travel_s = admitted ? transfers_s(problem, p, shares[p], run, network) : 0;
            unit.node = assignment.nodes.size();
            assignment.nodes.push_back(
                {processor.name, latency_s / 2, travel_s / static_cast<double>(packets), kNoLimit});
        }
        assignment.units.push_back(std::move(unit));
    }
    return assignment;
}

/// By the costs at these shares; in parallel, by their best-time curves.
double makespan_of(const RecordedProblem& problem, std::span<const Units> shares, std::span<const Units> reference,
                   Network network) {
    if (network == Network::serial) {
        std::vector<Units> packets(shares.begin(), shares.end());
        for (Units& share : packets) share /= problem.shares.granularity;
        return makespan(assignment_at(problem, reference, network), packets);
    }
    double makespan_s = 0;
    for (std::size_t p = 0; p < shares.size(); ++p)
        makespan_s = std::max(makespan_s, share_seconds(problem, p, shares[p]));
    return makespan_s;
}

/// By the assignment planner of that name (planner_table.hpp).
Plan plan_assignment(const RecordedProblem& problem, const char* planner, Network network) {
    const AssignmentPlannerEntry& entry = *find_assignment_planner(planner);
    const Units step = problem.shares.granularity;
    const auto processors = static_cast<Units>(problem.times.size());
    std::vector<Units> reference(problem.times.size(),
                                 std::max<Units>(problem.shares.units / processors / step, 1) * step);
    Plan best;
    double best_s = INFINITY, solve_s = 0;
    for (int round = 0; round < kMostRounds; ++round) {
        Plan plan = run_planner(entry, assignment_at(problem, reference, network), 0);
        solve_s += plan.solve_s;
        if (!plan.failure.empty()) {
            if (best.shares.empty()) best = plan;
            break;
        }
        for (Units& share : plan.shares) share *= step;
        std::vector<Units> next = reference;  // without a share: judged by the last one
        for (std::size_t p = 0; p < next.size(); ++p)
            if (plan.shares[p] > 0) next[p] = plan.shares[p];
        const double makespan_s = makespan_of(problem, plan.shares, next, network);
        if (makespan_s < best_s) {
            best_s = makespan_s;
            best = std::move(plan);
        }
        if (next == reference) break;
        reference = std::move(next);
    }
    best.solve_s = solve_s;
    return best;
}

using PlanWith = Plan(const RecordedProblem& problem, const char* planner);

template <PlanWith plan, const char* planner>
std::unique_ptr<Policy> make_planned() {
    return std::make_unique<StaticPolicy>([](const RecordedProblem& problem) { return plan(problem, planner); });
}

Plan plan_packets(const RecordedProblem& problem, const char* planner) {
    return plan_assignment(problem, planner, serial_network_option() ? Network::serial : Network::parallel);
}

// Planners' names, as in planners/planner_table.cpp.
constexpr char kCpm[] = "cpm";
constexpr char kFpm[] = "fpm";
constexpr char kFpmAkima[] = "fpm-akima";
constexpr char kHpopta[] = "hpopta";
constexpr char kIlp[] = "ilp";
constexpr char kMinMin[] = "min-min-v2";

}  // namespace

/// Constant performance model (Clarke et al., FuPerMod, section 4; HPOPTA, section 6). The speed is that of an equal
/// share, n / p units: HPOPTA's comparison takes reference sizes of its own, FuPerMod one size that is given. Good
/// where speeds hardly depend on the size; otherwise the yardstick for the functional models.
extern const PolicyEntry cpm_policy{.name = "cpm",
                                    .description = "shares in proportion to one recorded speed of each processor",
                                    .make = make_planned<plan_curves, kCpm>,
                                    .profile = ProfileUse::required};

/// Functional performance models, piecewise linear and restricted in shape, by geometrical bisection (Clarke et al.,
/// FuPerMod, section 4; planners/continuous/geometric.hpp). What the bisection decides in real numbers becomes whole
/// granules by earliest finish. Optimal where times grow with sizes; slow outliers of a profile are left out of the
/// model.
extern const PolicyEntry fpm_policy{
    .name = "fpm",
    .description = "equal finish by bisection on recorded speed functions of restricted shape",
    .make = make_planned<plan_curves, kFpm>,
    .profile = ProfileUse::required};

/// Akima splines of any smooth shape by Newton's method (Clarke et al., FuPerMod, section 4;
/// planners/continuous/numerical.hpp). Of several balanced distributions it finds the one near fpm's.
extern const PolicyEntry fpm_akima_policy{
    .name = "fpm-akima",
    .description = "equal finish by Newton's method on splines of recorded speeds",
    .make = make_planned<plan_curves, kFpmAkima>,
    .profile = ProfileUse::required};

/// The smallest makespan over discrete time functions of any shape; a processor may get nothing, and processors need
/// not finish together (Khaleghzadeh, Reddy, Lastovetsky, HPOPTA, sections 3-5; planners/hpopta/hpopta.hpp, exact). A
/// sparse profile is planned at interpolated sizes, a fine one at recorded sizes only, without those that were left
/// out.
extern const PolicyEntry hpopta_policy{.name = "hpopta",
                                       .description = "smallest makespan for recorded times of any shape",
                                       .make = make_planned<plan_curves, kHpopta>,
                                       .profile = ProfileUse::required};

/// The optimal assignment of equal packets of data to nodes and their units, with transfers and start-up (Boinski,
/// Czarnul, The Computer Journal 2021, section 3; planners/assignment/ilp.cpp, by the problem's structure rather than a
/// solver). Links carry data at the same time, as StarPU's do and as equation 3 is printed; over a serial network
/// (APPORTION_NETWORK=serial) the plan is the one that the paper's results are of.
extern const PolicyEntry ilp_policy{
    .name = "ilp",
    .description = "optimal assignment by recorded costs of a unit, its transfers and start-up",
    .make = make_planned<plan_packets, kIlp>,
    .profile = ProfileUse::required};

/// Version 2 of the heuristic that Boinski and Czarnul compare with (The Computer Journal 2021, section 4.4;
/// planners/assignment/min_min.cpp).
extern const PolicyEntry min_min_policy{
    .name = "min-min",
    .description = "each unit to the processor that would finish it first, by recorded costs",
    .make = make_planned<plan_packets, kMinMin>,
    .profile = ProfileUse::required};

}  // namespace apportion
