// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a load learns from earlier processes and loads, and leaves to later ones (learnt_process.hpp). Known before its
// first run. A file that cannot be read or written costs one sentence on standard error a process, and the load runs as
// if nothing were known.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/starpu/learnt_process.hpp"
#include "policies/starpu/report.hpp"

namespace apportion {

class Learning {
  public:
    /// Nothing is read or kept before this, and with APPORTION_LEARN=0.
    void begin(LearntKey key);

    /// One per processor of the key; empty: nothing is known.
    const std::vector<ProcessorProfile>& known() const { return known_.profile.processors; }
    const LearntDistribution& distribution() const { return known_.profile.distribution; }
    const LearntUnitCosts& unit_costs() const { return known_.profile.unit_costs; }
    std::string file() const { return file_.string(); }
    LearntRecord record() const { return {file(), known_.profile.processes, known_.problem}; }

    /// A run of a policy of Apportion on these processors has ended.
    void add(const RunRecord& run, const std::vector<Processor>& processors,
             const std::optional<LearntUnitCosts>& unit_costs);
    void load_ends();

  private:
    LearntKey key_;
    std::filesystem::path file_;  ///< empty: nothing is kept
    LearntKnown known_;
};

}  // namespace apportion
