// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/hpopta/hpopta_published.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "policies/planners/discrete_problem.hpp"

namespace apportion {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kGoOn = std::numeric_limits<int>::max();  ///< no level to backtrack to
constexpr double kMostCells = 1 << 28;                  ///< 4 GiB

/// Best known distribution of a remaining load over the processors from a level on: the size at that level, as an index
/// in its sorted time function (-1: nothing), and the time. The rest is in the cell of the next level.
struct Cell {
    double seconds = kInfinity;
    int index = -1;
    enum State : std::int8_t { unvisited, saved, finalized } state = unvisited;
};

/// A time function in ascending order of time.
struct Level {
    std::vector<Units> sizes;
    std::vector<double> seconds;
    std::vector<double> suffix_minima;  ///< by ascending size
};

Level sort_by_time(const SizeTimes& times) {
    std::vector<std::size_t> order(times.count());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return times.seconds(a) < times.seconds(b); });
    Level level;
    for (const std::size_t k : order) {
        level.sizes.push_back(times.size(k));
        level.seconds.push_back(times.seconds(k));
    }
    level.suffix_minima.assign(times.all_seconds().begin(), times.all_seconds().end());
    for (std::size_t k = times.count(); k-- > 1;)
        level.suffix_minima[k - 1] = std::min(level.suffix_minima[k - 1], level.suffix_minima[k]);
    return level;
}

class PublishedSearch {
  public:
    PublishedSearch(std::span<const SizeTimes> times, Units units, Units granularity, PublishedTrace& trace)
        : times_(times),
          units_(units),
          granularity_(granularity),
          row_(units / granularity + 1),
          trace_(trace),
          current_(times.size()),
          index_(times.size(), -1),
          sigma_(times.size()) {
        for (const SizeTimes& processor : times) levels_.push_back(sort_by_time(processor));
        if (times.size() > 2) cells_.resize((times.size() - 2) * static_cast<std::size_t>(row_));
    }

    /// Algorithm 1. Empty when there is no distribution.
    std::vector<Units> run() {
        const Units granules = units_ / granularity_, p = static_cast<Units>(times_.size());
        for (Units i = 0; i < p; ++i)
            current_[static_cast<std::size_t>(i)] = (granules / p + (i < granules % p ? 1 : 0)) * granularity_;
        tau_ = 0;
        for (std::size_t i = 0; i < times_.size(); ++i) tau_ = std::max(tau_, get_time(i, current_[i]));
        if (tau_ < kInfinity) best_ = current_;
        calculate_size_thresholds();
        trace_.start = {current_, tau_, sigma_, {}};
        if (units_ > 0) search(0, units_);
        return best_;
    }

  private:
    double get_time(std::size_t level, Units size) const {
        if (size == 0) return 0;
        const std::size_t count = times_[level].count_up_to(size);
        return count == 0 || times_[level].size(count - 1) != size ? kInfinity : times_[level].seconds(count - 1);
    }

    // sigma of a level: the largest load that its processor and those after it compute in less than tau, each by
    // itself.
    void calculate_size_thresholds() {
        Units sum = 0;
        for (std::size_t i = times_.size(); i-- > 0;) {
            const std::vector<double>& minima = levels_[i].suffix_minima;
            const auto count = std::ranges::lower_bound(minima, tau_) - minima.begin();
            if (count > 0) sum += times_[i].size(static_cast<std::size_t>(count) - 1);
            sigma_[i] = sum;
        }
    }

    /// Algorithm 2: distributes `load` over the processors from `level` on. Returns the level to backtrack to when that
    /// is above this one.
    int search(int level, Units load) {
        ++trace_.nodes;
        const auto c = static_cast<std::size_t>(level);
        if (load > sigma_[c]) {
            ++trace_.cuts;
            return kGoOn;
        }
        if (c + 1 == times_.size()) {
            if (get_time(c, load) >= tau_) return kGoOn;
            current_[c] = load;
            return above(level, process_solution());
        }
        Cell* const cell = cell_of(c, load);
        int& index = index_[c] = -1;
        if (cell && cell->state != Cell::unvisited) {
            int target = kGoOn;
            if (read_memory(c, load, *cell, target)) return target;
            index = cell->index;
        }
        for (const auto points = static_cast<int>(levels_[c].sizes.size()); index < points; ++index) {
            if (index >= 0 && levels_[c].seconds[static_cast<std::size_t>(index)] >= tau_) break;
            const int target = examine(level, load, size_at(c, index));
            if (target < level) {
                ++trace_.backtracks;
                return target;
            }
            if (target == level) break;  // later sizes of this processor take no less than tau
        }
        if (cell) cell->state = Cell::finalized;
        return kGoOn;
    }

    /// Gives `size` to the processor. Returns the level to backtrack to, if any.
    int examine(int level, Units load, Units size) {
        const auto c = static_cast<std::size_t>(level);
        if (size > load) return kGoOn;
        current_[c] = size;
        if (size < load) return search(level + 1, load - size);
        std::fill(current_.begin() + level + 1, current_.end(), 0);
        return process_solution();
    }

    /// ReadMemory. True when the cell settles the matter; `target` is then what the search returns. A final cell always
    /// does: it became final with a time that tau had reached, or with none below tau, and tau only falls.
    bool read_memory(std::size_t c, Units load, Cell& cell, int& target) {
        const int level = static_cast<int>(c);
        if (cell.state == Cell::finalized) {
            ++trace_.rejected;
            return true;
        }
        if (cell.seconds < tau_) {
            ++trace_.reads;
            restore(c, load);
            target = process_solution();
            if (target < level) return true;
            if (target == level) cell.state = Cell::finalized;
            target = kGoOn;
            if (cell.state == Cell::finalized) return true;
        }
        ++trace_.resumed;
        return false;
    }

    static int above(int level, int target) { return target < level ? target : kGoOn; }

    Units size_at(std::size_t level, int index) const {
        return index < 0 ? 0 : levels_[level].sizes[static_cast<std::size_t>(index)];
    }

    // Levels 1 to p - 2 have cells.
    Cell* cell_of(std::size_t level, Units load) {
        if (level < 1 || level + 2 > times_.size()) return nullptr;
        return &cells_[(level - 1) * static_cast<std::size_t>(row_) + static_cast<std::size_t>(load / granularity_)];
    }

    void restore(std::size_t level, Units load) {
        for (; load > 0 && level + 1 < times_.size(); ++level) {
            index_[level] = cell_of(level, load)->index;
            current_[level] = size_at(level, index_[level]);
            load -= current_[level];
        }
        if (level < times_.size()) current_[level] = load;
        for (++level; level < times_.size(); ++level) current_[level] = 0;
    }

    /// A distribution faster than tau: takes it as the best, saves it, and returns the level of its slowest processor,
    /// the one nearest to the root.
    int process_solution() {
        tau_ = 0;
        int slowest = 0;
        for (std::size_t i = 0; i < current_.size(); ++i)
            if (const double seconds = get_time(i, current_[i]); seconds > tau_)
                tau_ = seconds, slowest = static_cast<int>(i);
        best_ = current_;
        calculate_size_thresholds();
        trace_.solutions.push_back({current_, tau_, sigma_, {}});
        save();
        return slowest;
    }

    void save() {
        double seconds = get_time(current_.size() - 1, current_.back());
        Units load = current_.back();
        for (std::size_t level = current_.size() - 1; level-- > 1;) {
            seconds = std::max(seconds, get_time(level, current_[level]));
            load += current_[level];
            Cell& cell = *cell_of(level, load);
            if (load == 0 || cell.state == Cell::finalized || cell.seconds <= seconds) continue;
            cell = {seconds, index_[level], Cell::saved};
            ++trace_.saves;
            trace_.solutions.back().saved.push_back({static_cast<int>(level), current_[level], index_[level], seconds});
        }
    }

    std::span<const SizeTimes> times_;
    Units units_, granularity_;
    Units row_;  ///< cells of a level
    PublishedTrace& trace_;
    std::vector<Level> levels_;
    std::vector<Cell> cells_;
    std::vector<Units> current_, best_;
    std::vector<int> index_;  ///< of the size under examination, by level
    std::vector<Units> sigma_;
    double tau_ = 0;
};

}  // namespace

Plan plan_hpopta_published(const PlanProblem& problem) {
    PublishedTrace trace;
    return plan_hpopta_published(problem, trace);
}

Plan plan_hpopta_published(const PlanProblem& problem, PublishedTrace& trace) {
    Plan plan;
    const DiscreteProblem discrete(problem, problem.units);
    plan.failure = discrete.why_impossible(problem.units);
    if (!plan.failure.empty()) return plan;
    const double cells = static_cast<double>(problem.processors.size()) *
                         (static_cast<double>(problem.units) / static_cast<double>(problem.granularity));
    if (cells > kMostCells) {
        plan.failure = fmt::format(
            "hpopta-published would need a memory of {:.0f} million cells for {} units; use hpopta or a coarser "
            "granularity",
            cells / 1e6, problem.units);
        return plan;
    }
    trace = {};
    PublishedSearch search(discrete.processors(), problem.units, problem.granularity, trace);
    plan.shares = search.run();
    if (plan.shares.empty()) {
        plan.failure = discrete.why_unreachable(problem.units);
        return plan;
    }
    finish_optimal(plan, discrete);
    return plan;
}

}  // namespace apportion
