// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The search of `hpopta` for one number of units after another on the same time functions. Shared by the planners that
// solve HPOPT: hpopta, popta, two-level.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "policies/planners/discrete_problem.hpp"
#include "policies/planners/hpopta_deficits.hpp"
#include "policies/planners/hpopta_envelopes.hpp"

namespace apportion {

/// The functions throw std::length_error where sizes without any regularity have too many sums to be kept.
class HpoptaSearch {
  public:
    /// `processors[i]` stands for `copies` identical processors; its times must outlive the search.
    HpoptaSearch(std::span<const SizeTimes> processors, Units copies)
        : envelopes_(processors, copies), deficits_(envelopes_) {}

    /// For many units: further calls are cheaper, at the cost of sorting (hpopta_merged.hpp, hpopta_blocks.hpp).
    void prepare(std::span<const SizeTimes> processors) { envelopes_.prepare(processors); }

    /// The smallest makespan of exactly `units` >= 0 units; infinity when no sizes add up to them.
    double makespan_s(Units units);

    /// A distribution of that makespan, the copies of a processor side by side; empty when there is none.
    /// `previous` has a share for each processor or is empty, which it must be with copies; see break_ties.
    std::vector<Units> distribute(Units units, std::span<const Units> previous = {});

  private:
    double optimum(Units units);
    double select(double below);
    Deficits::Share slowest_of(std::span<const Units> shares, double makespan) const;
    std::vector<Units> with_fastest_others(Units units, const Deficits::Share& slowest);

    Envelopes envelopes_;
    Deficits deficits_;
    std::vector<double> times_;
};

/// Why a plan failed that met std::length_error.
inline constexpr const char* kTooManySums =
    "the sizes have too many different sums to compute an optimal distribution; give a coarser granularity or regular "
    "sizes";

/// The plan of an optimal distribution with its proof, or why there is none. `search` is over the processors of
/// `problem`, `previous` as for its distribute().
Plan optimal_plan(std::string algorithm, const DiscreteProblem& problem, Units units, HpoptaSearch& search,
                  std::span<const Units> previous = {});

}  // namespace apportion
