// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test/policies/planners/profiles.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "test/catch.hpp"
#include "test/published/hpopta.hpp"

namespace profiles {

PlanProblem Generator::problem(int shape, int processors, int points) {
    PlanProblem result;
    const Units scale = one_in(5) ? integer(2, 64) : 1;  // sizes in multiples of it
    const Units count = integer(1, processors);
    for (Units i = 0; i < count; ++i) {
        const Units density = integer(0, 2), largest = integer(1, points);
        const double slope = static_cast<double>(integer(1, 8));
        DiscreteTimes times;
        times.processor = "P" + std::to_string(i);
        for (Units x = 1; x <= largest; ++x) {
            if ((density == 1 && one_in(4)) || (density == 2 && !one_in(10))) continue;
            times.points.push_back(x * scale);
            times.seconds.push_back(seconds(shape, i, x, largest, slope));
        }
        result.processors.push_back(times);
    }
    if (one_in(6)) result.granularity = integer(1, 4) * (one_in(2) ? scale : 1);
    if (one_in(6))
        for (Units i = 0; i < count; ++i) result.maximum_units.push_back(integer(0, points * scale));
    result.units = units(result);
    return result;
}

Units Generator::units(const PlanProblem& problem) {
    Units most = 2;
    for (const DiscreteTimes& times : problem.processors) most += times.points.empty() ? 0 : times.points.back();
    const Units any = integer(0, most);
    return one_in(2) ? any : any / problem.granularity * problem.granularity;
}

double Generator::seconds(int shape, Units processor, Units size, Units largest, double slope) {
    const double x = static_cast<double>(size);
    const auto whole = [&](Units from, Units to) { return static_cast<double>(integer(from, to)); };
    switch (shape) {
        case 0:
            return whole(1, 20);  // many ties
        case 1:
            return x * slope + whole(0, 10);  // a noisy line
        case 2:
            return size % 2 == 0 ? x : 1000 + whole(1, 50);  // parity
        case 3:
            return whole(1, 3);  // hardly any different times
        case 4:
            return std::max(1.0, std::floor(x / 5) * 5);  // plateaus
        case 5:
            return processor == 0 ? 1e6 : x * slope + whole(0, 50);  // one useless processor
        case 6:
            return size % 6 == 0 ? x / 6 : 500 + whole(0, 200);  // multiples of 6
        case 7:
            return size == 3 || size == largest ? 1 : 100 + whole(0, 1000);  // two sizes
        case 8:
            return size % 20 < 3 ? x : 1000 + x;  // bands
        case 9:
            return static_cast<double>(largest) - x + 1;  // the larger the faster
        case 10:
            return size % 6 == 0 ? whole(1, 5) : size % 10 == 0 ? whole(5, 10) : whole(100, 200);
        default:
            return x * real(0.1, 1);  // rippled
    }
}

PlanProblem published_example() {
    PlanProblem problem;
    problem.units = published::hpopta::kUnits;
    for (const auto& seconds : published::hpopta::kTimes) {
        DiscreteTimes times;
        times.processor = "P" + std::to_string(problem.processors.size());
        for (std::size_t k = 0; k < seconds.size(); ++k) {
            times.points.push_back(static_cast<Units>(k) + 1);
            times.seconds.push_back(seconds[k]);
        }
        problem.processors.push_back(times);
    }
    return problem;
}

bool allowed(const PlanProblem& problem, std::size_t processor, Units size) {
    return size % problem.granularity == 0 &&
           (problem.maximum_units.empty() || size <= problem.maximum_units[processor]);
}

std::vector<double> smallest_makespans(const PlanProblem& problem, Units limit) {
    std::vector<double> best(static_cast<std::size_t>(limit) + 1, INFINITY);
    best[0] = 0;
    for (std::size_t i = 0; i < problem.processors.size(); ++i) {
        const DiscreteTimes& times = problem.processors[i];
        std::vector<double> next = best;
        for (std::size_t k = 0; k < times.points.size(); ++k) {
            if (!allowed(problem, i, times.points[k])) continue;
            const auto size = static_cast<std::size_t>(times.points[k]);
            for (std::size_t sum = size; sum < best.size(); ++sum)
                next[sum] = std::min(next[sum], std::max(best[sum - size], times.seconds[k]));
        }
        best = next;
    }
    return best;
}

double brute_force(const PlanProblem& problem, Units units, std::size_t processor) {
    if (processor == problem.processors.size()) return units == 0 ? 0 : INFINITY;
    double best = brute_force(problem, units, processor + 1);
    const DiscreteTimes& times = problem.processors[processor];
    for (std::size_t k = 0; k < times.points.size() && times.points[k] <= units; ++k)
        if (allowed(problem, processor, times.points[k]))
            best = std::min(best,
                            std::max(times.seconds[k], brute_force(problem, units - times.points[k], processor + 1)));
    return best;
}

void require_optimal(const PlanProblem& problem, Units units, const Plan& plan, double makespan) {
    REQUIRE(plan.failure == "");
    REQUIRE(plan.shares.size() == problem.processors.size());
    Units sum = 0;
    double slowest = 0;
    for (std::size_t i = 0; i < plan.shares.size(); ++i) {
        const Units share = plan.shares[i];
        sum += share;
        double seconds = 0;
        if (share != 0) {
            const DiscreteTimes& times = problem.processors[i];
            const auto found = std::find(times.points.begin(), times.points.end(), share);
            REQUIRE(found != times.points.end());
            REQUIRE(allowed(problem, i, share));
            seconds = times.seconds[static_cast<std::size_t>(found - times.points.begin())];
        }
        REQUIRE(plan.times_s[i] == seconds);
        slowest = std::max(slowest, seconds);
    }
    REQUIRE(sum == units);
    REQUIRE(slowest == makespan);
    REQUIRE(plan.makespan_s == makespan);
    REQUIRE(plan.lower_bound_s == makespan);
    REQUIRE(plan.optimal);
}

void require_impossible(Units units, const Plan& plan, const std::vector<double>& makespans) {
    REQUIRE(plan.shares.empty());
    REQUIRE_FALSE(plan.optimal);
    INFO(plan.failure);
    Units distance = std::numeric_limits<Units>::max();
    for (std::size_t sum = 1; sum < makespans.size(); ++sum)
        if (std::isfinite(makespans[sum])) distance = std::min(distance, std::abs(static_cast<Units>(sum) - units));
    const Units named = std::stoll(plan.failure.substr(plan.failure.rfind(' ')));
    if (distance == std::numeric_limits<Units>::max()) {
        REQUIRE(named == 0);
    } else {
        REQUIRE(named > 0);
        REQUIRE(std::isfinite(makespans.at(static_cast<std::size_t>(named))));
        REQUIRE(std::abs(named - units) == distance);
    }
}

Units most_units(const PlanProblem& problem) {
    Units sum = 0;
    for (const DiscreteTimes& times : problem.processors) sum += times.points.empty() ? 0 : times.points.back();
    return sum;
}

}  // namespace profiles
