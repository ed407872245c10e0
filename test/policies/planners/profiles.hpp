// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Problems for the exact planners: random ones of many shapes, the paper's example, and the smallest makespans by two
// plain methods. Not in the header: tests are compiled with fewer optimisations.
#pragma once

#include <random>
#include <vector>

#include "policies/planners/planner.hpp"

namespace profiles {

using apportion::DiscreteTimes;
using apportion::Plan;
using apportion::PlanProblem;
using apportion::Units;

inline constexpr int kShapes = 12;

class Generator {
  public:
    explicit Generator(unsigned seed) : random_(seed) {}

    Units integer(Units from, Units to) { return std::uniform_int_distribution<Units>(from, to)(random_); }
    bool one_in(int n) { return integer(1, n) == 1; }

    /// Up to `processors` processors with up to `points` sizes each; some with holes, granularity and maxima.
    PlanProblem problem(int shape, int processors, int points);
    /// From 0 to a little more than all sizes together.
    Units units(const PlanProblem& problem);

  private:
    double real(double from, double to) { return std::uniform_real_distribution<>(from, to)(random_); }
    double seconds(int shape, Units processor, Units size, Units largest, double slope);

    std::mt19937 random_;
};

PlanProblem published_example();
bool allowed(const PlanProblem& problem, std::size_t processor, Units size);
/// The smallest makespan of every number of units up to `limit`, infinity where there is none: a dynamic programme.
std::vector<double> smallest_makespans(const PlanProblem& problem, Units limit);
/// The same for one number by trying all distributions.
double brute_force(const PlanProblem& problem, Units units, std::size_t processor = 0);
/// A distribution of exactly `units` with allowed sizes, in the time it claims, proven.
void require_optimal(const PlanProblem& problem, Units units, const Plan& plan, double makespan);
/// No shares, and a sentence that ends with the nearest number > 0 that has a finite makespan, or 0 if none has.
/// `makespans` reaches up to the sum of all sizes.
void require_impossible(Units units, const Plan& plan, const std::vector<double>& makespans);
/// The sum of all largest sizes.
Units most_units(const PlanProblem& problem);

}  // namespace profiles
