// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/shared/redistribution.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>

namespace apportion {

namespace {

constexpr double kNearBest = 0.01;  // makespans that much above the best count as equally good
constexpr double kWhole = 1e-9;     // of a share: 3.9999999999 is 4,
constexpr double kSlack = 0.25;     // if that is no more than a part of a granule
constexpr int kSlowRuns = 2;        // in a row: a change
constexpr int kMostAveraged = 8;

/// As many as are in so many granules.
double whole_granules(double granules) { return std::floor(granules + std::min(kWhole * granules, kSlack)); }

/// The largest share up to `most` that is done in time.
double units_within(std::size_t processor, double most, double within_s, const SecondsOfShare& seconds) {
    if (most <= 0 || seconds(processor, most) <= within_s) return most;
    constexpr int kHalvings = 20;
    double low = 0, high = most;
    for (int i = 0; i < kHalvings; ++i) {
        const double middle = (low + high) / 2;
        (seconds(processor, middle) <= within_s ? low : high) = middle;
    }
    return low;
}

/// The argument between two at which a function of one minimum is least, by golden sections: of all that were tried.
double least_between(double low, double high, const std::function<double(double)>& cost) {
    constexpr double kPart = 0.6180339887;
    constexpr int kSections = 10;  // to a hundredth of the range
    double best = low, least = cost(low);
    const auto tried = [&](double at) {
        const double its = cost(at);
        if (its < least) least = its, best = at;
        return its;
    };
    double left = high - kPart * (high - low), right = low + kPart * (high - low);
    double left_cost = tried(left), right_cost = tried(right);
    for (int i = 0; i < kSections; ++i) {
        if (left_cost <= right_cost) {
            high = right, right = left, right_cost = left_cost;
            left_cost = tried(left = high - kPart * (high - low));
        } else {
            low = left, left = right, left_cost = right_cost;
            right_cost = tried(right = low + kPart * (high - low));
        }
    }
    return best;
}

/// Whole granules from real shares: those that change are rounded down, and each granule left goes to who ends it
/// first.
std::vector<double> in_granules(std::vector<double> shares, const std::vector<bool>& changes, double granule,
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
std::vector<double> kept_of(std::span<const double> current, const Redistribution& to) {
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
        return load_.staying > 0 && p < load_.links.size() && load_.links[p].seconds_per_unit > 0;
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
        const double left_s = move_s / moving_ratio_ - load_.links[p].latency_s;
        const double its = left_s / (load_.staying * load_.links[p].seconds_per_unit);
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

}  // namespace

double moving_seconds(const LoadDescription& load, std::span<const double> from, std::span<const double> to,
                      bool grows) {
    double longest_s = 0;
    for (std::size_t p = 0; p < from.size(); ++p) {
        if (to[p] == from[p]) continue;
        const bool keeps = grows && from[p] > 0 && to[p] > from[p];
        longest_s = std::max(longest_s, load.bring_staying_s(p, keeps ? to[p] - from[p] : to[p]));
    }
    return longest_s;
}

int runs_to_come(const LoadDescription& load) {
    return std::max(1, load.runs_expected > 0 ? load.runs_expected - load.run + 1 : load.run - 1);
}

std::vector<double> least_movement(std::span<const double> current, std::span<const double> most) {
    // Clamp shares that are too large; give the excess to processors with slack, in proportion.
    std::vector<double> shares, free(current.size(), 0);
    double given_up = 0, all_free = 0;
    for (std::size_t p = 0; p < current.size(); ++p) {
        shares.push_back(std::min(current[p], most[p]));
        given_up += current[p] - shares[p];
    }
    for (std::size_t p = 0; p < current.size() && given_up > 0; ++p) {
        free[p] = std::min(most[p] - shares[p], given_up);
        all_free += free[p];
    }
    for (std::size_t p = 0; p < current.size() && all_free > 0; ++p) shares[p] += given_up * free[p] / all_free;
    return shares;
}

std::vector<Units> whole_shares(std::span<const double> shares, Units granularity) {
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0) / static_cast<double>(granularity);
    Units left = static_cast<Units>(std::ceil(sum - std::min(kWhole * sum, kSlack)));
    std::vector<Units> whole;
    std::vector<std::pair<double, std::size_t>> cut_off;
    for (std::size_t p = 0; p < shares.size(); ++p) {
        const double granules = shares[p] / static_cast<double>(granularity);
        whole.push_back(static_cast<Units>(whole_granules(granules)));
        left -= whole.back();
        cut_off.emplace_back(static_cast<double>(whole.back()) - granules, p);
    }
    std::sort(cut_off.begin(), cut_off.end());
    for (std::size_t k = 0; left > 0; k = (k + 1) % cut_off.size(), --left) ++whole[cut_off[k].second];
    if (left < 0) *std::ranges::max_element(whole) += left;  // several were thought to be whole
    for (Units& units : whole) units *= granularity;
    return whole;
}

/// Another distribution. False: its data move in that run.
bool Rebalancer::begin_with(const LoadDescription& load, const EndedRun& ended) {
    const double run_s = *std::ranges::max_element(ended.ends_s);
    const bool first = current_.shares.empty();
    std::vector<double> from = std::exchange(moved_from_, {});
    if (from.empty()) from = current_.shares;
    from.resize(ended.shares.size(), 0);
    current_ = ended.shares == best_.shares ? best_ : Known{ended.shares, {}};
    slow_runs_ = 0;
    moving_ = {moving_seconds(load, from, ended.shares, ended.grows)};
    if (!ended.fixed || (first && moving_.promised_s <= kLeastGain * run_s)) return true;
    moving_.last_s = run_s;
    moving_.runs_s.push_back(run_s);
    return false;
}

/// Whether data still move in that run; once they do not, what moving them cost is known.
bool Rebalancer::data_move(double run_s) {
    if (moving_.last_s <= 0) return false;
    const bool still = kClearlyLonger * run_s < moving_.last_s;
    moving_.last_s = still ? run_s : 0;
    if (still)
        moving_.runs_s.push_back(run_s);
    else if (moving_.promised_s > kLeastGain * run_s)
        moving_ratio_ = std::max(moving_ratio_, (std::accumulate(moving_.runs_s.begin(), moving_.runs_s.end(), 0.0) -
                                                 run_s * static_cast<double>(moving_.runs_s.size())) /
                                                    moving_.promised_s);
    return still;
}

/// False: nothing to be learnt from that run.
bool Rebalancer::learn(const LoadDescription& load, const EndedRun& ended) {
    const double run_s = *std::ranges::max_element(ended.ends_s);
    const bool decided_in_it = std::exchange(decided_, false);
    if (ended.shares != current_.shares && !begin_with(load, ended)) return false;
    if (!ended.fixed) {
        current_.run_s = current_.shortest_s = std::min(current_.shortest_s, run_s);
        return true;
    }
    if (data_move(run_s) || decided_in_it) return false;
    if (current_.runs > 0 && run_s > kClearlyLonger * current_.longest_s) {
        if (++slow_runs_ < kSlowRuns) return false;
        current_ = {ended.shares, {}};
        best_ = {};
        promised_s_ = 0;
        wait_ = std::max(1, wait_ / 2);
        waited_ = wait_ - 1;  // it is thought over now
    }
    slow_runs_ = 0;
    current_.add(ended.ends_s);
    return true;
}

/// Another run with these shares.
void Rebalancer::Known::add(std::span<const double> ends_s) {
    const double its_s = *std::ranges::max_element(ends_s);
    if (runs == 0) {
        mean_s.assign(ends_s.size(), 0);
        longest_s = run_s = its_s;
        if (!std::isfinite(shortest_s)) shortest_s = its_s;
    }
    const int averaged = std::min(++runs, kMostAveraged);
    for (std::size_t p = 0; p < ends_s.size(); ++p) mean_s[p] += (ends_s[p] - mean_s[p]) / averaged;
    run_s += (its_s - run_s) / averaged;
    shortest_s = std::min(its_s, shortest_s + (its_s - shortest_s) / kMostAveraged);
    longest_s = std::max(its_s, longest_s + (its_s - longest_s) / kMostAveraged);
}

/// The distribution was thought over in vain.
void Rebalancer::wait_longer() {
    constexpr int kMostRuns = 1 << 20;
    wait_ = std::min(2 * wait_, kMostRuns);
    waited_ = 0;
}

void Rebalancer::shares_not_kept() {
    const bool in_vain = promised_s_ > 0;
    const int wait = wait_;
    forget();
    wait_ = in_vain ? wait : std::max(1, wait / 2);  // else somebody has changed
    if (in_vain) wait_longer();
}

void Rebalancer::not_followed() {
    promised_s_ = 0;
    moved_from_.clear();
    wait_longer();
}

Redistribution Rebalancer::decide(const LoadDescription& load, const EndedRun& ended, const SecondsOfShare& seconds,
                                  std::span<const double> now_s) {
    const bool learnt = learn(load, ended);
    if (learnt && (best_.shares == current_.shares || current_.run_s <= best_.run_s || !ended.fixed)) best_ = current_;
    const Redistribution kept{false, ended.shares, current_.run_s, {}};
    if (!learnt || !std::has_single_bit(static_cast<unsigned>(++waited_))) return kept;
    Redistribution decision = back_to_best(load);
    if (!decision.worthwhile && waited_ < wait_) return kept;
    const double promised_s = std::exchange(promised_s_, 0);
    if (decision.worthwhile || (promised_s > 0 && current_.run_s > promised_s)) wait_longer();
    decided_ = true;
    if (!decision.worthwhile && waited_ >= wait_) {
        decision = better_than_current(load, ended.grows, seconds, now_s);
        if (decision.worthwhile)
            promised_s_ = (decision.run_s + current_.run_s) / 2;
        else
            wait_longer();
    }
    if (!decision.worthwhile) return kept;
    waited_ = 0;
    moved_from_ = kept_of(current_.shares, decision);
    if (decision.shares == current_.shares) current_ = best_ = {};  // in other blocks
    return decision;
}

/// Whether the best distribution known is worth its way back.
Redistribution Rebalancer::back_to_best(const LoadDescription& load) const {
    Redistribution back{false, best_.shares, best_.run_s, {}};
    const double gain_s = current_.run_s - best_.run_s;
    for (std::size_t p = 0; p < best_.shares.size(); ++p) back.anew.push_back(current_.shares[p] != best_.shares[p]);
    back.worthwhile = gain_s > kLeastGain * current_.run_s &&
                      gain_s * runs_to_come(load) > moving_ratio_ * moving_seconds(load, current_.shares, best_.shares);
    return back;
}

Redistribution Rebalancer::better_than_current(const LoadDescription& load, bool grows, const SecondsOfShare& seconds,
                                               std::span<const double> now_s) const {
    const std::vector<double>& current = current_.shares;
    std::vector<double> scale(current.size(), 1), as_now_s(current.size(), 0);
    for (std::size_t p = 0; p < current.size(); ++p) {
        if (current[p] <= 0) continue;
        as_now_s[p] = now_s.empty() ? seconds(p, current[p]) : now_s[p];
        if (current_.mean_s.empty() || current_.mean_s[p] <= 0) continue;
        scale[p] = current_.mean_s[p] / as_now_s[p];
        as_now_s[p] = current_.mean_s[p];
    }
    const SecondsOfShare scaled = [&](std::size_t p, double units) { return scale[p] * seconds(p, units); };
    const SharesInTime in_time(load, current, as_now_s, grows, moving_ratio_, scaled);

    const double current_s = std::min(in_time.now_s(), current_.shortest_s);
    const double most_s = (1 - kLeastGain) * current_s;
    Redistribution kept{false, current, current_s, {}};
    if (!in_time.least_move_s(most_s)) return kept;
    double best_s = most_s, late_s = 0;
    while (best_s - late_s > kNearBest / 2 * best_s) {
        const double middle_s = (late_s + best_s) / 2;
        (in_time.least_move_s(middle_s) ? best_s : late_s) = middle_s;
    }
    const double runs = runs_to_come(load);
    const auto cost_s = [&](double run_s) { return runs * run_s + in_time.least_move_s(run_s).value_or(0); };
    const double run_s = least_between(std::min((1 + kNearBest) * best_s, most_s), most_s, cost_s);
    Redistribution better = in_time.shares(run_s, *in_time.least_move_s(run_s));
    const double gain_s = current_s - better.run_s;
    return gain_s > kLeastGain * current_s && gain_s * runs > in_time.move_s(better) ? better : kept;
}

}  // namespace apportion
