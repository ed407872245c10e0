// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/common/warm_up.hpp"

#include <fmt/format.h>
#include <starpu.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <utility>

#include "codelets/common/codelet.hpp"
#include "codelets/common/flavour.hpp"

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

/// What warm_up() measured last, per worker; written before the load's tasks are submitted.
std::vector<MeasuredTimes>& measured = *new std::vector<MeasuredTimes>;  // threads may outlive static objects

/// While warm_up() runs. What it measures is predicted to take next to no time: dmda never takes back how long a task
/// was to keep its worker, and a prediction that is too long leaves the worker busy for it when the load begins.
std::atomic<bool> measuring = false;

std::vector<WarmUpWorker> workers_for(Workload& workload) {
    std::vector<WarmUpWorker> workers(starpu_worker_get_count());
    for (unsigned w = 0; w < workers.size(); ++w)
        workers[w] = {can_run(w, workload.codelet()), starpu_worker_get_type(static_cast<int>(w)) != STARPU_CPU_WORKER};
    return workers;
}

/// Drops the copies of shared data that tasks left on devices: a load that follows has to fetch them itself.
void drop_device_copies(Workload& workload) {
    for (unsigned part = 0; part < workload.shape().parts; ++part)
        for (const TaskData& d : workload.data({0, 1, part, -1}))
            if (d.shared && starpu_data_acquire(d.shared, STARPU_RW) == 0) starpu_data_release(d.shared);
}

}  // namespace

std::vector<std::vector<MeasuredBlock>> measure_growing_blocks(std::span<const WarmUpWorker> workers,
                                                               const WarmUpLoad& load, const RunOnWorkers& run) {
    return WarmUp(workers, load, run).measure();
}

void MeasuredTimes::add(double work, double seconds) {
    // Noise can make a larger block seem faster; times stay monotone, so that a scheduler never prefers more work.
    if (!points_.empty()) seconds = std::max(seconds, points_.back().seconds);
    points_.push_back({work, seconds});
}

double MeasuredTimes::seconds(double work) const {
    if (points_.empty()) return std::numeric_limits<double>::quiet_NaN();
    if (points_.size() == 1 || work <= points_.front().work)
        return points_.front().seconds / points_.front().work * work;
    auto right = std::find_if(points_.begin() + 1, points_.end(), [work](const Point& p) { return work <= p.work; });
    if (right == points_.end()) --right;
    const auto left = right - 1;
    const double slope = (right->seconds - left->seconds) / (right->work - left->work);
    return left->seconds + slope * (work - left->work);
}

double measured_cost(starpu_task* task, unsigned worker, unsigned) {
    // Something finite where nothing was measured: StarPU's modular schedulers abort on a per-worker model without.
    constexpr double kNominal_s = 1e-9, kNextToNothing_s = 1e-18;
    if (measuring) return kNextToNothing_s * task->flops * 1e6;
    const double seconds = worker < measured.size() ? measured[worker].seconds(task->flops) : std::nan("");
    return (std::isnan(seconds) ? kNominal_s * task->flops : seconds) * 1e6;
}

void warm_up(Workload& workload, double limit_s) {
    if (kSimulated) return;
    const WorkloadShape& shape = workload.shape();
    measured.clear();
    measuring = true;
    try {
        const auto blocks = measure_growing_blocks(
            workers_for(workload), {shape.units, shape.granularity, limit_s},
            [&](std::span<const std::uint64_t> units) { return run_on_workers(workload, units); });
        measured.assign(blocks.size(), {});
        for (std::size_t w = 0; w < blocks.size(); ++w)
            for (const auto& [units, seconds] : blocks[w])
                measured[w].add(shape.task_operations(units), seconds / shape.parts);
    } catch (const std::runtime_error& error) {
        // The load itself can do without the device.
        fmt::print(stderr, "warm-up: {}; the costs that dmda is told are not measured\n", error.what());
    }
    measuring = false;
    drop_device_copies(workload);
}

}  // namespace apportion
