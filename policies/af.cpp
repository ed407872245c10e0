// SPDX-License-Identifier: LGPL-2.1-or-later
//
// af: adaptive factoring (Banicescu, Liu: Adaptive factoring, Proc. High Performance Computing Symposium, 2000). From
// the mean mu and the variance s^2 of the seconds that processor i takes for a granule, the chunk that it is likely to
// finish before the common end of the R granules that are left:
//
//     (D + 2 T R - sqrt(D^2 + 4 D T R)) / 2 mu_i,    D = sum s_j^2 / mu_j,    1 / T = sum 1 / mu_j
//
// rounded up. Without variance that is the processor's share by speed.
//
// Single granules cannot be timed: a chunk of at least ten granules runs as ten blocks, as in LB4OMP, and the blocks
// that ended since the processor's last chunk was concluded give both numbers, as in DLS4LB (a block of n granules has
// n times the variance of one). A processor that is not measured gets the initial block as its chunk, and counts as one
// with the speed and variance of the processor that asks, as in LB4OMP. A load that runs again is measured again, as in
// both libraries: the last blocks were the smallest, and say the least.
#include <algorithm>

#include "policies/shared/adaptive_factoring.hpp"
#include "policies/shared/self_scheduling.hpp"

namespace apportion {

namespace {

class Af final : public SelfScheduling {
  public:
    void block_finished(const FinishedBlock& block) override {
        Lane& lane = lanes_[static_cast<std::size_t>(block.processor)];
        const double seconds = block.occupied_s();
        const double granules = static_cast<double>(block.units) / static_cast<double>(granularity());
        --lane.in_flight;
        if (!(seconds > 0) || !(granules > 0)) return;
        ++lane.blocks;
        lane.granules += granules;
        lane.seconds += seconds;
        lane.squares += seconds * seconds / granules;
        if (lane.left == 0 && lane.in_flight <= 0) lane.conclude();
    }

  private:
    static constexpr Units kBlocks = 10;  // of a chunk

    struct Lane {
        Units left = 0, block = 0;  ///< of its chunk, not handed out; size of a block of it
        Units in_flight = 0;        ///< blocks
        double blocks = 0, granules = 0, seconds = 0, squares = 0;  ///< sums over blocks since its last chunk
        double mean_s = 0, variance = 0;                            ///< of a granule; mean 0: not measured

        void conclude() {
            if (blocks == 0) return;
            mean_s = seconds / granules;
            variance = blocks > 1 ? std::max(0.0, (squares - mean_s * seconds) / (blocks - 1)) : 0;
            blocks = granules = seconds = squares = 0;
        }
    };

    void begin_loop(bool) override { lanes_.assign(all_processors(), {}); }

    Units chunk(int processor, Units left) override {
        Lane& lane = lanes_[static_cast<std::size_t>(processor)];
        if (lane.left == 0) {
            lane.conclude();
            lane.left = lane.mean_s > 0 ? likely_to_finish(lane, left) : initial_chunk();
            lane.block = lane.left < kBlocks ? lane.left : quotient_up(lane.left, kBlocks);
        }
        const Units block = std::min(lane.block, lane.left);
        lane.left -= block;
        ++lane.in_flight;
        return block;
    }

    Units likely_to_finish(const Lane& own, Units left) const {
        double variances = 0, speeds = 0;
        for (std::size_t p = 0; p < lanes_.size(); ++p) {
            if (lost(p)) continue;
            const Lane& lane = lanes_[p].mean_s > 0 ? lanes_[p] : own;
            variances += lane.variance / lane.mean_s;
            speeds += 1 / lane.mean_s;
        }
        const double together_s = static_cast<double>(left) / speeds;  // T R
        const double likely_s = likely_to_finish_s(together_s, variances);
        return std::max<Units>(1, rounded_up(likely_s / own.mean_s, left));
    }

    std::vector<Lane> lanes_;
};

}  // namespace

extern const PolicyEntry af_policy{
    .name = "af",
    .description = "adaptive factoring: blocks from means and variances of the measured times",
    .make = make_policy<Af>};

}  // namespace apportion
