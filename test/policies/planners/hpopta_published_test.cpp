// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta/hpopta_published.hpp"

#include <cmath>

#include "test/catch.hpp"
#include "test/policies/planners/profiles.hpp"
#include "test/published/hpopta.hpp"

using namespace apportion;
using namespace profiles;

namespace {

template <typename To, typename From>
std::vector<To> as(const std::vector<From>& from) {
    return {from.begin(), from.end()};
}

void check_same(const PublishedTrace::Solution& found, const published::hpopta::Solution& expected) {
    CHECK(as<int>(found.shares) == expected.distribution);
    CHECK(found.seconds == expected.seconds);
    CHECK(as<int>(found.size_thresholds) == expected.size_thresholds);
}

const PublishedTrace::Solution* find(const PublishedTrace& trace, const published::hpopta::Solution& wanted) {
    for (const PublishedTrace::Solution& solution : trace.solutions)
        if (as<int>(solution.shares) == wanted.distribution) return &solution;
    return nullptr;
}

template <std::size_t Count>
void check_saved(const PublishedTrace::Solution& found, const std::array<published::hpopta::Saved, Count>& expected) {
    REQUIRE(found.saved.size() == Count);
    for (std::size_t k = 0; k < Count; ++k) {
        CHECK(found.saved[k].level == expected[k].level);
        CHECK(found.saved[k].size == expected[k].size);
        CHECK(found.saved[k].index == expected[k].index);
        CHECK(found.saved[k].seconds == expected[k].seconds);
    }
}

}  // namespace

TEST_CASE("the published example runs as told: thresholds, intermediate solutions, memory, optimum") {
    const PlanProblem problem = published_example();
    PublishedTrace trace;
    const Plan plan = plan_hpopta_published(problem, trace);
    require_optimal(problem, problem.units, plan, 1);
    check_same(trace.start, published::hpopta::kLoadEqual);

    const auto* figure_9 = find(trace, published::hpopta::kFigure9);
    const auto* figure_11 = find(trace, published::hpopta::kFigure11);
    REQUIRE(figure_9);
    REQUIRE(figure_11);
    CHECK(figure_9 < figure_11);
    check_same(*figure_9, published::hpopta::kFigure9);
    check_same(*figure_11, published::hpopta::kFigure11);
    check_saved(*figure_9, published::hpopta::kSavedAtFigure9);
    check_saved(*figure_11, published::hpopta::kSavedAtFigure11);
    check_same(trace.solutions.back(), published::hpopta::kOptimum);
    CHECK(trace.cuts > 0);
    CHECK(trace.backtracks > 0);
    CHECK(trace.rejected == 1);  // size 8 at level 2, saved with time 4, in Fig. 12
    CHECK(trace.reads == 0);
}

TEST_CASE("every solution of the published search is faster than the one before") {
    Generator generator(1);
    for (int instance = 0; instance < 200; ++instance) {
        PublishedTrace trace;
        plan_hpopta_published(generator.problem(instance % kShapes, 5, 40), trace);
        double tau = trace.start.seconds;
        for (const PublishedTrace::Solution& solution : trace.solutions) {
            REQUIRE(solution.seconds < tau);
            tau = solution.seconds;
        }
    }
}

TEST_CASE("cells that are not final are resumed, and no optimum is lost") {
    Generator generator(2);
    std::int64_t resumed = 0, reads = 0, rejected = 0;
    for (int instance = 0; instance < 600; ++instance) {
        const PlanProblem problem = generator.problem(instance % kShapes, 6, 30);
        PublishedTrace trace;
        const Plan plan = plan_hpopta_published(problem, trace);
        const double expected = smallest_makespans(problem, problem.units)[static_cast<std::size_t>(problem.units)];
        if (std::isfinite(expected)) require_optimal(problem, problem.units, plan, expected);
        resumed += trace.resumed, reads += trace.reads, rejected += trace.rejected;
    }
    CHECK(resumed > 0);
    CHECK(reads > 0);
    CHECK(rejected > 0);
}

TEST_CASE("the published algorithm refuses a number of units that its memory cannot hold") {
    PlanProblem problem = published_example();
    for (DiscreteTimes& times : problem.processors)
        for (Units& size : times.points) size *= 1'000'000'000;
    problem.units = 16'000'000'000;
    CHECK(plan_hpopta_published(problem).failure ==
          "hpopta-published would need a memory of 64000 million cells for 16000000000 units; use hpopta or a coarser "
          "granularity");
    problem.granularity = 1'000'000'000;
    require_optimal(problem, problem.units, plan_hpopta_published(problem), 1);
}
