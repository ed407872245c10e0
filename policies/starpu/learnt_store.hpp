// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where what runs learnt is kept for later processes: beside the recorded profiles (profile_store.hpp), as profiles
// that runs change,
//
//     FOLDER/learnt/MACHINE-LOAD-KEY.csv       e.g. ~/.local/share/apportion/profiles/learnt/node7-sum-0f3a....csv
//
// one for each key. The notes of the file say its key in full; a file of another key, a damaged one and one that no run
// has changed for ninety days are not used. At most 4096 files are kept, those that were changed last; each is bounded
// by LearntTimes::kMostSizes.
//
// Many processes, on many nodes with one folder, may write at once: a file is replaced as a whole. A writer merges
// what the file has by then; of two that write at the same moment, one's blocks are lost, which harms nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "models/profile_file.hpp"
#include "policies/policy.hpp"
#include "policies/starpu/machine.hpp"

namespace apportion {

/// What must be the same so that learnt times hold.
struct LearntKey {
    Machine machine;
    std::string load;                     ///< what the application calls the problem, as for recorded profiles
    std::string codelet;                  ///< its name
    std::vector<std::string> processors;  ///< as StarPU names them
    std::uint64_t bytes_per_unit = 0;     ///< as the load says it: blocks of larger units take longer
    std::uint64_t bytes_shared = 0;
};

/// `codelet`: null where it has no name. `bytes`: per unit, and shared.
LearntKey learnt_key(Machine machine, const std::string& load, const char* codelet,
                     const std::vector<Processor>& processors, std::pair<std::uint64_t, std::uint64_t> bytes);

struct LearntProfile {
    std::vector<ProcessorProfile> processors;  ///< as in the key; without points: that one ran no block
    int processes = 0;                         ///< that wrote it
    LearntDistribution distribution{};         ///< of the last process
    LearntUnitCosts unit_costs{};              ///< of its last run
};

/// Its file, whether it exists or not. Throws FileError, see data_folder().
std::filesystem::path learnt_file(const LearntKey& key);

/// Empty where there is none, or one that is too old. Throws FileError: it is not usable, in one sentence.
LearntProfile read_learnt(const std::filesystem::path& file, const LearntKey& key);

/// Makes folders, and room. Throws FileError and std::runtime_error: it cannot be written, in one sentence.
void write_learnt(const std::filesystem::path& file, const LearntKey& key, const LearntProfile& profile);

/// Throws FileError unless the file is one that write_learnt() wrote. Whatever its key.
Profile read_any_learnt(const std::filesystem::path& file);

}  // namespace apportion
