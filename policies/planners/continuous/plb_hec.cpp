// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/continuous/plb_hec.hpp"

#include <algorithm>

#include "models/fitted_curve.hpp"
#include "policies/planners/continuous/continuous.hpp"
#include "policies/planners/continuous/equal_finish_ipopt.hpp"

namespace apportion {

namespace {

class CurveTime final : public ShareTime {
  public:
    explicit CurveTime(FittedCurve curve) : curve_(std::move(curve)) {}
    double seconds(double units) const override { return curve_.seconds(units); }
    double derivative(double units) const override { return curve_.derivative(units); }
    double second_derivative(double units) const override { return curve_.second_derivative(units); }

  private:
    FittedCurve curve_;
};

}  // namespace

Plan plan_plb_hec(const PlanProblem& problem) {
    const ContinuousProblem continuous(problem);
    Plan plan = continuous.begin();
    if (!plan.failure.empty()) return plan;
    std::vector<CurveTime> curves;
    std::vector<std::size_t> processor_of;
    for (std::size_t i = 0; i < continuous.processors(); ++i)
        if (auto curve = FittedCurve::fit(continuous.samples(i)); curve && continuous.limits()[i] > 0) {
            curves.emplace_back(*curve);
            processor_of.push_back(i);
        }
    EqualFinishProblem equations;
    equations.units = continuous.units();
    for (std::size_t k = 0; k < curves.size(); ++k)
        equations.processors.push_back({&curves[k], 0, static_cast<double>(continuous.limits()[processor_of[k]])});
    const EqualFinishPlan solution = EqualFinishIpopt().solve(equations);
    std::vector<double> shares(continuous.processors(), 0);
    for (std::size_t k = 0; k < curves.size(); ++k) shares[processor_of[k]] = solution.shares_units[k];
    continuous.finish(plan, continuous.round(shares));
    return plan;
}

}  // namespace apportion
