// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/shared/assignment_plan.hpp"

#include <algorithm>
#include <cmath>

#include "policies/planners/planner_table.hpp"

namespace apportion {

namespace {

constexpr int kMostRounds = 10;

/// Seconds of a share's transfers that its kernels do not hide; over a serial network they hide none.
double transfers_s(const RecordedProblem& problem, std::size_t p, Units share, const ShareRun& run, Network network) {
    const LoadDescription::Link link = problem.load->links.empty() ? LoadDescription::Link{} : problem.load->links[p];
    if (network == Network::serial) return link.seconds_per_unit * static_cast<double>(share);
    return std::max(0.0, run.seconds - run.kernel_s - link.latency_s);
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
            const double latency_s = problem.load->links.empty() ? 0 : problem.load->links[p].latency_s;
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

}  // namespace

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

}  // namespace apportion
