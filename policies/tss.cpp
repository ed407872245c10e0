// SPDX-License-Identifier: LGPL-2.1-or-later
//
// tss: trapezoid self-scheduling (Tzen, Ni: Trapezoid Self-Scheduling, IEEE Trans. Parallel and Distributed Systems 4,
// 1993), with the paper's own choice of the first block, half of an equal share, and the last one, one granule: of N
// granules
//
//     f = N / 2P,  l = 1,  n = 2N / (f + l) blocks, rounded up,  each (f - l) / (n - 1) smaller than the one before
//
// in whole granules, f and the difference rounded down, as in LB4OMP. What is left after n blocks, because some were
// cut to a memory or came back from a lost processor, is a trapezoid of its own.
#include <algorithm>
#include <utility>

#include "policies/shared/self_scheduling.hpp"

namespace apportion {

namespace {

class Tss final : public SelfScheduling {
    void begin_loop(bool) override { blocks_ = 0; }

    Units chunk(int, Units left) override {
        if (blocks_ == 0) {
            constexpr Units kLast = 1;
            next_ = std::max(left / (2 * processors()), kLast);
            const double ends = static_cast<double>(next_) + static_cast<double>(kLast);
            blocks_ = std::max<Units>(2, rounded_up(2 * static_cast<double>(left) / ends, left));
            difference_ = (next_ - kLast) / (blocks_ - 1);
        }
        --blocks_;
        return std::exchange(next_, next_ - difference_);
    }

    Units blocks_ = 0;  ///< to come, of the trapezoid
    Units next_ = 0;    ///< granules of the next block
    Units difference_ = 0;
};

}  // namespace

extern const PolicyEntry tss_policy{
    .name = "tss",
    .description = "trapezoid self-scheduling: blocks shrink linearly from half an equal share",
    .make = make_policy<Tss>};

}  // namespace apportion
