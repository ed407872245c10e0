// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta.hpp"

#include "policies/planners/hpopta_search.hpp"

namespace apportion {

Plan plan_hpopta(const PlanProblem& problem) {
    const DiscreteProblem discrete(problem, problem.units);
    HpoptaSearch search(discrete.processors(), 1);
    return optimal_plan("hpopta", discrete, problem.units, search, problem.previous);
}

struct PreparedHpopta::State {
    explicit State(const PlanProblem& problem) : discrete(problem, kNoLimit), search(discrete.processors(), 1) {
        search.prepare(discrete.processors());
    }
    DiscreteProblem discrete;
    HpoptaSearch search;
};

PreparedHpopta::PreparedHpopta(const PlanProblem& problem) : state_(std::make_unique<State>(problem)) {}
PreparedHpopta::~PreparedHpopta() = default;

Plan PreparedHpopta::plan(Units units, std::span<const Units> previous) {
    return optimal_plan("hpopta", state_->discrete, units, state_->search, previous);
}

double PreparedHpopta::makespan_s(Units units) { return state_->search.makespan_s(units); }

}  // namespace apportion
