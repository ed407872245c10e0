// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The runs of a comparison, round by round. The first round runs every policy as it comes, which tells how many blocks
// the others are to be tried with, and then those. Later rounds run all configurations that the order still depends on,
// in an order drawn by chance: what disturbs the machine for a while meets all of them alike.
#pragma once

#include <cstdint>
#include <mutex>
#include <random>
#include <vector>

#include "tools/apportion/comparison.hpp"

namespace apportion {

class ComparisonRounds {
  public:
    ComparisonRounds(const ProgramRunner& runner, Comparison& comparison, ProgressLine& progress);

    /// Fills configurations, rounds, ending, signal and seconds. Throws what a run throws.
    void run();

  private:
    void run_all();
    void run_first();
    void run_round(std::vector<std::size_t> configurations);
    void run_one(std::size_t configuration);
    void add_sweep();
    void drop_slow();
    std::vector<std::size_t> active() const;
    bool time_for_another(std::size_t runs) const;
    std::int64_t initial_block(std::int64_t blocks) const;

    const ProgramRunner& runner_;
    Comparison& comparison_;
    ProgressLine& progress_;
    std::mt19937_64 random_;
    std::mutex mutex_;
    std::size_t runs_done_ = 0;
    int passes_ = 0;
    std::int64_t units_ = 0, granularity_ = 1;  ///< of the program's loads
};

}  // namespace apportion
