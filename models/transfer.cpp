// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace apportion {

std::optional<double> transfer_seen_s(double given_s, double link_free_s, double previous_end_s, double start_s) {
    constexpr double kBetweenTasks = 0.05;
    const double travelled_s = start_s - std::max(given_s, link_free_s);
    const bool waited = start_s - previous_end_s > kBetweenTasks * travelled_s;
    return waited && travelled_s >= 0 ? std::optional(travelled_s) : std::nullopt;
}

void TransferLine::add(double units, double seconds) {
    if (!(units > 0) || !(seconds >= 0) || !std::isfinite(units) || !std::isfinite(seconds)) return;
    constexpr double kClockResolution_s = 1e-6;  // shorter times do not weigh more
    const double weight = 1 / std::pow(std::max(seconds, kClockResolution_s), 2);
    w_ += weight;
    wx_ += weight * units;
    wxx_ += weight * units * units;
    wt_ += weight * seconds;
    wxt_ += weight * units * seconds;
    ++samples_;
    solve();
}

void TransferLine::solve() {
    const double determinant = w_ * wxx_ - wx_ * wx_;
    constexpr double kSameSizes = 1e-9;  // relative: the sizes do not differ enough for two unknowns
    const bool sizes_differ = determinant > kSameSizes * w_ * wxx_;
    if (sizes_differ) {
        slope_s_ = (w_ * wxt_ - wx_ * wt_) / determinant;
        latency_s_ = (wt_ - slope_s_ * wx_) / w_;
        if (slope_s_ >= 0 && latency_s_ >= 0) return;
    }
    const bool falls = sizes_differ && slope_s_ < 0;
    // One size, or more that take less time: as slow as the line that was believed, times a factor. Of a bandwidth
    // nothing may be known.
    if ((!sizes_differ || falls) && believed_slope_s_ > 0) {
        const double factor = wt_ / (believed_latency_s_ * w_ + believed_slope_s_ * wx_);
        slope_s_ = believed_slope_s_ * factor;
        latency_s_ = believed_latency_s_ * factor;
        return;
    }
    // One of the two is at its bound. Proportional fits at least as well as constant unless times fall with size.
    slope_s_ = falls ? 0 : wxt_ / wxx_;
    latency_s_ = falls ? wt_ / w_ : 0;
}

std::string TransferLine::formula() const { return fmt::format("{:.4g} + {:.4g} x", latency_s_, slope_s_); }

}  // namespace apportion
