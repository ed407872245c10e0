// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/imbalance.hpp"

#include <algorithm>
#include <span>

#include "test/catch.hpp"
#include "test/published/mpdata.hpp"

using namespace apportion;
using namespace published::mpdata;

namespace {

/// Teams with the predicted times: that of an offset is the time of the larger sub-domain; the smaller one runs at the
/// printed speed of 112 frames.
PlanProblem mpdata(int balanced, std::span<const Offset> offsets, double speed_of_smaller) {
    DiscreteTimes times;
    for (std::size_t k = offsets.size(); k-- > 1;) {
        times.points.push_back(balanced - offsets[k].frames);
        times.seconds.push_back(balanced * 128.0 * (balanced - offsets[k].frames) / speed_of_smaller);
    }
    for (const Offset& offset : offsets) {
        times.points.push_back(balanced + offset.frames);
        times.seconds.push_back(offset.seconds);
    }
    PlanProblem problem;
    problem.units = Units{kTeams} * balanced;
    problem.granularity = kGranularity;
    for (int team = 0; team < kTeams; ++team) {
        times.processor = "T" + std::to_string(team);
        problem.processors.push_back(times);
    }
    return problem;
}

}  // namespace

TEST_CASE("Algorithm 1 finds the offset of 8 frames for the 240 x 240 x 128 domain, 1.386 s") {
    const Plan plan = plan_imbalance(mpdata(kBalanced240, kOffsets240, kSpeedOf112));
    REQUIRE(plan.failure == "");
    CHECK(plan.shares == std::vector<Units>{112, 128, 112, 128});
    CHECK(plan.makespan_s == Approx(1.386));
    CHECK(plan.times_s[0] == Approx(1.197).epsilon(5e-4));
}

TEST_CASE("offsets that are no multiples of the granularity are found with a finer one") {
    std::vector<Offset> offsets(kOffsets240.begin(), kOffsets240.end());
    offsets.insert(offsets.end(), kOddOffsets240.begin(), kOddOffsets240.end());
    std::sort(offsets.begin(), offsets.end(), [](const Offset& a, const Offset& b) { return a.frames < b.frames; });
    offsets[3].seconds = 1.380;  // 7 frames, were they this fast
    PlanProblem problem = mpdata(kBalanced240, offsets, kSpeedOf112);
    CHECK(plan_imbalance(problem).shares == std::vector<Units>{112, 128, 112, 128});
    problem.granularity = 1;
    CHECK(plan_imbalance(problem).shares == std::vector<Units>{113, 127, 113, 127});
}

TEST_CASE("where larger shares take longer, equal shares stay, and an odd processor keeps its own") {
    PlanProblem problem;
    problem.units = 30;
    for (int i = 0; i < 3; ++i) problem.processors.push_back({"P", {5, 8, 10, 12, 15, 20}, {1, 2, 3, 4, 5, 6}});
    CHECK(plan_imbalance(problem).shares == std::vector<Units>{10, 10, 10});
    for (DiscreteTimes& times : problem.processors) times.seconds = {1, 2, 3, 2.5, 2, 2.9};
    CHECK(plan_imbalance(problem).shares == std::vector<Units>{5, 15, 10});
    problem.maximum_units = {20, 14, 20};
    CHECK(plan_imbalance(problem).shares == std::vector<Units>{8, 12, 10});
}

TEST_CASE("half of the processors may be left out") {
    PlanProblem problem;
    problem.units = 20;
    for (int i = 0; i < 2; ++i) problem.processors.push_back({"P", {10, 20}, {3, 2}});
    CHECK(plan_imbalance(problem).shares == std::vector<Units>{0, 20});
}

TEST_CASE("equal shares that are not measured are refused with the nearest number that is") {
    PlanProblem problem;
    problem.units = 31;
    for (int i = 0; i < 3; ++i) problem.processors.push_back({"P", {5, 10, 20}, {1, 2, 3}});
    const auto refused = [](const std::string& units, const std::string& advice) {
        return "imbalance starts from equal shares, which " + units +
               " on 3 processors do not give at a measured size; " + advice;
    };
    CHECK(plan_imbalance(problem).failure == refused("31 units", "the nearest number that can be distributed is 30"));
    problem.units = 1;
    CHECK(plan_imbalance(problem).failure == refused("1 unit", "the nearest number that can be distributed is 15"));
    problem.processors.back().points = {7};
    problem.processors.back().seconds = {1};
    CHECK(plan_imbalance(problem).failure == refused("1 unit", "no such size is measured on all of them"));
}
