// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/common/warm_up_sizes.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace apportion {

namespace {

constexpr std::uint64_t kGrowth = 4;
constexpr int kRepetitions = 5;
constexpr double kLongest_s = 0.3;

class WarmUp {
  public:
    WarmUp(std::span<const WarmUpWorker> workers, const WarmUpLoad& load, const RunOnWorkers& run)
        : workers_(workers),
          load_(load),
          run_(run),
          units_(workers.size()),
          spent_s_(workers.size()),
          measured_(workers.size()) {}

    std::vector<std::vector<MeasuredBlock>> measure() {
        const std::uint64_t smallest = std::min(load_.granularity, load_.units);
        for (std::size_t w = 0; w < units_.size(); ++w) units_[w] = workers_[w].able ? smallest : 0;
        leave_out_what_does_not_fit();
        set_devices_up();
        while (any_units(units_)) {
            measure_this_size();
            grow();
            leave_out_what_does_not_fit();
        }
        return std::move(measured_);
    }

  private:
    static bool any_units(const std::vector<std::uint64_t>& units) {
        return std::ranges::any_of(units, [](std::uint64_t u) { return u > 0; });
    }

    /// Blocks do not overlap: where there are not units for all workers, the last ones go without.
    void leave_out_what_does_not_fit() {
        std::uint64_t left = load_.units;
        for (std::uint64_t& units : units_) {
            if (units > left) units = 0;
            left -= units;
        }
    }

    void set_devices_up() {
        std::vector<std::uint64_t> units = units_;
        for (std::size_t w = 0; w < units.size(); ++w)
            if (!workers_[w].sets_up) units[w] = 0;
        if (any_units(units)) run_(units);
    }

    void measure_this_size() {
        constexpr double kNever = std::numeric_limits<double>::infinity();
        std::vector<double> fastest(units_.size(), kNever), here_s(units_.size());
        std::vector<std::uint64_t> running = units_;
        for (int repetition = 0; repetition < kRepetitions && any_units(running); ++repetition) {
            const std::vector<double> seconds = run_(running);
            for (std::size_t w = 0; w < running.size(); ++w) {
                if (running[w] == 0) continue;
                fastest[w] = std::min(fastest[w], seconds[w]);
                here_s[w] += seconds[w];
                spent_s_[w] += seconds[w];
                if (here_s[w] >= kLongest_s || spent_s_[w] + fastest[w] > load_.limit_s) running[w] = 0;
            }
        }
        for (std::size_t w = 0; w < units_.size(); ++w)
            if (units_[w] > 0) measured_[w].push_back({units_[w], fastest[w]});
    }

    void grow() {
        for (std::size_t w = 0; w < units_.size(); ++w) {
            if (units_[w] == 0) continue;
            const double next_s = kGrowth * measured_[w].back().seconds;
            const bool small = next_s <= kLongest_s && spent_s_[w] + next_s <= load_.limit_s;
            units_[w] = small && units_[w] <= load_.units / kGrowth ? kGrowth * units_[w] : 0;
        }
    }

    std::span<const WarmUpWorker> workers_;
    const WarmUpLoad& load_;
    const RunOnWorkers& run_;
    std::vector<std::uint64_t> units_;  ///< of the size that is measured; 0: not any more
    std::vector<double> spent_s_;
    std::vector<std::vector<MeasuredBlock>> measured_;
};

}  // namespace

std::vector<std::vector<MeasuredBlock>> measure_growing_blocks(std::span<const WarmUpWorker> workers,
                                                               const WarmUpLoad& load, const RunOnWorkers& run) {
    return WarmUp(workers, load, run).measure();
}

}  // namespace apportion
