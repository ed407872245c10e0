// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the parts of this library share while it runs.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "policies/mpi/post.hpp"
#include "policies/mpi/world.hpp"

namespace apportion {

/// Throws ApiError before apportion_mpi_init.
Post& running_post();

/// The sentence of the lowest rank that has a `problem`, with its name unless it is rank 0; empty: all are well.
std::string agreed_sentence(const World& world, const std::string& problem);

/// What cannot be agreed on any more: says so on standard error and ends all ranks.
[[noreturn]] void abort_job(const std::string& sentence);

/// While it exists, the job ends with this sentence after so many seconds.
class Deadline {
  public:
    Deadline(std::string sentence, double seconds);

  private:
    class Alarm;
    std::shared_ptr<Alarm> alarm_;
};

/// "rank 1 (its host): a task of load 'its name'".
std::string a_task_of(const World& world, const std::string& load);

/// For who waits for a task that may never end: a_task_of() whom, and how long its run took: its blocks may be long.
/// One that others have computed again may stall before it is given up, which takes as long. None where all is waited
/// for.
enum class Awaited { given_up, computed_again };
std::optional<Deadline> deadline_of(const std::string& task, double run_s, Awaited which = Awaited::given_up);

/// Appends a run's report. The results are there: where it cannot, this costs a sentence on standard error alone.
void report_to_file(const std::string& file, const std::string& report);

}  // namespace apportion
