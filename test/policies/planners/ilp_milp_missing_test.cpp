// SPDX-License-Identifier: LGPL-2.1-or-later
// A build without lp_solve: linked with what takes the place of ilp_milp.cpp there.
#include "policies/planners/assignment/data_assignment.hpp"
#include "policies/planners/planner_table.hpp"
#include "test/catch.hpp"

using namespace apportion;

TEST_CASE("without lp_solve ilp-milp says what is missing, and ilp finds the optimum") {
    DataAssignment problem;
    problem.nodes = {{"node", 0, 0, kNoLimit}};
    problem.units = {{"fast", 0, 1, 1, kNoLimit}, {"slow", 0, 3, 3, kNoLimit}};
    problem.packets = 8;
    CHECK_FALSE(has_milp_solver());
    CHECK_THAT(run_planner(*find_assignment_planner("ilp-milp"), problem, 1).failure,
               ContainsSubstring("built without lp_solve"));
    CHECK(run_planner(*find_assignment_planner("ilp"), problem, 1).makespan_s == 6);
    problem.packets = -1;
    CHECK(plan_ilp_milp(problem).failure == why_impossible(problem));
}
