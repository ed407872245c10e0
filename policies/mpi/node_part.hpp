// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A node's own part of a load over nodes: an open load under the node's policy, to which grants are handed as their
// input arrives. Tells the post which units are done, and when the load ends.
#pragma once

#include <starpu.h>

#include <optional>
#include <string>
#include <vector>

#include "policies/mpi/post.hpp"
#include "policies/policy.hpp"
#include "policies/starpu/apportion.hpp"

namespace apportion {

class NodePart {
  public:
    /// `options`: the user's. Throws apportion::Error, also where the node's policy has no profile to plan from.
    NodePart(const apportion_load_options& options, std::uint64_t initial_block, Post& post);
    ~NodePart();
    NodePart(const NodePart&) = delete;
    NodePart& operator=(const NodePart&) = delete;

    /// When the program's tasks that come before have ended: what their handles have in main memory is sent and
    /// received without a word to StarPU.
    void begin();
    /// The units' input is there. Throws apportion::Error.
    void add(UnitRange units);
    /// Takes back those with which the range ends, as far as no worker has been given them; returns how many.
    Units withdraw(UnitRange units);
    /// No more units come.
    void close();
    /// Waits until the load has ended. Also after an error.
    void finish();
    /// And then until no task of it runs any more.
    void wait_for_tasks();
    /// finish() has returned: whether tasks that were given up may still store in main memory.
    bool may_store() const { return status_ != 0 || options_.results_stay != 0; }

    const std::string& report() const { return report_; }
    std::string policy() const { return load_->policy(); }

  private:
    void check_profile(apportion_load_options own) const;
    void wait_for_uses() const;
    static int fill(starpu_task* task, apportion_block* block, void* part);
    static int warm_up(void* part);
    static void done(const apportion_done* done, void* part);

    const apportion_load_options options_;
    const std::vector<apportion_use> uses_;
    const std::string a_task_;  ///< whose it is, in a sentence
    Post& post_;
    std::optional<Load> load_;
    static void* wait_for_end(void* part);

    starpu_pthread_t waits_{};  ///< for the load's end, in virtual time where that is simulated
    double begun_us_ = 0;
    bool waiting_ = false;
    int status_ = 0;  ///< of the load's end; written by who waits for it
    std::string report_ = "{}";
};

}  // namespace apportion
