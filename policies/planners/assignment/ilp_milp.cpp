// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `ilp-milp`: the data assignment as Boinski and Czarnul solve it (sections 3 and 4.5.4): a mixed-integer linear
// program for lp_solve, ended by a time limit, after which the best solution so far is taken.
//
//     serial     minimise C + sum of w_N d_N       subject to  c_j d_j <= C for every unit
//     parallel   minimise T                        subject to  2 a_N + w_N d_N + c_j d_j <= T for every unit j of N
//     both       sum of d_j = n, the maxima, d_j whole
//
// Beyond the paper: min-min v2 is the answer where the solver has found nothing better in time. `ilp` finds the optimum
// of the same problem in milliseconds; this one is for comparison, and for extensions without that structure.
#include "policies/planners/assignment/data_assignment.hpp"

#if __has_include(<lpsolve/lp_lib.h>)
#include <lpsolve/lp_lib.h>
#else
#include <lp_lib.h>
#endif

#include <chrono>
#include <cmath>
#include <optional>

namespace apportion {

namespace {

using Clock = std::chrono::steady_clock;

/// The program in lp_solve's terms: columns 1 ... p are the packets of the units, column p + 1 is C or T.
class Program {
  public:
    Program(const DataAssignment& problem, Clock::time_point deadline);
    ~Program() { delete_lp(lp_); }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    /// Returns whether the optimum was found; `best` is the best solution, if any.
    bool solve();
    const std::optional<std::vector<Units>>& best() const { return best_; }

  private:
    void add_row(const std::vector<std::pair<int, double>>& entries, int relation, double right);
    void take_solution();

    static int is_late(lprec*, void* self) { return Clock::now() >= static_cast<Program*>(self)->deadline_; }
    static void improved(lprec*, void* self, int) { static_cast<Program*>(self)->take_solution(); }

    const DataAssignment& problem_;
    Clock::time_point deadline_;
    lprec* lp_;
    std::optional<std::vector<Units>> best_;
};

void Program::add_row(const std::vector<std::pair<int, double>>& entries, int relation, double right) {
    std::vector<int> columns;
    std::vector<double> values;
    for (const auto& [column, value] : entries) {
        columns.push_back(column);
        values.push_back(value);
    }
    add_constraintex(lp_, static_cast<int>(entries.size()), values.data(), columns.data(), relation, right);
}

Program::Program(const DataAssignment& problem, Clock::time_point deadline)
    : problem_(problem), deadline_(deadline), lp_(make_lp(0, static_cast<int>(problem.units.size()) + 1)) {
    const int last = static_cast<int>(problem.units.size()) + 1;
    const bool serial = problem.network == Network::serial;
    set_verbose(lp_, NEUTRAL);
    set_add_rowmode(lp_, TRUE);
    std::vector<double> objective(static_cast<std::size_t>(last) + 1, 0);
    objective.back() = 1;
    std::vector<std::vector<std::pair<int, double>>> of_node(problem.nodes.size());
    std::vector<std::pair<int, double>> all;
    for (int column = 1; column < last; ++column) {
        const AssignmentUnit& unit = problem.units[static_cast<std::size_t>(column) - 1];
        if (serial) objective[static_cast<std::size_t>(column)] = problem.nodes[unit.node].seconds_per_packet;
        of_node[unit.node].emplace_back(column, 1.0);
        all.emplace_back(column, 1.0);
    }
    set_obj_fn(lp_, objective.data());
    add_row(all, EQ, static_cast<double>(problem.packets));
    for (std::size_t i = 0; i < problem.nodes.size(); ++i)
        if (problem.nodes[i].maximum_packets < problem.packets && !of_node[i].empty())
            add_row(of_node[i], LE, static_cast<double>(problem.nodes[i].maximum_packets));
    for (int column = 1; column < last; ++column) {
        const AssignmentUnit& unit = problem.units[static_cast<std::size_t>(column) - 1];
        const AssignmentNode& node = problem.nodes[unit.node];
        std::vector<std::pair<int, double>> row = {{last, -1.0}};
        if (!serial)
            for (const auto& [other, one] : of_node[unit.node])
                row.emplace_back(other, node.seconds_per_packet + (other == column ? unit.seconds_per_packet : 0));
        else
            row.emplace_back(column, unit.seconds_per_packet);
        add_row(row, LE, serial ? 0 : -2 * node.startup_s);
    }
    // As rows: with a bound of the column lp_solve calls some solutions optimal that are not.
    for (const AssignmentNode& node : problem.nodes)
        if (!serial && node.startup_s > 0) add_row({{last, 1.0}}, GE, 2 * node.startup_s);
    set_add_rowmode(lp_, FALSE);
    for (int column = 1; column < last; ++column) {
        set_int(lp_, column, TRUE);
        set_upbo(lp_, column, static_cast<double>(problem.units[static_cast<std::size_t>(column) - 1].maximum_packets));
    }
    set_minim(lp_);
    put_abortfunc(lp_, is_late, this);
    put_msgfunc(lp_, improved, this, MSG_MILPFEASIBLE | MSG_MILPEQUAL | MSG_MILPBETTER);
}

void Program::take_solution() {
    double* values = nullptr;
    if (!get_ptr_variables(lp_, &values)) return;
    std::vector<Units> packets;
    Units sum = 0;
    for (std::size_t j = 0; j < problem_.units.size(); ++j) {
        packets.push_back(std::llround(values[j]));
        sum += packets.back();
        if (packets.back() < 0 || packets.back() > problem_.units[j].maximum_packets) return;
    }
    if (sum != problem_.packets) return;
    if (!best_ || makespan(problem_, packets) < makespan(problem_, *best_)) best_ = std::move(packets);
}

bool Program::solve() {
    const int status = ::solve(lp_);
    if (status == OPTIMAL || status == SUBOPTIMAL) take_solution();
    return status == OPTIMAL && best_;
}

/// lp_solve's tolerances are absolute: the makespan is to be about 1.
void scale_times(DataAssignment& problem, double factor) {
    for (AssignmentNode& node : problem.nodes) node.seconds_per_packet *= factor, node.startup_s *= factor;
    for (AssignmentUnit& unit : problem.units) unit.seconds_per_packet *= factor;
}

}  // namespace

bool has_milp_solver() { return true; }

Plan plan_ilp_milp(const DataAssignment& problem, const MilpOptions& options) {
    const auto deadline =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.time_limit_s));
    Plan plan = plan_min_min_v2(problem);
    if (!plan.failure.empty() || problem.packets == 0) return plan;
    DataAssignment scaled = in_granules(problem);
    if (plan.lower_bound_s > 0) scale_times(scaled, 1 / plan.lower_bound_s);
    Program program(scaled, deadline);
    const bool optimal = program.solve();
    if (program.best()) {
        std::vector<Units> packets = in_packets(*program.best(), problem);
        if (makespan(problem, packets) < plan.makespan_s)
            finish_assignment(problem, std::move(packets), plan.lower_bound_s, plan);
    }
    if (optimal) {
        plan.lower_bound_s = plan.makespan_s;
        plan.optimal = true;
    }
    return plan;
}

}  // namespace apportion
