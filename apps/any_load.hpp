// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A workload as a load on this node, over all nodes, or, where runs read what earlier ones wrote, on data that stay
// distributed over nodes: what applications run without knowing which.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "apps/nodes.hpp"

namespace apportion {

class AnyLoad {
  public:
    enum class Runs { independent, iterated };

    /// It will run `runs` times; 0: not known. Throws std::runtime_error, on all nodes.
    AnyLoad(Workload& workload, unsigned runs, Runs kind = Runs::independent);

    void run();
    double seconds() const { return over_nodes_ ? over_nodes_->seconds() : load_->seconds(); }
    std::string policy() const;
    nlohmann::ordered_json report() const;

    /// Of iterated loads; without effect on one node, where all data are. See NodesIteration.
    void exchange() {
        if (iteration_) iteration_->exchange();
    }
    void collect() {
        if (iteration_) iteration_->collect();
    }
    void collect_results() {
        if (iteration_) iteration_->collect_results();
    }
    void largest(std::span<double> values) {
        if (iteration_) iteration_->largest(values);
    }
    bool distributed() const { return iteration_ != nullptr; }

  private:
    Workload* workload_;
    std::unique_ptr<NodesLoad> over_nodes_;
    NodesIteration* iteration_ = nullptr;  ///< over_nodes_, where it is one
    std::optional<Load> load_;
};

}  // namespace apportion
