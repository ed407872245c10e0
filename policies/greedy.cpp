// SPDX-License-Identifier: LGPL-2.1-or-later
//
// greedy: a block of the initial size to any idle worker (PLB-HeC, section IV: the baseline of its comparisons).
// Balances to within one block of the slowest processor; every block pays its fixed costs, and a good size must be
// guessed.
#include "policies/policy.hpp"

namespace apportion {

namespace {

class Greedy final : public Policy {
  public:
    void begin(const LoadDescription& load) override {
        block_ = round_to_granularity(static_cast<double>(load.initial_block), load.granularity);
    }
    Units next_block(int, double, const Progress&) override { return block_; }

  private:
    Units block_ = 1;
};

}  // namespace

extern const PolicyEntry greedy_policy{.name = "greedy",
                                       .description = "blocks of the initial size to any idle worker",
                                       .make = make_policy<Greedy>,
                                       .fixed_blocks = true};

}  // namespace apportion
