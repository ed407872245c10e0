// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A load that runs again on data which stay distributed over nodes: what apportion_mpi.h declares as struct
// apportion_mpi_iteration. Each rank computes its own units as an ordinary load. After a run all tell rank 0 how long
// they took, which decides on the shares of the next one (policies/shared/node_shares.hpp); what then has to travel is
// the same for the first distribution, for halos and for units that move (policies/engine/distributed_units.hpp).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "policies/engine/distributed_units.hpp"
#include "policies/engine/recovery.hpp"
#include "policies/mpi/post.hpp"
#include "policies/mpi/world.hpp"
#include "policies/shared/node_shares.hpp"
#include "policies/starpu/apportion.hpp"

struct apportion_mpi_iteration {
  public:
    using Arrays = std::vector<apportion_mpi_distributed>;

    /// Collective, as are run, exchange and collect. Throws apportion::ApiError, the same on all ranks.
    apportion_mpi_iteration(const apportion_load_options* given, const apportion_mpi_distributed* arrays,
                            unsigned count);
    ~apportion_mpi_iteration() { end_own_load(); }
    apportion_mpi_iteration(const apportion_mpi_iteration&) = delete;
    apportion_mpi_iteration& operator=(const apportion_mpi_iteration&) = delete;

    /// Which load it is, for sentences.
    const std::string& called() const { return called_; }
    /// What must be the same on all ranks, of arrays that are given to exchange or collect.
    nlohmann::json facts_of(const apportion_mpi_distributed* arrays, unsigned count) const;
    /// Where each of these arrays is collected from: likewise.
    std::string sources_of(const apportion_mpi_distributed* arrays, unsigned count) const;
    /// Each returns the sentence that all ranks agree on when it fails, or nothing; what it throws only this rank
    /// knows.
    std::string run();
    std::string exchange(const apportion_mpi_distributed* arrays, unsigned count);
    std::string collect(const apportion_mpi_distributed* arrays, unsigned count);

    apportion::UnitRange range() const { return owned_.of(world_.rank()); }
    const char* report() const { return report_.c_str(); }
    double seconds() const { return seconds_; }

  private:
    static int fill(starpu_task* task, apportion_block* block, void* self);
    static int warm_up(void* self);

    void take_options(const apportion_load_options& options);
    std::vector<apportion::Units> planned_shares();
    void share_first_shares(std::vector<apportion::Units> planned);
    void make_own_load();
    void run_own_load();
    void end_own_load();

    // Rank 0, after its own units: returns the sentence that ends the run, or none.
    std::string hear_all();
    double late_at_us() const;
    void tell_all(const std::string& sentence, bool moved);
    void note_run(const std::string& sentence);
    void gather_reports();  ///< on all ranks
    // Others: whether shares are others from now on.
    bool tell_home();
    void take_shares();

    /// Brings each rank what it needs with the shares `next`; each owns its units of `owned_`. `at_first`: rank 0 has
    /// everything. Of those arrays alone that change, unless shares do.
    void distribute(const Arrays& arrays, const apportion::OwnedRanges& next, bool at_first);
    void travel(const Arrays& arrays, const std::vector<std::vector<apportion::TravellingUnits>>& units);
    bool exchanged(const apportion_mpi_distributed& array) const;
    void copy_here(const apportion_mpi_distributed& array, const apportion::TravellingUnits& units) const;

    apportion::World& world_;
    apportion::Post& post_;
    apportion_load_options options_{};  ///< the user's, whose strings and handles are kept here:
    std::string name_, called_, profile_, profile_command_;
    std::string a_task_;    ///< whose it is, in a sentence
    nlohmann::json facts_;  ///< of the arrays that were given when it was made
    Arrays given_;          ///< these
    std::vector<apportion_use> uses_;
    const apportion::PolicyEntry* policy_ = nullptr;  ///< the outer one
    std::string inner_policy_;
    apportion::LoadDescription description_;
    apportion::PolicyReport planned_;              ///< rank 0: by the policy that planned the first shares
    std::optional<apportion::NodeShares> shares_;  ///< rank 0
    std::optional<apportion::Recovery> recovery_;  ///< rank 0: how long others may be silent
    apportion::OwnedRanges owned_{std::vector<apportion::Units>{}}, next_ = owned_;
    apportion::OwnedRanges computed_ = owned_;  ///< those of the last run
    std::vector<const void*> exchanged_;        ///< arrays that have come to where owned_ says since then
    std::optional<apportion::Load> load_;       ///< none where this rank has no units
    std::string problem_;                       ///< of this rank, since the last run

    bool to_file_ = false;  ///< rank 0 writes a report of each run
    int runs_ = 0;
    double begin_us_ = 0, stood_still_us_ = 0;
    double own_seconds_ = 0, seconds_ = 0;
    std::vector<double> node_seconds_;          ///< rank 0: of the last run
    std::int64_t travels_ = 0;                  ///< modulo two: none begins before all have ended the one before
    std::uint64_t bytes_before_ = 0;            ///< the post's when the last run had ended
    std::int64_t bytes_here_ = 0;               ///< of units that came here since then
    std::int64_t bytes_ = 0, least_bytes_ = 0;  ///< rank 0: of all, since the run before
    std::string own_report_ = "{}";             ///< of the last run, before units moved
    std::vector<std::string> node_reports_;
    std::string report_ = "{}";
};

namespace apportion {

/// Why such arrays of so many units cannot be distributed, or empty. `known`: where nothing is wrong with `starts`.
std::string why_not_distributed(const apportion_mpi_distributed* arrays, unsigned count, std::uint64_t units,
                                const std::vector<apportion_mpi_distributed>& known = {});
/// What must be the same on all ranks: all but addresses, with what is where `starts` points to. `known`: arrays whose
/// facts are `known_facts`, so that nothing is read again.
nlohmann::json facts_of(const apportion_mpi_distributed* arrays, unsigned count, std::uint64_t units,
                        const std::vector<apportion_mpi_distributed>& known = {},
                        const nlohmann::json& known_facts = {});

}  // namespace apportion
