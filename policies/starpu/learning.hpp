// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a load learns from earlier processes and leaves to later ones (learnt_store.hpp). Read before its first run;
// written when it is destroyed, and after a run where that is more than a minute ago. A file that cannot be read or
// written costs one sentence on standard error a process, and the load runs as if nothing were known.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "policies/starpu/learnt_store.hpp"
#include "policies/starpu/report.hpp"

namespace apportion {

class Learning {
  public:
    /// Nothing is read or kept before this, and with APPORTION_LEARN=0.
    void begin(LearntKey key);

    /// One per processor of the key; empty: nothing is known.
    const std::vector<ProcessorProfile>& known() const { return known_.processors; }
    std::string file() const { return file_.string(); }
    LearntRecord record() const { return {file(), known_.processes, problem_}; }

    /// A run of a policy of Apportion on these processors has ended.
    void add(const RunRecord& run, const std::vector<Processor>& processors);
    void save();

  private:
    LearntProfile merged();
    void tell(const std::string& problem);

    bool on_ = false;
    LearntKey key_;
    std::filesystem::path file_;
    LearntProfile known_;
    std::string problem_;
    std::vector<std::vector<ProfilePoint>> blocks_;  ///< per processor, since the file was written
    bool counted_ = false;                           ///< this process, in the file
    std::chrono::steady_clock::time_point saved_ = std::chrono::steady_clock::now();
};

}  // namespace apportion
