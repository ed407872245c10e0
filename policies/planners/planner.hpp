// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What every planner takes and gives: the time functions of the processors, the number of units, the constraints, and
// the distribution it found. Pure functions of their arguments; no planner prints, reads the environment or throws for
// a problem without solution (Plan::failure says why).
#pragma once

#include <string>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

/// The most that is planned: sums over all processors cannot overflow.
inline constexpr Units kMostUnits = Units{1} << 50;

/// A processor's measured time function on discrete sizes: points[k] is a number of units > 0, ascending, all
/// different, and seconds[k] > 0 the time of a share of that size. A size that is no point cannot be given to the
/// processor (a hole: not measured, or "fails here"). Zero units take zero seconds: a processor may be left out.
struct DiscreteTimes {
    std::string processor;
    std::vector<Units> points;
    std::vector<double> seconds;
};

/// Distribute exactly `units` over the processors so that the largest time is smallest.
struct PlanProblem {
    Units units = 0;
    std::vector<DiscreteTimes> processors;
    Units granularity = 1;             ///< shares are multiples of it
    std::vector<Units> maximum_units;  ///< per processor, or empty: no limit
    double work_power = 1;             ///< the work of a share of x units is x to this power, where speeds are smoothed
};

struct Plan {
    std::string algorithm;      ///< its planner's name, by run_planner()
    std::vector<Units> shares;  ///< per processor, sum = units; empty when there is no solution
    std::vector<double> times_s;
    std::vector<double> ends_s;  ///< where the makespan has transfers besides the times; else empty
    double makespan_s = 0;
    double lower_bound_s = 0;  ///< proven; equals makespan_s when optimal
    double solve_s = 0;
    bool optimal = false;  ///< proven
    std::string failure;   ///< empty, or one sentence: why there is no solution and the nearest reachable n
};

/// What a planner gives out, what limits it, and how it calls that: "unit", "all processors may take", "distributed".
struct PlannerWords {
    const char *thing, *limits, *given;
};

/// Empty, or why `number` is no whole number of granules up to `most`, with the nearest that is.
std::string why_not_whole(Units number, Units granularity, Units most, const PlannerWords& words);

}  // namespace apportion
