// SPDX-License-Identifier: LGPL-2.1-or-later
//
// gss: guided self-scheduling (Polychronopoulos, Kuck: Guided Self-Scheduling, IEEE Trans. Computers C-36, 1987). The
// next block is a P-th of what is left, rounded up.
//
// Good for: equal processors that begin at different times. The first block of a slow processor is as large as that of
// a fast one.
#include "policies/shared/self_scheduling.hpp"

namespace apportion {

namespace {

class Gss final : public SelfScheduling {
    void begin_loop(bool) override {}
    Units chunk(int, Units left) override { return quotient_up(left, processors()); }
};

}  // namespace

extern const PolicyEntry gss_policy{.name = "gss",
                                    .description = "guided self-scheduling: a P-th of what is left to any idle worker",
                                    .make = make_policy<Gss>};

}  // namespace apportion
