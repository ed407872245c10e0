// SPDX-License-Identifier: LGPL-2.1-or-later
//
// awf-c: adaptive weighted factoring, variant C (Carino, Banicescu: Dynamic load balancing with adaptive factoring
// methods in scientific applications, J. Supercomputing 44, 2008). A weight per processor is computed anew for each
// block: with the k-th block of the processor of n_k granules in t_k seconds,
//
//     pi = sum k t_k / sum k n_k,    weight w = (1 / pi) / mean of 1 / pi over the measured processors,
//
// and the next block is w times a 2P-th of what is left, both rounded up. Later blocks count more.
//
// Read as in DLS4LB: a processor that is not measured gets the smallest block, here the initial one. (LB4OMP gives it a
// 2P-th of the load, as if its weight were 1.) A load that runs again keeps what was measured.
#include <fmt/format.h>

#include "policies/shared/self_scheduling.hpp"

namespace apportion {

namespace {

class AwfC final : public SelfScheduling {
  public:
    void block_finished(const FinishedBlock& block) override {
        Lane& lane = lanes_[static_cast<std::size_t>(block.processor)];
        const double seconds = block.occupied_s();
        if (!(seconds > 0)) return;
        const double k = ++lane.blocks;
        lane.seconds += k * seconds;
        lane.granules += k * static_cast<double>(block.units) / static_cast<double>(granularity());
    }

    PolicyReport report() const override {
        PolicyReport report;
        for (const Lane& lane : lanes_) {
            PolicyReport::Model& model = report.models.emplace_back();
            model.samples = lane.blocks;
            if (lane.blocks > 0)
                model.formula = fmt::format("x / {:.4g}", lane.speed() * static_cast<double>(granularity()));
        }
        return report;
    }

  private:
    struct Lane {
        int blocks = 0;
        double seconds = 0, granules = 0;  ///< sums, block k counted k times
        double speed() const { return granules / seconds; }
    };

    void begin_loop(bool same_processors) override {
        if (!same_processors) lanes_.assign(all_processors(), {});
    }

    Units chunk(int processor, Units left) override {
        const Lane& own = lanes_[static_cast<std::size_t>(processor)];
        if (own.blocks == 0) return initial_chunk();
        double speeds = 0, measured = 0;
        for (std::size_t p = 0; p < lanes_.size(); ++p) {
            if ((lost(p) && static_cast<int>(p) != processor) || lanes_[p].blocks == 0) continue;
            speeds += lanes_[p].speed();
            ++measured;
        }
        const double weight = own.speed() * measured / speeds;
        return rounded_up(weight * static_cast<double>(quotient_up(left, 2 * processors())), left);
    }

    std::vector<Lane> lanes_;
};

}  // namespace

extern const PolicyEntry awf_c_policy{
    .name = "awf-c",
    .description = "adaptive weighted factoring: half an equal part of what is left, by speed",
    .make = make_policy<AwfC>};

}  // namespace apportion
