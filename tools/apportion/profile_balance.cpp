// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/profile_measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "policies/planners/continuous/geometric.hpp"
#include "tools/apportion/command.hpp"

namespace apportion {

namespace {

constexpr int kMostDistributions = 20;

class Search {
  public:
    Search(ProfileSubject& subject, Units units, std::vector<PartialTimes> known)
        : subject_(subject), units_(units), known_(std::move(known)), most_(known_.size(), units) {}

    std::vector<Units> next() const;
    bool run(const std::vector<Units>& shares, const MeasureOptions& options, const MeasureWatcher& watcher);
    bool has_run(const std::vector<Units>& shares) const;
    void judge(const std::vector<Units>& shares, Balance& best) const;

  private:
    std::vector<Units> equal() const;
    void finished(const MeasuredPoint& point);

    ProfileSubject& subject_;
    Units units_;
    std::vector<PartialTimes> known_;
    std::vector<Units> most_;  ///< that fit
};

std::vector<Units> Search::equal() const {
    const auto processors = static_cast<Units>(known_.size());
    const Units granules = units_ / subject_.granularity();
    std::vector<Units> shares;
    for (Units p = 0; p < processors; ++p)
        shares.push_back((granules / processors + (p < granules % processors ? 1 : 0)) * subject_.granularity());
    return shares;
}

/// n / p until something is known of every processor.
std::vector<Units> Search::next() const {
    if (std::ranges::any_of(known_, &PartialTimes::empty)) return equal();
    PlanProblem problem{
        .units = units_, .processors = {}, .granularity = subject_.granularity(), .maximum_units = most_};
    for (std::size_t p = 0; p < known_.size(); ++p) {
        DiscreteTimes times{subject_.processors()[p], {}, {}};
        for (const auto& [size, seconds] : known_[p]) {
            times.points.push_back(size);
            times.seconds.push_back(seconds);
        }
        problem.processors.push_back(std::move(times));
    }
    const Plan plan = plan_fpm(problem);
    if (!plan.failure.empty()) throw UserError(fmt::format("--balance: {}", plan.failure));
    return plan.shares;
}

void Search::finished(const MeasuredPoint& point) {
    if (point.does_not_fit.empty()) {
        known_[point.processor][point.point.units] = point.point.seconds;
        return;
    }
    most_[point.processor] = point.point.units - subject_.granularity();
    if (known_[point.processor].empty())
        throw UserError(fmt::format("--balance: {}; measure sizes that fit by --sizes first", point.does_not_fit));
}

bool Search::run(const std::vector<Units>& shares, const MeasureOptions& options, const MeasureWatcher& watcher) {
    MeasureWatcher own = watcher;
    own.known = [&](std::size_t p, Units size) { return known_[p].contains(size); };
    own.finished = [&](const MeasuredPoint& point) {
        if (watcher.finished) watcher.finished(point);
        finished(point);
    };
    return measure_distribution(subject_, shares, options, own);
}

bool Search::has_run(const std::vector<Units>& shares) const {
    for (std::size_t p = 0; p < shares.size(); ++p)
        if (shares[p] > 0 && !known_[p].contains(shares[p])) return false;
    return true;
}

/// Takes the distribution where it is better than the best one; a share that does not fit is none.
void Search::judge(const std::vector<Units>& shares, Balance& best) const {
    double shortest_s = 0, longest_s = 0, best_s = 0;
    for (std::size_t p = 0; p < shares.size(); ++p) {
        const double seconds = shares[p] > 0 ? known_[p].at(shares[p]) : 0;
        shortest_s = p == 0 ? seconds : std::min(shortest_s, seconds);
        longest_s = std::max(longest_s, seconds);
        if (!best.shares.empty() && best.shares[p] > 0) best_s = std::max(best_s, known_[p].at(best.shares[p]));
    }
    if (!best.shares.empty() && best_s <= longest_s) return;
    best.shares = shares;
    best.difference = 1 - shortest_s / longest_s;
}

}  // namespace

Balance balance_profile(ProfileSubject& subject, Units units, double within, const MeasureOptions& options,
                        const MeasureWatcher& watcher, std::vector<PartialTimes> known) {
    Search search(subject, units, std::move(known));
    std::set<std::vector<Units>> tried;
    Balance best;
    MeasureOptions warm = options;
    for (int k = 0; k < kMostDistributions && (best.shares.empty() || best.difference > within); ++k) {
        const std::vector<Units> shares = search.next();
        if (!tried.insert(shares).second) break;
        if (!search.run(shares, warm, watcher)) {
            best.complete = false;
            break;
        }
        warm.warm_up_s = 0;
        ++best.distributions;
        if (search.has_run(shares)) search.judge(shares, best);
    }
    return best;
}

}  // namespace apportion
