// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A load over nodes: what apportion_mpi.h declares as struct apportion_mpi_load. Rank 0 grants units (engine/grants.hpp
// decides) and is a node as well; the others do what they are told.
#pragma once

#include <starpu.h>

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policies/engine/granted_units.hpp"
#include "policies/engine/grants.hpp"
#include "policies/mpi/node_part.hpp"
#include "policies/mpi/post.hpp"
#include "policies/mpi/world.hpp"

struct apportion_mpi_load {
  public:
    /// Collective. Throws apportion::ApiError, the same on all ranks.
    apportion_mpi_load(const apportion_load_options* given, const apportion_mpi_array* arrays, unsigned count);

    /// Which load it is, for sentences.
    const std::string& called() const { return called_; }
    /// Collective. Returns the sentence that all ranks agree on when it fails, or nothing.
    std::string run();

    const char* report() const { return report_.c_str(); }
    double seconds() const { return seconds_; }

  private:
    void make_policy(const apportion::PolicyEntry& entry);
    void find_journey(const apportion_load_options& options);
    double seconds_at(double us) const { return (us - begin_us_) * 1e-6; }
    double now_s() const { return seconds_at(starpu_timing_now()); }

    // Rank 0.
    void run_as_home();
    double silent_at_us() const;
    void end_job_if_silent(int node) const;
    void carry_out(const apportion::Grants::Orders& orders);
    apportion::Grants::Orders take_in(const apportion::Event& event);
    apportion::Grants::Orders home_fails(const apportion::Event& event);
    apportion::Grants::Orders take_in(int node, const apportion::Message& message, double at_s);
    apportion::Grants::Orders units_done(const apportion::Event& event);
    void end_run();
    nlohmann::ordered_json outer_report(bool with_nodes) const;

    // Other ranks.
    void run_as_node(const std::string& unable);  ///< why its part cannot begin, if so
    void take_order(const apportion::Message& message);
    void start(std::int64_t grant);
    void begin_grant(std::int64_t grant, apportion::UnitRange range);
    std::vector<apportion::GrantedUnits::Computed> done_here(const apportion::Event& event);
    std::optional<apportion::GrantedUnits::Computed> withdraw(std::int64_t grant, apportion::UnitRange all,
                                                              apportion::UnitRange wanted,
                                                              const std::function<void(apportion::Units kept)>& tell);
    void withdraw_here(std::int64_t grant, apportion::UnitRange wanted);
    void withdraw_elsewhere(std::int64_t grant, apportion::UnitRange wanted);
    void units_done_here(const apportion::Event& event);
    void tell(apportion::Message::Kind kind, std::int64_t grant, const std::string& text, double seconds = 0,
              double half_s = 0);

    void collect_reports(bool all);
    std::string report_file() const;

    apportion::World& world_;
    apportion::Post& post_;
    apportion::Post::Arrays arrays_;
    std::string name_, called_, policy_name_;
    apportion::LoadDescription description_;
    std::unique_ptr<apportion::Policy> policy_;
    std::optional<apportion::HomeFirst> home_first_;
    std::unique_ptr<apportion::Recovery> recovery_;
    std::unique_ptr<apportion::NodePart> part_;

    // Of a run:
    double begin_us_ = 0;  ///< of StarPU's clock
    int runs_ = 0;
    apportion::GrantedUnits granted_;
    std::vector<std::pair<std::int64_t, apportion::UnitRange>> waiting_;  ///< for a grant of the same units to end
    std::unique_ptr<apportion::Grants> grants_;
    std::map<std::int64_t, apportion::UnitRange> orders_;  ///< other ranks: the run's grants
    std::set<int> listening_;                              ///< rank 0: nodes whose last message has not come
    bool part_ended_ = false;
    bool collects_ = false;  ///< all ranks put their reports together
    std::string sentence_;
    double seconds_ = 0;
    std::uint64_t bytes_before_ = 0;
    std::string report_ = "{}";
};
