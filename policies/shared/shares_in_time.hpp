// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which shares a load that runs again may have in a given time: for redistribution.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "policies/shared/redistribution.hpp"

namespace apportion {

inline constexpr double kWhole = 1e-9;  ///< of a share: 3.9999999999 is 4,
inline constexpr double kSlack = 0.25;  ///< if that is no more than a part of a granule

/// As many as are in so many granules.
inline double whole_granules(double granules) { return std::floor(granules + std::min(kWhole * granules, kSlack)); }

/// The largest share up to `most` that is done in time.
inline double units_within(std::size_t processor, double most, double within_s, const SecondsOfShare& seconds) {
    if (most <= 0 || seconds(processor, most) <= within_s) return most;
    constexpr int kHalvings = 20;
    double low = 0, high = most;
    for (int i = 0; i < kHalvings; ++i) {
        const double middle = (low + high) / 2;
        (seconds(processor, middle) <= within_s ? low : high) = middle;
    }
    return low;
}

/// Whole granules from real shares: those that change are rounded down, and each granule left goes to who ends it
/// first.
inline std::vector<double> in_granules(std::vector<double> shares, const std::vector<bool>& changes, double granule,
                                       const SecondsOfShare& seconds) {
    using EndOfMore = std::pair<double, std::size_t>;
    std::priority_queue<EndOfMore, std::vector<EndOfMore>, std::greater<>> ends;
    double left = 0;
    for (std::size_t p = 0; p < shares.size(); ++p) {
        if (!changes[p]) continue;
        const double whole = whole_granules(shares[p] / granule) * granule;
        left += shares[p] - whole;
        shares[p] = whole;
        ends.emplace(seconds(p, whole + granule), p);
    }
    for (; left > kSlack * granule && !ends.empty(); left -= granule) {
        const std::size_t p = ends.top().second;
        ends.pop();
        shares[p] += granule;
        ends.emplace(seconds(p, shares[p] + granule), p);
    }
    return shares;
}

/// Units that each keeps of what it has; -1: none.
inline std::vector<double> kept_of(std::span<const double> current, const Redistribution& to) {
    std::vector<double> kept(current.begin(), current.end());
    for (std::size_t p = 0; p < kept.size(); ++p)
        if (to.anew[p]) kept[p] = -1;
    return kept;
}

/// The shares that a load has, and which others are possible where runs are to take so long, and moving data once as
/// well.
class SharesInTime {
  public:
    /// now_s: what runs take now, per processor.
    SharesInTime(const LoadDescription& load, std::span<const double> current, std::vector<double> now_s, bool grows,
                 double moving_ratio, const SecondsOfShare& seconds)
        : load_(load),
          current_(current),
          now_s_(std::move(now_s)),
          grows_(grows),
          moving_ratio_(moving_ratio),
          seconds_(seconds) {}

    double now_s() const { return *std::ranges::max_element(now_s_); }

    /// Seconds that data have to move at least, for runs that take no longer than that; nothing: none are so short.
    std::optional<double> least_move_s(double run_s) const {
        const std::vector<double> in_run = most_in_run(run_s);
        if (sum(in_run) < units()) return std::nullopt;
        const std::vector<double> nothing(current_.size(), -1);
        double most_s = moving_ratio_ * moving_seconds(load_, nothing, in_run), few_s = 0;
        if (sum(moved_in_time(in_run, run_s, few_s)) >= units()) return 0;
        constexpr int kHalvings = 16;
        for (int i = 0; i < kHalvings; ++i) {
            const double middle_s = (few_s + most_s) / 2;
            (sum(moved_in_time(in_run, run_s, middle_s)) >= units() ? most_s : few_s) = middle_s;
        }
        return most_s;
    }

    /// Those with which runs take no longer than that, and the fewest data move.
    Redistribution shares(double run_s, double move_s) const {
        const std::vector<double> most = moved_in_time(most_in_run(run_s), run_s, move_s);
        Redistribution result{true, least_movement(current_, most), 0, {}};
        std::vector<bool> changes;
        for (std::size_t p = 0; p < current_.size(); ++p) {
            const double share = result.shares[p];
            const bool keeps =
                stays(p, run_s) && (share == current_[p] || (share > current_[p] && share <= grown(p, run_s, move_s)));
            result.anew.push_back(!keeps && (share > 0 || current_[p] > 0));
            changes.push_back(result.anew[p] || share != current_[p]);
        }
        result.shares = in_granules(result.shares, changes, static_cast<double>(load_.granularity), seconds_);
        for (std::size_t p = 0; p < current_.size(); ++p) result.run_s = std::max(result.run_s, run_s_of(result, p));
        return result;
    }

    double move_s(const Redistribution& to) const {
        return moving_ratio_ * moving_seconds(load_, kept_of(current_, to), to.shares, grows_);
    }

  private:
    static double sum(const std::vector<double>& shares) { return std::accumulate(shares.begin(), shares.end(), 0.0); }
    double units() const { return static_cast<double>(load_.units); }
    /// Whether it may go on with the blocks that it has.
    bool stays(std::size_t p, double run_s) const { return now_s_[p] <= run_s; }
    bool moves_data(std::size_t p) const {
        return load_.staying > 0 && p < load_.links.size() && load_.links[p].seconds_per_unit() > 0;
    }

    double run_s_of(const Redistribution& to, std::size_t p) const {
        if (to.shares[p] <= 0) return 0;
        if (to.anew[p]) return seconds_(p, to.shares[p]);
        return now_s_[p] + (to.shares[p] > current_[p] ? seconds_(p, to.shares[p] - current_[p]) : 0);
    }

    std::vector<double> most_in_run(double run_s) const {
        std::vector<double> most;
        for (std::size_t p = 0; p < current_.size(); ++p)
            most.push_back(whole(units_within(p, units(), run_s, seconds_)));
        return most;
    }

    double whole(double share) const {
        const auto granule = static_cast<double>(load_.granularity);
        return share < units() ? whole_granules(share / granule) * granule : share;
    }

    /// Who keeps what it has, has nothing to move; who gets more beside it, only that.
    std::vector<double> moved_in_time(std::vector<double> most, double run_s, double move_s) const {
        for (std::size_t p = 0; p < most.size(); ++p) {
            most[p] = std::min(most[p], brought_within(p, move_s));
            if (stays(p, run_s)) most[p] = std::max({current_[p], most[p], grown(p, run_s, move_s)});
        }
        return most;
    }

    /// The units of which what stays is there in time.
    double brought_within(std::size_t p, double move_s) const {
        if (!moves_data(p)) return units();
        const double left_s = move_s / moving_ratio_ - load_.links[p].latency_s();
        const double its = left_s / (load_.staying * load_.links[p].seconds_per_unit());
        return its >= units() ? units() : left_s < 0 ? 0 : whole(its);
    }

    /// The share that it has with other blocks beside those that it keeps; 0: not worth the name.
    double grown(std::size_t p, double run_s, double move_s) const {
        if (!grows_ || current_[p] <= 0 || !moves_data(p)) return 0;
        const double room = static_cast<double>(load_.processors[p].memory_units) - current_[p];
        const double most = std::max(0.0, std::min({units() - current_[p], room, brought_within(p, move_s)}));
        return current_[p] + whole(units_within(p, most, run_s - now_s_[p], seconds_));
    }

    const LoadDescription& load_;
    std::span<const double> current_;
    std::vector<double> now_s_;
    bool grows_;
    double moving_ratio_;
    const SecondsOfShare& seconds_;
};

}  // namespace apportion
