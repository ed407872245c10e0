// SPDX-License-Identifier: LGPL-2.1-or-later
//
// fac2: factoring, in the practical variant that needs no mean and no variance (Flynn Hummel, Schonberg, Flynn:
// Factoring, Comm. ACM 35(8), 1992). Blocks are handed out in batches of P equal ones; a batch is half of what is left,
// each block a 2P-th of it, rounded up.
//
// A batch is computed from what is really left, as in DLS4LB; LB4OMP takes the closed form N / (2^j P), which differs
// by rounding.
#include "policies/shared/self_scheduling.hpp"

namespace apportion {

namespace {

class Fac2 final : public SelfScheduling {
    void begin_loop(bool) override { blocks_ = 0; }

    Units chunk(int, Units left) override {
        if (blocks_ == 0) {
            blocks_ = processors();
            chunk_ = quotient_up(left, 2 * processors());
        }
        --blocks_;
        return chunk_;
    }

    Units blocks_ = 0;  ///< to come, of the batch
    Units chunk_ = 0;
};

}  // namespace

extern const PolicyEntry fac2_policy{
    .name = "fac2",
    .description = "factoring: batches of equal blocks, each batch half of what is left",
    .make = make_policy<Fac2>};

}  // namespace apportion
