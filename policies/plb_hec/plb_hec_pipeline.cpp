// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/plb_hec/plb_hec_pipeline.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "policies/engine/device_memory.hpp"

namespace apportion {

namespace {

double memory_of(const Processor& processor) {
    return processor.memory_units == kNoLimit ? std::numeric_limits<double>::infinity()
                                              : std::max(1.0, static_cast<double>(processor.memory_units));
}

}  // namespace

PipelineTime::PipelineTime(const FittedCurve& kernel, const TransferLine& in, const TransferLine& out,
                           const Processor& processor)
    : kernel_(&kernel), in_(in), out_(out), own_memory_(processor.own_memory), memory_(memory_of(processor)) {}

PipelineTime::PipelineTime(double fixed_s, double seconds_per_unit, const TransferLine& in, const TransferLine& out,
                           const Processor& processor)
    : guessed_fixed_s_(fixed_s),
      guessed_slope_s_(seconds_per_unit),
      in_(in),
      out_(out),
      own_memory_(processor.own_memory),
      memory_(memory_of(processor)) {}

double PipelineTime::kernel_seconds(double units) const {
    return slowdown_ * (kernel_ ? kernel_->seconds(units) : guessed_fixed_s_ + guessed_slope_s_ * units);
}

double PipelineTime::in_seconds(double units, bool stays) const {
    if (!stays || stays_ <= 0) return in_.seconds(units);
    return rest_.samples() > 0 ? rest_.seconds(units) : in_.seconds((1 - stays_) * units);
}

/// Where results were seen to come home, they do so in every run.
double PipelineTime::out_seconds(double units, double travels) const {
    return out_.seconds(out_.samples() > 0 ? units : travels);
}

double PipelineTime::seconds_of(std::span<const Units> blocks) const {
    const auto units = static_cast<double>(std::accumulate(blocks.begin(), blocks.end(), Units{0}));
    const bool stays = units <= memory_;
    const double part = stays ? 1 - stays_ : 1;
    double there_s = 0, end_s = 0, home_s = 0;
    for (const Units block : blocks) {
        const auto x = static_cast<double>(block);
        if (own_memory_) there_s += in_seconds(x, stays);
        end_s = std::max(end_s, there_s) + kernel_seconds(x);
        home_s = std::max(home_s, end_s) + (own_memory_ ? out_seconds(x, part * x) : 0);
    }
    return home_s;
}

/// With another one in flight, or alone.
bool PipelineTime::fills_memory(double block, bool overlapped) const {
    return block * (overlapped ? DeviceMemory::kBuffers : 2) > memory_ * (1 + 1e-9);
}

/// Both ways of a block's data together, with another one in flight.
double PipelineTime::both_ways(double in_s, double out_s, double block) const {
    return fills_memory(block, true) ? in_s + out_s : std::max(in_s, out_s);
}

double PipelineTime::total(double units, const Blocks& blocks) const {
    const bool stays = units <= memory_;
    const double x = units / blocks.count, travels = x * (stays ? 1 - stays_ : 1);
    const double in_s = in_seconds(x, stays), out_s = out_seconds(x, travels), kernel_s = kernel_seconds(x);
    if (!own_memory_) return blocks.count * kernel_s;
    if (!blocks.overlapped) {
        const double last_s = fills_memory(x, false) ? out_s : 0;
        return blocks.count * (in_s + kernel_s + last_s) + out_s - last_s;
    }
    return (follows_ ? 0 : in_s) + blocks.count * std::max(kernel_s, both_ways(in_s, out_s, x)) + out_s;
}

PipelineTime::Blocks PipelineTime::blocks(double units) const {
    if (units != asked_units_) {
        answer_ = best_blocks(units);
        asked_units_ = units;
    }
    return answer_;
}

PipelineTime::Blocks PipelineTime::best_blocks(double units) const {
    constexpr double kCeil = 1 - 1e-9;
    Blocks best{std::max(1.0, std::ceil(units / memory_ * kCeil)), false, memory_};
    double best_s = total(units, best);
    // More blocks pay only where F bends upwards or transfers are worth hiding; few sizes tell which. Where twice as
    // many take longer, still more do.
    constexpr int kDoublings = 4;
    auto consider = [&](Blocks other, int sizes) {
        double last_s = std::numeric_limits<double>::infinity();
        for (int i = 0; i < sizes; ++i, other.count *= 2) {
            const double other_s = total(units, other);
            if (other_s >= last_s) break;
            last_s = other_s;
            if (other_s >= best_s) continue;
            best = other;
            best_s = other_s;
        }
    };
    if (const Blocks twice{2 * best.count, false, memory_}; total(units, twice) < best_s) consider(twice, kDoublings);
    if (own_memory_) {
        const auto overlapped = [&](double parts) {
            const double largest = memory_ / parts;
            return Blocks{std::max(follows_ ? 1.0 : 2.0, std::ceil(units / largest * kCeil)), true, largest};
        };
        const Blocks small = overlapped(DeviceMemory::kBuffers), large = overlapped(2);
        consider(small, kDoublings + 1);
        if (large.count < small.count) consider(large, 1);
    }
    return best;
}

double PipelineTime::seconds(double units) const { return total(units, is_fixed_ ? fixed_ : blocks(units)); }

double PipelineTime::derivative(double units) const {
    const Blocks best = is_fixed_ ? fixed_ : blocks(units);
    const double k = best.count, x = units / k;
    const double kernel = slowdown_ * (kernel_ ? kernel_->derivative(x) : guessed_slope_s_);
    if (!own_memory_) return kernel;
    const double in = in_.seconds_per_unit(), out = out_.seconds_per_unit();
    if (!best.overlapped) return in + kernel + (fills_memory(x, false) ? out : out / k);
    const double in_s = in_.seconds(x), out_s = out_.seconds(x), kernel_s = kernel_seconds(x);
    const double link = fills_memory(x, true) ? in + out : in_s >= out_s ? in : out;
    const double slowest = kernel_s >= both_ways(in_s, out_s, x) ? kernel : link;
    return (follows_ ? 0 : in / k) + slowest + out / k;
}

double PipelineTime::second_derivative(double units) const {
    const Blocks best = is_fixed_ ? fixed_ : blocks(units);
    const double x = units / best.count;
    if (!kernel_) return 0;
    const double kernel_s = kernel_seconds(x);
    const bool computing = !best.overlapped || kernel_s >= both_ways(in_.seconds(x), out_.seconds(x), x);
    return computing ? slowdown_ * kernel_->second_derivative(x) / best.count : 0;
}

double PipelineTime::start_of(const BlockInFlight& block, const Free& free) const {
    if (block.begun_s >= 0) return block.begun_s;
    const double there_s = std::max(free.link_s, block.given_s) + in_.seconds(static_cast<double>(block.units));
    return std::max(free.end_s, there_s);
}

PipelineTime::Free PipelineTime::with(const BlockInFlight& block, const Free& free, double now_s) const {
    const auto units = static_cast<double>(block.units);
    const double end_s = start_of(block, free) + kernel_seconds(units);
    const double there_s =
        block.begun_s >= 0 ? block.begun_s : std::max(free.link_s, block.given_s) + in_.seconds(units);
    return {std::max(free.link_s, there_s), end_s + 2 * std::max(0.0, now_s - end_s)};
}

}  // namespace apportion
