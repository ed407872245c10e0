// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/continuous/ipopt_module.hpp"

#include <IpIpoptApplication.hpp>
#include <IpSolveStatistics.hpp>
#include <IpTNLP.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace apportion {

namespace {

using Ipopt::Index;
using Ipopt::Number;

/// The program over the processors that the bisection gave a share strictly between its bounds. Variable 0..m-1: u_g,
/// m: tau. Constraint 0..m-1: equal finish, m: all units. The Hessian of the Lagrangian is diagonal.
class EqualFinishProgram final : public Ipopt::TNLP {
  public:
    EqualFinishProgram(const EqualFinishProblem& problem, const EqualFinishPlan& start, IpoptStart from)
        : problem_(problem) {
        for (std::size_t g = 0; g < problem.processors.size(); ++g) {
            const double x = start.shares_units[g];
            if (x <= 0 || x >= problem.processors[g].maximum_units) continue;
            members_.push_back(g);
            units_ += x;
        }
        const bool equal = from == IpoptStart::equal_shares;
        const double equal_share = 1 / static_cast<double>(size());
        for (std::size_t g : members_) start_.push_back(equal ? equal_share : start.shares_units[g] / units_);
        start_.push_back(1);
        scale_s_ = start.finish_s;
    }

    std::size_t size() const { return members_.size(); }
    std::size_t member(std::size_t i) const { return members_[i]; }
    double share_units(std::size_t i) const { return solution_[i] * units_; }
    double finish_s() const { return solution_.back() * scale_s_; }
    bool solved() const { return !solution_.empty(); }

    bool get_nlp_info(Index& n, Index& m, Index& jacobian, Index& hessian, IndexStyleEnum& style) override {
        n = m = count() + 1;
        jacobian = 3 * count();
        hessian = count();
        style = C_STYLE;
        return true;
    }

    bool get_bounds_info(Index n, Number* x_low, Number* x_high, Index m, Number* g_low, Number* g_high) override {
        for (Index i = 0; i < count(); ++i) {
            x_low[i] = 0;
            x_high[i] = std::min(1.0, processor(i).maximum_units / units_);
            g_low[i] = g_high[i] = 0;
        }
        x_low[n - 1] = 0;
        x_high[n - 1] = 2e19;  // IPOPT's infinity
        g_low[m - 1] = g_high[m - 1] = 1;
        return true;
    }

    bool get_starting_point(Index n, bool init_x, Number* x, bool init_z, Number* z_low, Number* z_high, Index m,
                            bool init_lambda, Number* lambda) override {
        if (init_x) std::copy(start_.begin(), start_.end(), x);
        if (init_z) std::fill(z_low, z_low + n, 0.0), std::fill(z_high, z_high + n, 0.0);
        if (init_lambda) std::fill(lambda, lambda + m, 0.0);
        return true;
    }

    bool eval_f(Index n, const Number* x, bool, Number& value) override {
        value = x[n - 1];
        return true;
    }

    bool eval_grad_f(Index n, const Number*, bool, Number* gradient) override {
        std::fill(gradient, gradient + n, 0.0);
        gradient[n - 1] = 1;
        return true;
    }

    bool eval_g(Index n, const Number* x, bool, Index m, Number* g) override {
        g[m - 1] = 0;
        for (Index i = 0; i < count(); ++i) {
            const EqualFinishProcessor& p = processor(i);
            g[i] = (p.busy_until_s + p.time->seconds(x[i] * units_)) / scale_s_ - x[n - 1];
            g[m - 1] += x[i];
        }
        return finite(g, m);
    }

    bool eval_jac_g(Index, const Number* x, bool, Index, Index, Index* rows, Index* columns, Number* values) override {
        for (Index i = 0, k = 0; i < count(); ++i, k += 3) {
            if (values) {
                values[k] = processor(i).time->derivative(x[i] * units_) * units_ / scale_s_;
                values[k + 1] = -1;
                values[k + 2] = 1;
            } else {
                rows[k] = rows[k + 1] = columns[k] = columns[k + 2] = i;
                columns[k + 1] = rows[k + 2] = count();
            }
        }
        return !values || finite(values, 3 * count());
    }

    bool eval_h(Index, const Number* x, bool, Number, Index, const Number* lambda, bool, Index, Index* rows,
                Index* columns, Number* values) override {
        for (Index i = 0; i < count(); ++i) {
            if (values)
                values[i] =
                    lambda[i] * processor(i).time->second_derivative(x[i] * units_) * units_ * units_ / scale_s_;
            else
                rows[i] = columns[i] = i;
        }
        return !values || finite(values, count());
    }

    void finalize_solution(Ipopt::SolverReturn status, Index n, const Number* x, const Number*, const Number*, Index,
                           const Number*, const Number*, Number, const Ipopt::IpoptData*,
                           Ipopt::IpoptCalculatedQuantities*) override {
        if (status == Ipopt::SUCCESS || status == Ipopt::STOP_AT_ACCEPTABLE_POINT) solution_.assign(x, x + n);
    }

  private:
    static bool finite(const Number* values, Index count) {
        return std::all_of(values, values + count, [](Number value) { return std::isfinite(value); });
    }
    Index count() const { return static_cast<Index>(members_.size()); }
    const EqualFinishProcessor& processor(Index i) const {
        return problem_.processors[members_[static_cast<std::size_t>(i)]];
    }

    const EqualFinishProblem& problem_;
    std::vector<std::size_t> members_;
    double units_ = 0;    ///< n less what is at a bound
    double scale_s_ = 1;  ///< T0
    std::vector<double> start_, solution_;
};

/// Null: IPOPT cannot be set up. Making one takes about as long as a solution, so it is kept.
Ipopt::IpoptApplication* application() {
    static const Ipopt::SmartPtr<Ipopt::IpoptApplication>& kept = *new Ipopt::SmartPtr<Ipopt::IpoptApplication>([] {
        Ipopt::SmartPtr<Ipopt::IpoptApplication> ipopt = new Ipopt::IpoptApplication(false);
        auto options = ipopt->Options();
        options->SetIntegerValue("print_level", 0);
        options->SetStringValue("sb", "yes");  // no banner
        options->SetIntegerValue("max_iter", 50);
        options->SetNumericValue("tol", 1e-8);
        options->SetStringValue("linear_solver", "mumps");
        // The common finish and the sum of units are in a dense row each, which MUMPS's own choice is not made for:
        // from 10000 rows on it fills the factors.
        constexpr Index kQuasiDenseRows = 6;
        options->SetIntegerValue("mumps_pivot_order", kQuasiDenseRows);
        options->SetStringValue("mu_strategy", "monotone");
        // Do not push a start that is next to the solution away from its bounds.
        options->SetNumericValue("bound_push", 1e-9);
        options->SetNumericValue("bound_frac", 1e-9);
        if (ipopt->Initialize("") != Ipopt::Solve_Succeeded) ipopt = nullptr;
        return ipopt;
    }());
    return GetRawPtr(kept);
}

/// Sequential MUMPS keeps state of the whole process, and IPOPT its last program, whose references it counts without
/// regard to threads.
std::mutex one_at_a_time;
bool exiting = false;

/// A program may exit while StarPU's workers plan. BLAS then frees its memory: the solution in progress is waited for,
/// and there are no more. Before BLAS does, as what was loaded last ends first.
[[maybe_unused]] const int registered = std::atexit([] {
    const std::lock_guard lock(one_at_a_time);
    exiting = true;
});

}  // namespace

}  // namespace apportion

void apportion_solve_with_ipopt(const apportion::EqualFinishProblem& problem, apportion::EqualFinishPlan& plan,
                                apportion::IpoptStart start, apportion::IpoptAnswer& answer) {
    using namespace apportion;
    const std::lock_guard lock(one_at_a_time);  // outlives the program
    answer = {};
    if (exiting) return;
    Ipopt::SmartPtr<EqualFinishProgram> program = new EqualFinishProgram(problem, plan, start);
    answer.posed = program->size() > 1;
    Ipopt::IpoptApplication* ipopt = answer.posed ? application() : nullptr;
    if (!ipopt) return;
    // From the solution the barrier begins small, from elsewhere at IPOPT's default.
    ipopt->Options()->SetNumericValue("mu_init", start == IpoptStart::bisection ? 1e-7 : 0.1);
    ipopt->OptimizeTNLP(GetRawPtr(program));
    answer.solved = program->solved();
    if (!answer.solved) return;
    if (auto run = ipopt->Statistics(); IsValid(run)) answer.iterations = run->IterationCount();
    for (std::size_t i = 0; i < program->size(); ++i) plan.shares_units[program->member(i)] = program->share_units(i);
    plan.finish_s = program->finish_s();
}
