// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Policies where speeds vary while a load runs, in virtual time, on machines drawn by chance: throttling (each
// processor becomes slower by a tenth to a half, in some part of the run), visits (other programs take half of it now
// and then), a random walk; and a first block that warms up. What happens differs from processor to processor and from
// run to run, so that no run can tell what the next one will be like. Prints makespans of six runs of a load over the
// time in which all processors together could end the work, as geometric means, and the worst.
//
// varying_speeds_benchmark [MACHINES [POLICY...]]
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "test/benchmarks/six_runs.hpp"

using namespace apportion;

namespace {

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
double least_s(const std::vector<Course>& courses, const test::SomeUnits& load) {
    double from_s = 0, to_s = kLongest * load.least_s;
    for (int halvings = 0; halvings < 50; ++halvings) {
        const double middle_s = (from_s + to_s) / 2;
        double units = 0;
        for (std::size_t p = 0; p < courses.size(); ++p) units += load.units_per_s[p] * courses[p].done_s(middle_s);
        (units < static_cast<double>(load.units) ? from_s : to_s) = middle_s;
    }
    return to_s;
}

test::Ratios measure(const std::string& pattern, const char* policy, unsigned machine) {
    std::mt19937 random(machine);
    test::FakePlatform platform = test::machine_by_chance(random);
    const test::SomeUnits load = test::units_by_chance(platform, random);
    std::vector<Course> courses;
    return test::six_runs(policy, platform, load.units, [&](int run) {
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

}  // namespace

int main(int argc, char** argv) {
    const unsigned machines = argc > 1 ? static_cast<unsigned>(std::max(1, std::atoi(argv[1]))) : 40;
    std::vector<const char*> policies{"plb-hec", "greedy", "gss", "fac2", "awf-c", "af"};
    if (argc > 2) policies.assign(argv + 2, argv + argc);
    test::print_table("speeds", {"steady", "throttling", "random walk", "long visits", "visits", "warm-up"}, policies,
                      100, machines, measure);
}
