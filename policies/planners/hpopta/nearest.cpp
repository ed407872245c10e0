// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta/nearest.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <optional>

namespace apportion {

namespace {

/// What is better is less: units moved, then the largest and the second-largest time.
struct Cost {
    Units moved = std::numeric_limits<Units>::max();
    double largest_s = 0, second_s = 0;

    auto operator<=>(const Cost&) const = default;
    bool possible() const { return moved != std::numeric_limits<Units>::max(); }

    Cost plus(Units units, double seconds) const {
        const double second = std::max(second_s, std::min(largest_s, seconds));
        return {moved + units, std::max(largest_s, seconds), second};
    }
};

/// Deficits of the processors up to one of them, in multiples of the divisor: [first, last].
struct Window {
    Units first = 0, last = 0;
    std::size_t size() const { return last < first ? 0 : static_cast<std::size_t>(last - first) + 1; }
};

class Programme {
  public:
    Programme(std::span<const std::vector<ShareOption>> options, Units units, std::span<const Units> previous)
        : options_(options), previous_(previous), slack_(-units) {
        for (const auto& of_processor : options) {
            slack_ += of_processor.back().share;
            for (const ShareOption& option : of_processor)
                divisor_ = std::gcd(divisor_, of_processor.back().share - option.share);
        }
        divisor_ = std::max<Units>(divisor_, 1);
    }

    bool possible() const { return slack_ >= 0 && slack_ % divisor_ == 0; }

    /// With at most `most_moved` units moved; nothing when that takes too many steps.
    std::optional<Cost> solve(Units most_moved, double most_steps) {
        set_windows(most_moved);
        if (steps(most_moved) > most_steps) return {};
        stages_.assign(options_.size(), {});
        costs_.assign(1, {0, 0, 0});
        for (std::size_t i = 0; i < options_.size(); ++i) add_processor(i, most_moved);
        const Window& end = windows_.back();
        const Units wanted = slack_ / divisor_;
        return wanted < end.first || wanted > end.last ? Cost{} : costs_[static_cast<std::size_t>(wanted - end.first)];
    }

    /// Of the last solve(), whose cost was possible.
    std::vector<Units> shares() const {
        std::vector<Units> result(options_.size());
        Units deficit = slack_ / divisor_;
        for (std::size_t i = options_.size(); i-- > 0;) {
            result[i] = options_[i][stages_[i][static_cast<std::size_t>(deficit - windows_[i].first)]].share;
            deficit -= deficit_of(i, result[i]);
        }
        return result;
    }

  private:
    Units largest(std::size_t i) const { return options_[i].back().share; }
    Units deficit_of(std::size_t i, Units share) const { return (largest(i) - share) / divisor_; }
    Units moved(std::size_t i, Units share) const { return previous_.empty() ? 0 : std::abs(share - previous_[i]); }

    void set_windows(Units most_moved) {
        windows_.assign(options_.size(), {0, slack_ / divisor_});
        if (previous_.empty()) return;
        Units unmoved = 0;  // deficits, with the previous shares
        for (std::size_t i = 0; i < options_.size(); ++i) {
            unmoved += largest(i) - previous_[i];
            const Units low = unmoved - most_moved, high = unmoved + most_moved;
            windows_[i] = {low <= 0 ? 0 : (low + divisor_ - 1) / divisor_,
                           high < 0 ? -1 : std::min(high, slack_) / divisor_};
        }
    }

    double steps(Units most_moved) const {
        double result = 0;
        for (std::size_t i = 0; i < options_.size(); ++i) {
            const auto usable = std::count_if(options_[i].begin(), options_[i].end(), [&](const ShareOption& option) {
                return moved(i, option.share) <= most_moved && largest(i) - option.share <= slack_;
            });
            result += static_cast<double>(usable) * static_cast<double>(windows_[i].size());
        }
        return result;
    }

    void add_processor(std::size_t i, Units most_moved) {
        const Window before = i == 0 ? Window{0, 0} : windows_[i - 1], after = windows_[i];
        std::vector<Cost> next(after.size());
        stages_[i].resize(after.size());
        for (std::size_t k = 0; k < options_[i].size(); ++k) {
            const ShareOption& option = options_[i][k];
            const Units units = moved(i, option.share), deficit = deficit_of(i, option.share);
            if (units > most_moved) continue;
            for (Units e = std::max(before.first, after.first - deficit); e <= before.last && e + deficit <= after.last;
                 ++e) {
                const Cost& from = costs_[static_cast<std::size_t>(e - before.first)];
                if (!from.possible()) continue;
                const auto to = static_cast<std::size_t>(e + deficit - after.first);
                const Cost cost = from.plus(units, option.seconds);
                if (cost >= next[to]) continue;
                next[to] = cost;
                stages_[i][to] = static_cast<std::uint32_t>(k);
            }
        }
        costs_ = std::move(next);
    }

    std::span<const std::vector<ShareOption>> options_;
    std::span<const Units> previous_;
    Units slack_, divisor_ = 0;
    std::vector<Window> windows_;                     ///< after each processor
    std::vector<Cost> costs_;                         ///< of the deficits in the latest window
    std::vector<std::vector<std::uint32_t>> stages_;  ///< options taken, for each processor and deficit
};

}  // namespace

std::vector<Units> nearest_shares(std::span<const std::vector<ShareOption>> options, Units units,
                                  std::span<const Units> previous, double most_steps) {
    Programme programme(options, units, previous);
    if (!programme.possible()) return {};
    // More units than any distribution moves; and a first guess, at least the change of the sum.
    Units most = units, guess = -units;
    for (const Units share : previous) most += share, guess += share;
    guess = std::max<Units>(std::abs(guess), 64);
    if (previous.empty()) guess = most;
    std::vector<Units> best;
    for (;; guess = guess > most / 4 ? most : 4 * guess) {
        guess = std::min(guess, most);
        const std::optional<Cost> cost = programme.solve(guess, most_steps);
        if (!cost) return best;
        if (cost->possible()) best = programme.shares();
        // A distribution that moves no more than the guess has no share that moves more.
        if (guess == most || (cost->possible() && cost->moved <= guess)) return best;
    }
}

}  // namespace apportion
