// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What loads and StarPU are on one node.
#include "apps/nodes.hpp"

#include <nlohmann/json.hpp>

#include "apps/app.hpp"

namespace apportion {

namespace {

class LocalLoad final : public NodesLoad {
  public:
    LocalLoad(Workload& workload, unsigned runs) : workload_(workload), load_(load_options(workload, runs)) {}

    void run() override {
        load_.run();
        // A late task may store results until the load is released.
        if (workload_.shape().results_stay && !kSimulated) load_.release();
    }
    double seconds() const override { return load_.seconds(); }
    std::string policy() const override { return load_.policy(); }
    nlohmann::ordered_json report() const override { return nlohmann::ordered_json::parse(load_.report()); }

  private:
    Workload& workload_;
    Load load_;
};

}  // namespace

std::string NodesLoad::policy() const {
    const auto its = report();
    return its.value("policy", "") + "/" + its.value("inner_policy", "");
}

std::unique_ptr<NodesLoad> Nodes::make_load(Workload& workload, unsigned runs, bool) {
    return std::make_unique<LocalLoad>(workload, runs);
}

void Nodes::start() { Error::check(apportion_init(nullptr)); }

void Nodes::stop() { apportion_shutdown(); }

}  // namespace apportion
