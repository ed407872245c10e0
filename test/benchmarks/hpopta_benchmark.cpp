// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How long hpopta takes: cold (nothing prepared, instances and n shuffled), prepared, on adversarial profiles, and how
// it and the published branch and bound grow with points and processors. Prints median and spread of the repetitions
// and the ratio to merely reading the times; exits with 1 when a target is missed. In processor time of one core.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "policies/planners/hpopta/hpopta.hpp"
#include "policies/planners/hpopta/hpopta_published.hpp"

using namespace apportion;

namespace {

constexpr int kRepetitions = 7;

using Random = std::mt19937_64;

/// Fills in the time of size x of processor i.
using Shape = std::function<double(Units x, int i, Random& random)>;

double uniform(Random& random, double from, double to) { return std::uniform_real_distribution<>(from, to)(random); }

// Speeds that rise and then saturate, with ripples of a third and noise: like the speed functions of section 1.
double rippled(Units x, int i, Random& random) {
    const double size = static_cast<double>(x), speed = (1 + i % 5) * size / (size + 40.0 * (1 + i % 3));
    return size / (speed * (1 + 0.3 * std::sin(size / (3 + i % 7))) * uniform(random, 0.8, 1));
}

double smooth(Units x, int i, Random&) { return static_cast<double>(x) * (1 + i % 5) + 1e-3 * (i + 1); }

struct Adversary {
    const char* name;
    Shape seconds;
};

const std::vector<Adversary> kAdversaries = {
    {"parity",
     [](Units x, int, Random& random) { return x % 2 == 0 ? static_cast<double>(x) : uniform(random, 1e5, 2e5); }},
    {"ties", [](Units x, int, Random& random) { return x % 3 == 0 ? 1.0 : std::floor(uniform(random, 2, 5)); }},
    {"two sizes",
     [](Units x, int i, Random& random) { return x == 37 + i || x == 601 + 3 * i ? 1 : uniform(random, 100, 200); }},
    {"bands",
     [](Units x, int, Random& random) { return x % 100 < 7 ? static_cast<double>(x) : uniform(random, 1e5, 2e5); }},
    {"multiples of 6",
     [](Units x, int, Random& random) { return x % 6 == 0 ? uniform(random, 1, 2) : uniform(random, 10, 20); }},
    {"multiples of 6 and 10",
     [](Units x, int i, Random& random) {
         return x % (i % 2 ? 6 : 10) == 0 ? uniform(random, 1, 2) : uniform(random, 10, 20);
     }},
    {"random", [](Units, int, Random& random) { return uniform(random, 1, 2); }},
    {"descending", [](Units x, int, Random&) { return 1e6 - static_cast<double>(x); }},
    {"rippled", rippled},
    {"smooth", smooth},
};

PlanProblem make_problem(int points, int processors, const Shape& seconds, Random& random) {
    PlanProblem problem;
    problem.processors.resize(static_cast<std::size_t>(processors));
    for (int i = 0; i < processors; ++i) {
        DiscreteTimes& times = problem.processors[static_cast<std::size_t>(i)];
        times.processor = fmt::format("P{}", i);
        times.points.resize(static_cast<std::size_t>(points));
        std::iota(times.points.begin(), times.points.end(), Units{1});
        for (const Units x : times.points) times.seconds.push_back(seconds(x, i, random));
    }
    return problem;
}

// 1090 of the sizes 16, 32, ..., 24000, the same for all processors: others "fail".
PlanProblem make_fft_problem(Random& random) {
    std::vector<Units> sizes;
    for (Units k = 1; k <= 1500; ++k) sizes.push_back(16 * k);
    std::shuffle(sizes.begin(), sizes.end(), random);
    sizes.resize(1090);
    std::sort(sizes.begin(), sizes.end());
    PlanProblem problem;
    for (int i = 0; i < 3; ++i) {
        DiscreteTimes times{fmt::format("P{}", i), sizes, {}};
        for (const Units x : sizes) times.seconds.push_back(rippled(x / 16, i, random));
        problem.processors.push_back(std::move(times));
    }
    return problem;
}

struct Timing {
    double median_us = 0, least_us = 0, most_us = 0;
};

/// Processor time, so that other programs on the machine do not count.
double now_us() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

// Time of one of `calls` calls.
Timing measure(int calls, const std::function<void(int call)>& run) {
    std::vector<double> times_us;
    for (int repetition = 0; repetition <= kRepetitions; ++repetition) {
        const double begin_us = now_us();
        for (int call = 0; call < calls; ++call) run(call);
        if (repetition > 0) times_us.push_back((now_us() - begin_us) / calls);  // the first one warms up
    }
    std::sort(times_us.begin(), times_us.end());
    return {times_us[kRepetitions / 2], times_us.front(), times_us.back()};
}

bool report(const std::string& what, const Timing& timing, double target_us, const std::string& note = "") {
    const bool met = target_us == 0 || timing.median_us <= target_us;
    fmt::print("{:<44} {:>10.2f} us  [{:.2f}, {:.2f}]", what, timing.median_us, timing.least_us, timing.most_us);
    if (target_us > 0) fmt::print("  target {:g}{}", target_us, met ? "" : "  MISSED");
    fmt::print("{}\n", note);
    return met;
}

double read_times(const PlanProblem& problem) {
    double least = 1e300;
    for (const DiscreteTimes& times : problem.processors) {
        double a = 1e300, b = 1e300, c = 1e300, d = 1e300;
        for (std::size_t k = 0; k + 4 <= times.seconds.size(); k += 4) {
            a = std::min(a, times.seconds[k]), b = std::min(b, times.seconds[k + 1]);
            c = std::min(c, times.seconds[k + 2]), d = std::min(d, times.seconds[k + 3]);
        }
        least = std::min({least, a, b, c, d});
    }
    return least;
}

Units random_units(const PlanProblem& problem, Random& random) {
    Units capacity = 0, step = problem.processors[0].points[0];
    for (const DiscreteTimes& times : problem.processors) capacity += times.points.back();
    return std::uniform_int_distribution<Units>(1, capacity / step * 9 / 10)(random) * step;
}

volatile double keep;

struct Workload {
    std::vector<PlanProblem> problems;
    std::vector<std::pair<std::size_t, Units>> calls;  ///< problem and n
};

Workload make_workload(int instances, int calls, const std::function<PlanProblem(Random&)>& make) {
    Random random(42);
    Workload load;
    for (int k = 0; k < instances; ++k) load.problems.push_back(make(random));
    for (int k = 0; k < calls; ++k) {
        const std::size_t instance = std::uniform_int_distribution<std::size_t>(0, load.problems.size() - 1)(random);
        load.calls.emplace_back(instance, random_units(load.problems[instance], random));
    }
    return load;
}

bool cold(const std::string& what, Workload load, double target_us) {
    const int calls = static_cast<int>(load.calls.size());
    const auto at = [&](int call) { return load.calls[static_cast<std::size_t>(call)]; };
    const Timing read = measure(calls, [&](int call) { keep = read_times(load.problems[at(call).first]); });
    const Timing plan = measure(calls, [&](int call) {
        PlanProblem& problem = load.problems[at(call).first];
        problem.units = at(call).second;
        keep = plan_hpopta(problem).makespan_s;
    });
    return report(what, plan, target_us, fmt::format("  {:.1f} x reading", plan.median_us / read.median_us));
}

bool prepared(const std::string& what, Workload load, double target_us) {
    PreparedHpopta planner(load.problems[0]);
    return report(
        "prepared " + what,
        measure(static_cast<int>(load.calls.size()),
                [&](int call) { keep = planner.plan(load.calls[static_cast<std::size_t>(call)].second).makespan_s; }),
        target_us);
}

struct Growth {
    double published_us = 0, fast_us = 0;
};

Growth compare(int points, int processors, const std::string& name, const Shape& shape) {
    Workload load =
        make_workload(3, 12, [&](Random& random) { return make_problem(points, processors, shape, random); });
    const auto with = [&](Plan (*planner)(const PlanProblem&)) {
        return measure(static_cast<int>(load.calls.size()), [&](int call) {
            const auto [instance, units] = load.calls[static_cast<std::size_t>(call)];
            load.problems[instance].units = units;
            keep = planner(load.problems[instance]).makespan_s;
        });
    };
    const Timing published = with(plan_hpopta_published), fast = with(plan_hpopta);
    fmt::print("{:>6} {:>4} {:<10} {:>14.1f} {:>12.1f} {:>10.0f}\n", points, processors, name, published.median_us,
               fast.median_us, published.median_us / fast.median_us);
    return {published.median_us, fast.median_us};
}

/// The exponents with which the times grew where m or p grew `times`-fold.
void print_growth(const char* of, double times, const Growth& from, const Growth& to) {
    fmt::print("  published grows with {0}^{1:.1f}, hpopta with {0}^{2:.1f}\n", of,
               std::log(to.published_us / from.published_us) / std::log(times),
               std::log(to.fast_us / from.fast_us) / std::log(times));
}

void show_growth(const std::string& name, const Shape& shape) {
    const Growth few_points = compare(175, 3, name, shape);
    for (const int points : {350, 700}) compare(points, 3, name, shape);
    print_growth("m", 8, few_points, compare(1400, 3, name, shape));
    const Growth few_processors = compare(200, 2, name, shape);
    for (const int processors : {3, 4, 5}) compare(200, processors, name, shape);
    print_growth("p", 3, few_processors, compare(200, 6, name, shape));
}

}  // namespace

int main() {
    bool met = true;
    const auto rippled_load = [](int points, int processors, int instances, int calls) {
        return make_workload(instances, calls,
                             [=](Random& random) { return make_problem(points, processors, rippled, random); });
    };
    fmt::print("hpopta, time of a call: median [least, most] of {} repetitions\n", kRepetitions);
    met &= cold("m = 700, p = 3", rippled_load(700, 3, 50, 400), 5);
    met &= cold("m = 1090, p = 3", rippled_load(1090, 3, 50, 400), 5);
    met &= cold("m = 1090, p = 3, with holes, multiples of 16", make_workload(50, 400, make_fft_problem), 5);
    met &= cold("m = 10000, p = 16", rippled_load(10000, 16, 8, 80), 100);
    met &= cold("m = 100000, p = 8", rippled_load(100000, 8, 2, 40), 300);
    met &= cold("m = 10000, p = 1024", rippled_load(10000, 1024, 2, 4), 10000);
    met &= prepared("m = 700, p = 3", rippled_load(700, 3, 1, 400), 5);
    met &= prepared("m = 1090, p = 3, with holes", make_workload(1, 400, make_fft_problem), 5);
    met &= prepared("m = 10000, p = 16", rippled_load(10000, 16, 1, 400), 5);
    met &= prepared("m = 100000, p = 8", rippled_load(100000, 8, 1, 400), 5);
    for (const auto& [points, processors, target_us] : {std::tuple{700, 3, 100.0}, {10000, 16, 20000.0}})
        for (const Adversary& adversary : kAdversaries)
            met &= cold(fmt::format("m = {}, p = {}, {}", points, processors, adversary.name),
                        make_workload(5, points == 700 ? 100 : 10,
                                      [&](Random& random) {
                                          return make_problem(points, processors, adversary.seconds, random);
                                      }),
                        target_us);

    fmt::print("\n{:>6} {:>4} {:<10} {:>14} {:>12} {:>10}\n", "m", "p", "profile", "published [us]", "hpopta [us]",
               "ratio");
    show_growth("rippled", rippled);
    show_growth("smooth", smooth);
    return met ? 0 : 1;
}
