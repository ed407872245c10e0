// SPDX-License-Identifier: LGPL-2.1-or-later
#include "apps/any_load.hpp"

#include "apps/app.hpp"

namespace apportion {

AnyLoad::AnyLoad(Workload& workload, unsigned runs, Runs kind) : workload_(&workload) {
    if (kind == Runs::iterated) {
        auto iteration = Nodes::here().make_iteration(workload, runs);
        iteration_ = iteration.get();
        over_nodes_ = std::move(iteration);
    } else {
        over_nodes_ = Nodes::here().make_load(workload, runs);
    }
    if (!over_nodes_) load_.emplace(make_load(workload, runs));
}

void AnyLoad::run() {
    if (over_nodes_)
        over_nodes_->run();
    else
        run_to_end(*load_, *workload_);
}

std::string AnyLoad::policy() const {
    if (!over_nodes_) return load_->policy();
    const auto its = over_nodes_->report();
    return its.value("policy", "") + "/" + its.value("inner_policy", "");
}

nlohmann::ordered_json AnyLoad::report() const { return over_nodes_ ? over_nodes_->report() : report_of(*load_); }

}  // namespace apportion
