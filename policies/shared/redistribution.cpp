// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/shared/redistribution.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "policies/shared/shares_in_time.hpp"

namespace apportion {

namespace {

constexpr double kNearBest = 0.01;  // makespans that much above the best count as equally good
constexpr int kSlowRuns = 2;        // in a row: a change
constexpr int kMostRuns = 1 << 20;  // to wait

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
    std::ranges::sort(cut_off);
    for (std::size_t k = 0; left > 0; k = (k + 1) % cut_off.size(), --left) ++whole[cut_off[k].second];
    if (left < 0) *std::ranges::max_element(whole) += left;  // several were thought to be whole
    for (Units& units : whole) units *= granularity;
    return whole;
}

/// Another run with these shares.
void Rebalancer::RunAverages::add(std::span<const double> ends_s) {
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
    slow_runs = 0;
}

/// Once they do not, what moving them cost is known.
bool Rebalancer::MovingCost::still_move_in(double run_s) {
    if (last_s_ <= 0) return false;
    if (kClearlyLonger * run_s < last_s_) {
        moved_in(run_s);
        return true;
    }
    last_s_ = 0;
    if (promised_s_ > kLeastGain * run_s) ratio_ = std::max(ratio_, (all_s_ - run_s * runs_) / promised_s_);
    return false;
}

/// In so many runs nothing better was found.
void Rebalancer::Backoff::resume(int runs) {
    wait_ = static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::clamp(runs, 1, kMostRuns))));
    waited_ = 0;
}

void Rebalancer::Backoff::in_vain() {
    wait_ = std::min(2 * wait_, kMostRuns);
    waited_ = 0;
    promised_s_ = 0;
}

void Rebalancer::Backoff::changed() {
    wait_ = std::max(1, wait_ / 2);
    waited_ = wait_ - 1;
    promised_s_ = 0;
}

void Rebalancer::Backoff::shares_not_kept() {
    if (promised_s_ > 0) return in_vain();
    changed();
    waited_ = 0;
}

void Rebalancer::shares_not_kept() {
    Backoff backoff = resumed() ? Backoff() : backoff_;
    backoff.shares_not_kept();
    forget();
    backoff_ = backoff;
}

void Rebalancer::resume(const std::vector<double>& shares, double run_s, int runs) {
    forget();
    current_.shares = shares;
    current_.run_s = current_.shortest_s = current_.longest_s = run_s;
    best_ = current_;
    backoff_.resume(runs);
}

void Rebalancer::not_followed() {
    moved_from_.clear();
    backoff_.in_vain();
}

/// Another distribution. False: its data move in that run.
bool Rebalancer::begin_with(const LoadDescription& load, const EndedRun& ended, double run_s) {
    const bool first = current_.shares.empty();
    std::vector<double> from = std::exchange(moved_from_, {});
    if (from.empty()) from = current_.shares;
    from.resize(ended.shares.size(), 0);
    current_ = ended.shares == best_.shares ? best_ : RunAverages{ended.shares, {}};
    const double move_s = moving_seconds(load, from, ended.shares, ended.grows);
    moving_.begin(move_s);
    if (!ended.fixed || (first && move_s <= kLeastGain * run_s)) return true;
    moving_.moved_in(run_s);
    return false;
}

/// False: nothing to be learnt from that run.
bool Rebalancer::learn(const LoadDescription& load, const EndedRun& ended) {
    const double run_s = *std::ranges::max_element(ended.ends_s);
    const bool decided_in_it = std::exchange(decided_, false);
    if (ended.shares != current_.shares && !begin_with(load, ended, run_s)) return false;
    if (!ended.fixed) {
        current_.run_s = current_.shortest_s = std::min(current_.shortest_s, run_s);
        best_ = current_;
        return true;
    }
    if (moving_.still_move_in(run_s) || decided_in_it) return false;
    if (current_.longest_s > 0 && run_s > kClearlyLonger * current_.longest_s) {
        if (++current_.slow_runs < kSlowRuns) return false;
        if (resumed()) backoff_ = {};
        current_ = {ended.shares, {}};
        best_ = {};
        backoff_.changed();
    }
    current_.add(ended.ends_s);
    if (best_.shares == current_.shares || current_.run_s <= best_.run_s) best_ = current_;
    return true;
}

Redistribution Rebalancer::decide(const LoadDescription& load, const EndedRun& ended, const SecondsOfShare& seconds,
                                  std::span<const double> now_s) {
    const bool learnt = learn(load, ended);
    const Redistribution kept{false, ended.shares, current_.run_s, {}};
    if (!learnt || !backoff_.looks_after_run()) return kept;
    const Redistribution back = back_to_best(load);
    if (!back.worthwhile && !backoff_.due()) return kept;
    decided_ = true;
    const bool in_vain = back.worthwhile || backoff_.promise_broken(current_.run_s);
    const Redistribution decision = in_vain ? back : better_than_current(load, ended.grows, seconds, now_s);
    if (in_vain || !decision.worthwhile)
        backoff_.in_vain();
    else
        backoff_.promise((decision.run_s + current_.run_s) / 2);
    if (!decision.worthwhile) return kept;
    moved_from_ = kept_of(current_.shares, decision);
    if (decision.shares == current_.shares) current_ = best_ = {};  // in other blocks
    return decision;
}

/// Whether the best distribution known is worth its way back.
Redistribution Rebalancer::back_to_best(const LoadDescription& load) const {
    Redistribution back{false, best_.shares, best_.run_s, {}};
    const double gain_s = current_.run_s - best_.run_s;
    for (std::size_t p = 0; p < best_.shares.size(); ++p) back.anew.push_back(current_.shares[p] != best_.shares[p]);
    back.worthwhile =
        gain_s > kLeastGain * current_.run_s &&
        gain_s * runs_to_come(load) > moving_.ratio() * moving_seconds(load, current_.shares, best_.shares);
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
    const SharesInTime in_time(load, current, as_now_s, grows, moving_.ratio(), scaled);

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
