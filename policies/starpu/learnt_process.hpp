// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the loads of this process know of each key (learnt_store.hpp): a program that makes a load for every small step
// reads a file once and seldom writes one. Files are written when a run or a load ends, at most once a second and in at
// most a hundredth of the time, which matters where the folder is slow, and when a scheduler of Apportion ends, as
// StarPU writes its performance models. Threads may call all of this at once.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "models/learnt_times.hpp"
#include "policies/starpu/learnt_store.hpp"

namespace apportion {

/// Per processor of a key, in the order they ran.
using LearntBlocks = std::vector<std::vector<ProfilePoint>>;

struct LearntKnown {
    LearntProfile profile;  ///< this process counts once it has run blocks
    std::string problem;    ///< why the file was not used or is not kept, or empty
};

class LearntInProcess {
  public:
    explicit LearntInProcess(std::chrono::seconds between_writing)
        : between_writing_(between_writing), next_writing_(Clock::now() + between_writing) {}

    /// Reads the file at the first call for it.
    LearntKnown known(const std::filesystem::path& file, const LearntKey& key);
    /// The blocks of a run; how a run was distributed that repeated another, data and all: nothing where data moved, no
    /// blocks of a first run; and what its policy found of the costs of units, if it looked.
    void add(const std::filesystem::path& file, const LearntKey& key, LearntBlocks blocks,
             const std::optional<LearntDistribution>& distribution = {},
             const std::optional<LearntUnitCosts>& unit_costs = {});
    void load_ends();
    void scheduler_ends();

  private:
    using Clock = std::chrono::steady_clock;

    struct Known {
        LearntKey key;
        std::vector<LearntTimes> times;  ///< undecided on what contradicts them, as long as the process goes on
        LearntBlocks unwritten;          ///< among them
        LearntDistribution distribution;
        LearntUnitCosts unit_costs;
        LearntProfile file;    ///< as it was read or written last
        bool counted = false;  ///< this process, in the file
        bool kept = true;      ///< the file can be written
        std::string problem;
    };

    Known& find_or_read(const std::filesystem::path& file, const LearntKey& key);
    static LearntProfile profile_of(const Known& known);
    static void write(const std::filesystem::path& file, Known& known);
    void write_all();

    const std::chrono::seconds between_writing_;
    std::mutex mutex_;  ///< of what follows
    std::map<std::filesystem::path, Known> all_;
    Clock::time_point next_writing_;
    bool wrote_ = false;
};

/// That of this process.
LearntInProcess& learnt_in_process();

/// One sentence on standard error, the first one of the process only.
void tell_of_learning(const std::string& problem);

}  // namespace apportion
