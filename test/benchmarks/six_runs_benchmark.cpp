// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Policies in virtual time, where something varies, on machines drawn by chance. Prints makespans of six runs of a load
// over the time in which all processors together could end the work, as geometric means, and the worst.
//
// six_runs_benchmark noise|speeds|units|few [MACHINES [POLICY...]]
//     noise   each block takes a random factor of its mean time (log-normal), on two to eight processors of speeds up
//             to 32 to 1, which end the units on average in the time that makespans are compared with
//     speeds  throttling (each processor becomes slower by a tenth to a half, in some part of the run), visits (other
//             programs take half of it now and then), a random walk; and a first block that warms up. What happens
//             differs between processors and between runs, so that no run can tell what the next one will be like
//     units   a unit's cost depends on its place: falling or rising (triangular matrices), a hump (Mandelbrot's set), a
//             few heavy rows anywhere (sparse matrices), a dear last tenth
//     few     the same of loads of two to sixteen units per processor. What all together could do says little of these:
//             makespans are over that of a list schedule which knows what each unit costs everywhere (each in turn goes
//             where it ends first), as no policy can
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "test/fake_platform.hpp"

using namespace apportion;
using test::FakePlatform;

namespace {

constexpr int kRuns = 6;
/// Of six runs, makespan over the least that is possible.
using Ratios = std::array<double, kRuns>;

/// Two to eight unlike processors, or up to 64 alike cores, or cores and one to four devices behind a link. Devices
/// have thirty times the fixed costs of cores.
FakePlatform machine_by_chance(std::mt19937& random) {
    std::uniform_real_distribution<> doublings(-1, 4);
    const unsigned kind = random() % 3;
    std::vector<double> speeds;
    if (kind == 0) {
        speeds.resize(2 + random() % 7);
        for (double& speed : speeds) speed = 1000 * std::exp2(doublings(random));
    } else {
        speeds.assign(2 + random() % (kind == 1 ? 63 : 15), 1000);
    }
    const std::size_t cores = speeds.size();
    const double fixed_s = random() % 2 ? 1e-5 : 1e-4;
    if (kind == 2)
        for (std::size_t d = 1 + random() % 4; d > 0; --d) speeds.push_back(10000 * std::exp2(doublings(random)));
    FakePlatform platform = test::plain_platform(speeds, fixed_s);
    for (std::size_t p = 0; p < speeds.size(); ++p) {
        test::FakeWorker& worker = platform.workers[p];
        worker.kind = kind == 0 || p >= cores ? static_cast<int>(p) : 0;
        if (p < cores) continue;
        worker.seconds = [fixed_s, speed = speeds[p]](double units) { return 30 * fixed_s + units / speed; };
        worker.link = 0;
        worker.latency_s = 1e-5;
    }
    platform.links = {{1e10}};
    platform.bytes_in_per_unit = platform.bytes_out_per_unit = 1000;
    platform.stall_factor = 50;
    return platform;
}

/// A unit of 1000 bytes each way; as many as all processors together end in 1 s or 10 s, by chance.
struct SomeUnits {
    Units units = 0;
    double least_s = 0;  ///< in which all processors together would end them
    std::vector<double> units_per_s;
};

SomeUnits units_by_chance(const FakePlatform& platform, std::mt19937& random) {
    SomeUnits some;
    double all = 0;
    for (const test::FakeWorker& worker : platform.workers) {
        some.units_per_s.push_back(1 / (worker.seconds(1e6) / 1e6));
        all += some.units_per_s.back();
    }
    some.units = static_cast<Units>(all * (random() % 2 ? 10 : 1));
    some.least_s = static_cast<double>(some.units) / all;
    return some;
}

/// Six runs of the load. `before_run` may change the platform for the run, and answers the least that it can take.
Ratios six_runs(const char* policy, FakePlatform& platform, Units units,
                const std::function<double(int run)>& before_run) {
    const auto made = find_policy(policy)->make();
    Ratios ratios{};
    for (int k = 0; k < kRuns; ++k) {
        const double least_s = before_run(k);
        LoadDescription load = platform.load(units);
        load.run = k + 1;
        const test::FakeRun result = run(platform, *made, load);
        ratios[static_cast<std::size_t>(k)] =
            result.done ? result.makespan_s / least_s : 1000;  // it ended with an error
    }
    return ratios;
}

/// `pattern`: the standard deviation of the factor's logarithm.
Ratios measure_noise(const std::string& pattern, const char* policy, unsigned machine) {
    const double noise = std::stod(pattern);
    std::mt19937 random(machine);
    std::uniform_real_distribution<> doublings(-1, 4);
    std::vector<double> speeds(2 + random() % 7);
    double all = 0;
    for (double& speed : speeds) all += speed = 1000 * std::exp2(doublings(random));
    FakePlatform platform = test::plain_platform(speeds, random() % 2 ? 1e-4 : 1e-3);
    for (std::size_t p = 0; p < speeds.size(); ++p) {
        platform.workers[p].noise = noise;
        platform.workers[p].kind = static_cast<int>(p);
    }
    const auto units = static_cast<Units>(all * (random() % 2 ? 10 : 1));
    return six_runs(policy, platform, units, [&](int run) {
        platform.seed = kRuns * machine + static_cast<unsigned>(run);
        return static_cast<double>(units) / all * std::exp(noise * noise / 2);
    });
}

/// Of a unit at that place of the load, in [0, 1).
double cost(const std::string& units, double place, std::mt19937& random) {
    if (units == "rising") return 2 * place;
    if (units == "falling") return 2 * (1 - place);
    if (units == "hump") return 0.1 + 4 * std::exp(-std::pow((place - 0.45) / 0.12, 2));
    if (units == "heavy rows")
        return std::min(1000.0, std::pow(std::uniform_real_distribution<>(1e-9, 1)(random), -1 / 1.3));
    if (units == "dear end") return place < 0.9 ? 1 : 10;
    return 1;  // alike
}

Ratios measure_units(const std::string& pattern, const char* policy, unsigned machine) {
    std::mt19937 random(machine);
    FakePlatform platform = machine_by_chance(random);
    const SomeUnits load = units_by_chance(platform, random);
    std::vector<double> sums(static_cast<std::size_t>(load.units) + 1);
    for (std::size_t u = 0; u + 1 < sums.size(); ++u)
        sums[u + 1] = sums[u] + cost(pattern, static_cast<double>(u) / static_cast<double>(load.units), random);
    const double scale = static_cast<double>(load.units) / sums.back();
    platform.work = [&](Units first, Units count) {
        return scale * (sums[static_cast<std::size_t>(first + count)] - sums[static_cast<std::size_t>(first)]);
    };
    return six_runs(policy, platform, load.units, [&](int) { return load.least_s; });
}

/// Makespan when each unit in turn goes where it ends first; transfers are hidden.
double list_schedule_s(const FakePlatform& platform, Units units) {
    std::vector<double> ends_s(platform.workers.size(), 0);
    for (Units unit = 0; unit < units; ++unit) {
        const double work = platform.work(unit, 1);
        const auto end_s = [&](std::size_t p) { return ends_s[p] + platform.workers[p].seconds(work); };
        std::size_t best = 0;
        for (std::size_t p = 1; p < ends_s.size(); ++p)
            if (end_s(p) < end_s(best)) best = p;
        ends_s[best] = end_s(best);
    }
    return *std::ranges::max_element(ends_s);
}

/// The work of a load of many units, in few.
Ratios measure_few(const std::string& pattern, const char* policy, unsigned machine) {
    constexpr double kDearest = 30;  // one unit that costs more is most of such a load
    std::mt19937 random(machine);
    FakePlatform platform = machine_by_chance(random);
    const SomeUnits many = units_by_chance(platform, random);
    const double each = std::exp2(std::uniform_real_distribution<>(1, 4)(random));
    const auto units = static_cast<Units>(each * static_cast<double>(platform.workers.size()));
    std::vector<double> costs(static_cast<std::size_t>(units));
    double sum = 0;
    for (std::size_t u = 0; u < costs.size(); ++u) {
        const double place = (static_cast<double>(u) + 0.5) / static_cast<double>(units);
        sum += costs[u] = std::min(kDearest, cost(pattern, place, random));
    }
    platform.work = [&costs, scale = static_cast<double>(many.units) / sum](Units first, Units count) {
        return scale * std::accumulate(costs.begin() + first, costs.begin() + first + count, 0.0);
    };
    const double list_s = list_schedule_s(platform, units);
    return six_runs(policy, platform, units, [&](int) { return list_s; });
}

constexpr double kLongest = 20;  // times the least: until then speeds are drawn

/// A processor's speed over time, in parts of what it has when nothing disturbs it.
class Course {
  public:
    Course(const std::string& pattern, double run_s, std::mt19937& random);

    /// How long it takes from then on for what takes so long otherwise.
    double takes(double start_s, double seconds) const {
        auto part = std::prev(std::ranges::upper_bound(parts_, start_s, {}, &Part::from_s));
        for (double now_s = start_s;; ++part) {
            const double can_s = (end_s(part) - now_s) * part->speed;
            if (can_s >= seconds) return now_s + seconds / part->speed - start_s;
            seconds -= can_s;
            now_s = end_s(part);
        }
    }
    /// What is done by then, in seconds of full speed.
    double done_s(double by_s) const {
        double sum_s = 0;
        for (auto part = parts_.begin(); part != parts_.end() && part->from_s < by_s; ++part)
            sum_s += (std::min(by_s, end_s(part)) - part->from_s) * part->speed;
        return sum_s;
    }

  private:
    struct Part {
        double from_s, speed;
    };
    double end_s(std::vector<Part>::const_iterator part) const {
        return part + 1 == parts_.end() ? std::numeric_limits<double>::infinity() : (part + 1)->from_s;
    }
    std::vector<Part> parts_;
};

Course::Course(const std::string& pattern, double run_s, std::mt19937& random) {
    const auto between = [&](double a, double b) { return std::uniform_real_distribution<>(a, b)(random); };
    const double step_s = run_s / 50;
    if (pattern == "throttling") {
        const double to = between(0.5, 0.9), within_s = run_s * between(0.05, 0.5);
        for (double at_s = 0; at_s < kLongest * run_s; at_s += step_s)
            parts_.push_back({at_s, to + (1 - to) * std::exp(-at_s / within_s)});
    } else if (pattern == "random walk") {
        double speed = 1;
        for (double at_s = 0; at_s < kLongest * run_s; at_s += step_s) {
            parts_.push_back({at_s, speed});
            speed = std::clamp(speed * std::exp(std::normal_distribution<>(0, 0.1)(random)), 0.3, 1.0);
        }
    } else if (pattern.ends_with("visits")) {
        const double mean_s = run_s / (pattern == "long visits" ? 2 : 20);
        bool visited = random() % 2;
        for (double at_s = 0; at_s < kLongest * run_s; visited = !visited) {
            parts_.push_back({at_s, visited ? 0.5 : 1.0});
            at_s += std::exponential_distribution<>(1 / mean_s)(random) * (visited ? 0.5 : 1.5);
        }
    } else {
        parts_.push_back({0, 1});
    }
}

/// When all together have done so many units.
double least_s(const std::vector<Course>& courses, const SomeUnits& load) {
    double from_s = 0, to_s = kLongest * load.least_s;
    for (int halvings = 0; halvings < 50; ++halvings) {
        const double middle_s = (from_s + to_s) / 2;
        double units = 0;
        for (std::size_t p = 0; p < courses.size(); ++p) units += load.units_per_s[p] * courses[p].done_s(middle_s);
        (units < static_cast<double>(load.units) ? from_s : to_s) = middle_s;
    }
    return to_s;
}

Ratios measure_speeds(const std::string& pattern, const char* policy, unsigned machine) {
    std::mt19937 random(machine);
    FakePlatform platform = machine_by_chance(random);
    const SomeUnits load = units_by_chance(platform, random);
    std::vector<Course> courses;
    return six_runs(policy, platform, load.units, [&](int run) {
        courses.clear();
        const double warm_up_s = pattern == "warm-up" && run == 0 ? load.least_s / 20 : 0;
        for (std::size_t p = 0; p < platform.workers.size(); ++p) {
            courses.emplace_back(pattern, load.least_s, random);
            platform.workers[p].takes = [&courses, p, left_s = warm_up_s](double start_s, double seconds) mutable {
                return courses[p].takes(start_s, seconds + std::exchange(left_s, 0));
            };
        }
        return warm_up_s + least_s(courses, load);
    });
}

struct Subject {
    std::string name;
    std::vector<std::string> patterns;
    unsigned first;  ///< machine; they are numbered
    std::function<Ratios(const std::string& pattern, const char* policy, unsigned machine)> measure;
};

const std::vector<Subject> kSubjects = {
    {"noise", {"0", "0.03", "0.1", "0.2", "0.4", "0.8"}, 0, measure_noise},
    {"speeds", {"steady", "throttling", "random walk", "long visits", "visits", "warm-up"}, 100, measure_speeds},
    {"units", {"alike", "rising", "falling", "hump", "heavy rows", "dear end"}, 100, measure_units},
    {"few", {"alike", "rising", "falling", "hump", "heavy rows", "dear end"}, 100, measure_few},
};

/// A line for each pattern and policy: the geometric means of the runs over the machines, and the worst of all.
void print_table(const Subject& subject, unsigned machines, const std::vector<const char*>& policies) {
    fmt::print("{:<14}{:<10}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>9}\n", subject.name, "policy", "run 1", "2", "3", "4", "5",
               "6", "worst");
    for (const std::string& pattern : subject.patterns)
        for (const char* policy : policies) {
            Ratios logs{};
            double worst = 0;
            for (unsigned machine = subject.first; machine < subject.first + machines; ++machine) {
                const Ratios ratios = subject.measure(pattern, policy, machine);
                for (std::size_t k = 0; k < kRuns; ++k) logs[k] += std::log(ratios[k]) / machines;
                worst = std::max(worst, *std::ranges::max_element(ratios));
            }
            std::string line = fmt::format("{:<14}{:<10}", pattern, policy);
            for (const double log : logs) line += fmt::format("{:>8.3f}", std::exp(log));
            fmt::print("{}{:>9.2f}\n", line, worst);
        }
}

}  // namespace

int main(int argc, char** argv) {
    const auto subject = std::ranges::find(kSubjects, argc > 1 ? argv[1] : "", &Subject::name);
    if (subject == kSubjects.end()) {
        fmt::print(stderr, "usage: six_runs_benchmark noise|speeds|units|few [MACHINES [POLICY...]]\n");
        return 2;
    }
    const unsigned machines = argc > 2 ? static_cast<unsigned>(std::max(1, std::atoi(argv[2]))) : 40;
    std::vector<const char*> policies{"plb-hec", "greedy", "gss", "fac2", "awf-c", "af"};
    if (argc > 3) policies.assign(argv + 3, argv + argc);
    print_table(*subject, machines, policies);
    return 0;
}
