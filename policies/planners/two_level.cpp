// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/two_level.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string_view>

#include "policies/planners/hpopta/hpopta.hpp"

namespace apportion {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr Units kLongestCurve = Units{1} << 26;  // points, 1 GiB with what makes them

struct Node {
    std::vector<std::size_t> members;  ///< numbers of processors
    std::vector<SizeTimes> sizes;      ///< of the members
    DiscreteTimes curve;
};

// In order of the nodes' numbers.
std::vector<Node> make_nodes(const DiscreteProblem& problem, std::span<const int> node_of, Units units) {
    std::map<int, Node> by_number;
    for (std::size_t i = 0; i < problem.processors().size(); ++i) {
        Node& node = by_number[node_of[i]];
        node.members.push_back(i);
        node.sizes.push_back(problem.processors()[i]);
    }
    std::vector<Node> nodes;
    for (auto& [number, node] : by_number) {
        node.curve = best_time_curve(node.sizes, units);
        nodes.push_back(std::move(node));
    }
    return nodes;
}

// Empty when there is no distribution.
std::vector<Units> distribute(const std::vector<Node>& nodes, Units units, std::size_t processors) {
    std::vector<SizeTimes> curves;
    for (const Node& node : nodes) curves.emplace_back(node.curve.points, node.curve.seconds);
    const std::vector<Units> node_shares = HpoptaSearch(curves).distribute(units);
    if (node_shares.empty()) return {};
    std::vector<Units> result(processors);
    for (std::size_t k = 0; k < nodes.size(); ++k) {
        const std::vector<Units> shares = HpoptaSearch(nodes[k].sizes).distribute(node_shares[k]);
        for (std::size_t j = 0; j < shares.size(); ++j) result[nodes[k].members[j]] = shares[j];
    }
    return result;
}

}  // namespace

DiscreteTimes best_time_curve(std::span<const SizeTimes> processors, Units limit) {
    Units step = 0, capacity = 0;
    for (const SizeTimes& sizes : processors) {
        for (std::size_t k = 0; k < sizes.count() && step != 1; ++k) step = std::gcd(step, sizes.size(k));
        capacity = std::min(limit, capacity + sizes.largest());
    }
    DiscreteTimes curve;
    if (step == 0) return curve;
    if (capacity / step > kLongestCurve) throw std::length_error("too many points of a best-time curve");
    HpoptaSearch search(processors, true);
    for (Units units = step; units <= capacity; units += step) {
        const double seconds = search.makespan_s(units);
        if (seconds == kInfinity) continue;
        curve.points.push_back(units);
        curve.seconds.push_back(seconds);
    }
    return curve;
}

Plan plan_two_level(const PlanProblem& problem, std::span<const int> node_of) {
    Plan plan;
    const DiscreteProblem discrete(problem, problem.units);
    plan.failure = discrete.why_impossible(problem.units);
    if (!plan.failure.empty()) return plan;
    try {
        plan.shares =
            distribute(make_nodes(discrete, node_of, problem.units), problem.units, problem.processors.size());
    } catch (const std::length_error&) {
        plan.failure = kTooManySums;
        return plan;
    }
    if (plan.shares.empty()) {
        plan.failure = discrete.why_unreachable(problem.units);
    } else {
        finish_optimal(plan, discrete);
    }
    return plan;
}

Plan plan_two_level(const PlanProblem& problem) {
    std::map<std::string_view, int> numbers;
    std::vector<int> node_of;
    for (const DiscreteTimes& times : problem.processors) {
        const std::string_view name = times.processor;
        const std::string_view node = name.substr(0, name.find('/') == name.npos ? 0 : name.find('/'));
        node_of.push_back(numbers.emplace(node, static_cast<int>(numbers.size())).first->second);
    }
    return plan_two_level(problem, node_of);
}

}  // namespace apportion
