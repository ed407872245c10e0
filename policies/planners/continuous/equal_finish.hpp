// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The equal-finish problem of PLB-HeC (section III.C, eqs 3-5): shares x_g >= 0 with sum n such that all processors
// that get something finish at the same time T. Solved here without assumptions on smoothness: T -> sum of the largest
// shares that finish by T never falls, so its root is bracketed and refined; likewise each share within its own
// bracket.
//
// Beyond the paper: a processor that could not finish anything by T is left out, a processor may be busy until some
// moment, and a share may be bounded.
// Good for any non-decreasing time functions; a jump (one more block) makes a share stay flat over some T.
#pragma once

#include <limits>
#include <vector>

namespace apportion {

/// E(x): seconds a processor needs for a share of x > 0 units, non-decreasing. Derivatives where they exist.
class ShareTime {
  public:
    virtual ~ShareTime() = default;
    virtual double seconds(double units) const = 0;
    virtual double derivative(double units) const = 0;
    virtual double second_derivative(double units) const = 0;
};

struct EqualFinishProcessor {
    const ShareTime* time = nullptr;  ///< not owned
    double busy_until_s = 0;
    double maximum_units = std::numeric_limits<double>::infinity();
    double expected_units = 0;  ///< where the share is sought first, for speed alone; 0: nothing is expected
};

struct EqualFinishProblem {
    double units = 0;
    std::vector<EqualFinishProcessor> processors;
    double expected_finish_s = 0;  ///< where T is sought first, for speed alone; 0: nothing is expected
    double tolerance = 1e-9;       ///< of the shares, as a part of the units, and of T
};

struct EqualFinishPlan {
    std::vector<double> shares_units;  ///< per processor; 0: left out. Their sum is the units.
    double finish_s = 0;               ///< T
    bool feasible = true;              ///< false: the bounds do not admit n; shares are then at their bounds
};

/// The largest share of so many units at most that the processor ends by T. O(steps of x).
double share_ending_by(const EqualFinishProcessor& processor, double units, double finish_s);

/// O(processors x steps of T x steps of x); both converge superlinearly where E is smooth.
EqualFinishPlan equal_finish(const EqualFinishProblem& problem);

}  // namespace apportion
