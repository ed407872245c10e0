// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The policies that cut a load once, by recorded times of its kernel (static_policy.hpp): a planner each. Beyond the
// papers, they plan with times of whole shares, transfers and blocks included (recorded_plan.hpp, assignment_plan.hpp).
#include "policies/config.hpp"
#include "policies/shared/assignment_plan.hpp"
#include "policies/shared/static_policy.hpp"

namespace apportion {

namespace {

using PlanWith = Plan(const RecordedProblem& problem, const char* planner);

template <PlanWith plan, const char* planner>
std::unique_ptr<Policy> make_planned() {
    return std::make_unique<StaticPolicy>([](const RecordedProblem& problem) { return plan(problem, planner); });
}

Plan plan_packets(const RecordedProblem& problem, const char* planner) {
    return plan_assignment(problem, planner, serial_network_option() ? Network::serial : Network::parallel);
}

// Planners' names, as in planners/planner_table.cpp.
constexpr char kCpm[] = "cpm";
constexpr char kFpm[] = "fpm";
constexpr char kFpmAkima[] = "fpm-akima";
constexpr char kHpopta[] = "hpopta";
constexpr char kIlp[] = "ilp";
constexpr char kMinMin[] = "min-min-v2";

}  // namespace

/// Constant performance model (Clarke et al., FuPerMod, section 4; HPOPTA, section 6). The speed is that of an equal
/// share, n / p units: HPOPTA's comparison takes reference sizes of its own, FuPerMod one size that is given. Good
/// where speeds hardly depend on the size; otherwise the yardstick for the functional models.
extern const PolicyEntry cpm_policy;
const PolicyEntry cpm_policy{.name = "cpm",
                             .description = "shares in proportion to one recorded speed of each processor",
                             .make = make_planned<plan_curves, kCpm>,
                             .profile = ProfileUse::required,
                             .rehearsed_by_auto = true};

/// Functional performance models, piecewise linear and restricted in shape, by geometrical bisection (Clarke et al.,
/// FuPerMod, section 4; planners/continuous/geometric.hpp). What the bisection decides in real numbers becomes whole
/// granules by earliest finish. Optimal where times grow with sizes; slow outliers of a profile are left out of the
/// model.
extern const PolicyEntry fpm_policy;
const PolicyEntry fpm_policy{.name = "fpm",
                             .description = "equal finish by bisection on recorded speed functions of restricted shape",
                             .make = make_planned<plan_curves, kFpm>,
                             .profile = ProfileUse::required,
                             .rehearsed_by_auto = true};

/// Akima splines of any smooth shape by Newton's method (Clarke et al., FuPerMod, section 4;
/// planners/continuous/numerical.hpp). Of several balanced distributions it finds the one near fpm's.
extern const PolicyEntry fpm_akima_policy;
const PolicyEntry fpm_akima_policy{.name = "fpm-akima",
                                   .description = "equal finish by Newton's method on splines of recorded speeds",
                                   .make = make_planned<plan_curves, kFpmAkima>,
                                   .profile = ProfileUse::required,
                                   .rehearsed_by_auto = true};

/// The smallest makespan over discrete time functions of any shape; a processor may get nothing, and processors need
/// not finish together (Khaleghzadeh, Reddy, Lastovetsky, HPOPTA, sections 3-5; planners/hpopta/hpopta.hpp, exact). A
/// sparse profile is planned at interpolated sizes, a fine one at recorded sizes only, without those that were left
/// out.
extern const PolicyEntry hpopta_policy;
const PolicyEntry hpopta_policy{.name = "hpopta",
                                .description = "smallest makespan for recorded times of any shape",
                                .make = make_planned<plan_curves, kHpopta>,
                                .profile = ProfileUse::required,
                                .rehearsed_by_auto = true};

/// The optimal assignment of equal packets of data to nodes and their units, with transfers and start-up (Boinski,
/// Czarnul, The Computer Journal 2021, section 3; planners/assignment/ilp.hpp, by the problem's structure rather than a
/// solver). Links carry data at the same time, as StarPU's do and as equation 3 is printed; over a serial network
/// (APPORTION_NETWORK=serial) the plan is the one that the paper's results are of.
extern const PolicyEntry ilp_policy;
const PolicyEntry ilp_policy{
    .name = "ilp",
    .description = "optimal assignment by recorded costs of a unit, its transfers and start-up",
    .make = make_planned<plan_packets, kIlp>,
    .profile = ProfileUse::required,
    .rehearsed_by_auto = true};

/// Version 2 of the heuristic that Boinski and Czarnul compare with (The Computer Journal 2021, section 4.4;
/// planners/assignment/min_min.hpp).
extern const PolicyEntry min_min_policy;
const PolicyEntry min_min_policy{
    .name = "min-min",
    .description = "each unit to the processor that would finish it first, by recorded costs",
    .make = make_planned<plan_packets, kMinMin>,
    .profile = ProfileUse::required,
    .rehearsed_by_auto = true};

}  // namespace apportion
