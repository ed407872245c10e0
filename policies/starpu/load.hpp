// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A load between its runs: what the application said of it, what is kept from one submission to the next (models,
// blocks, data on devices), the last run, and tasks of earlier ones that were given up and still run.
//
// A load that receives units while it runs hands them to its run, whose flow adds them to the free ones.
#pragma once

#include <starpu.h>

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "policies/starpu/learning.hpp"
#include "policies/starpu/run.hpp"

struct apportion_load {
  public:
    /// Throws apportion::ApiError when the options make no sense.
    explicit apportion_load(const apportion_load_options* options);
    ~apportion_load();
    apportion_load(const apportion_load&) = delete;
    apportion_load& operator=(const apportion_load&) = delete;

    void submit();
    void add(std::uint64_t first, std::uint64_t units);
    std::uint64_t withdraw(std::uint64_t first, std::uint64_t units);
    void close();
    /// Returns the error that ended the run, or 0.
    int wait();
    void release_kept();

    /// Of the last finished run.
    const char* report();
    double seconds() const;
    const char* policy_name() const;

    /// Throws ApiError when the calling thread is in this load's fill function: a load must not wait for itself.
    void refuse_while_filling(const char* function) const;
    /// ... or is a StarPU worker while the load runs: it may have to compute blocks, or to send them data.
    void refuse_waiting_worker(const char* function) const;
    /// ... or is any worker at all, and data are to be unregistered.
    void refuse_worker(const char* function) const;

  private:
    /// "load 'its name'" and what: throws that, behind the function where it is told.
    [[noreturn]] void refuse(int error, const std::string& what, const char* function = "") const;
    void choose_policy();
    void begin_learning();
    void look_up_profile();
    std::string report_file() const;
    apportion::RunRecord new_record() const;
    apportion::Run::State state();
    std::shared_ptr<apportion::Run> current_run() const;
    apportion::UnitRange checked_range(const char* function, std::uint64_t first, std::uint64_t units) const;
    void make_run();
    void finish(const apportion::Lock& lock);
    void write_report(const apportion::Lock& lock);
    void wait_for_all_cancelled();
    void wait_for_calls() const;
    std::list<apportion::BlockHandle> take_retired();
    bool has_data() const;

    apportion::LoadSetup setup_;
    apportion::LoadDescription description_;

    // Kept from run to run. While a run is on, it has these.
    std::unique_ptr<apportion::Policy> policy_;
    std::unique_ptr<apportion::Recovery> recovery_;
    std::vector<apportion::OwnedUnits> previous_blocks_;
    apportion::KeptData kept_;

    // Under the lock:
    mutable apportion::Mutex mutex_;
    const apportion::PolicyEntry* policy_entry_ = nullptr;  ///< null under StarPU's schedulers
    const char* policy_name_ = nullptr;
    bool profile_looked_up_ = false, learning_begun_ = false;
    apportion::Learning learning_;
    int runs_ = 0;
    std::shared_ptr<apportion::Run> run_;                    ///< the last one; null: none yet
    std::vector<std::shared_ptr<apportion::Run>> not_over_;  ///< that one and those that left cancelled blocks
    bool releasing_ = false;                                 ///< nobody may submit it meanwhile
    bool finished_ = true;                                   ///< the last run is complete and its report is made,
    bool written_ = true;                                    ///< and told to the file
    double seconds_ = 0;
    std::string report_ = "{}";
};
