// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is left of a load as a problem for planners: the times of each processor's shares.
#include <algorithm>
#include <limits>
#include <numeric>

#include "policies/shared/recorded_plan.hpp"

namespace apportion {

double share_seconds(const RecordedProblem& problem, std::size_t processor, Units share) {
    if (share <= 0) return 0;
    return problem.busy_s[processor] + run_of(problem.times[processor], share).seconds;
}

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// The smallest multiple of `least` that makes at most kMostSteps of `units`; if possible one of less than twice that
/// size that divides them.
Units step_for(Units units, Units least) {
    const Units all = units / least, factor = std::max<Units>(1, quotient_up(all, kMostSteps));
    if (units % least == 0)
        for (Units steps = all / factor; steps > 0 && all / steps < 2 * factor; --steps)
            if (all % steps == 0) return all / steps * least;
    return factor * least;
}

/// A makespan that can be had: shares in proportion to the highest speeds, of all or without those whose shares take
/// longer than the mean, again and again. Infinite: not at usable sizes.
double attainable_s(const RecordedProblem& problem) {
    struct Candidate {
        std::size_t processor = 0;
        double speed = 0, seconds = 0;
    };
    std::vector<Candidate> candidates;
    for (std::size_t p = 0; p < problem.times.size(); ++p)
        if (!problem.lost[p]) candidates.push_back({p, problem.times[p].highest_speed()});
    for (double attainable_s = kNever;;) {
        double speed = 0, sum_s = 0, longest_s = 0;
        for (const Candidate& candidate : candidates) speed += candidate.speed;
        if (!(speed > 0)) return attainable_s;
        Units left = problem.shares.units;
        for (Candidate& candidate : candidates) {
            const auto seconds = [&](Units share) {
                return problem.busy_s[candidate.processor] + problem.times[candidate.processor].best(share).seconds;
            };
            const double share = static_cast<double>(problem.shares.units) * candidate.speed / speed;
            const Units whole = up_to_multiple(static_cast<Units>(share) + 1, problem.shares.granularity);
            sum_s += candidate.seconds = seconds(whole);
            const Units its = std::min(left, whole);
            if (its > 0) longest_s = std::max(longest_s, its == whole ? candidate.seconds : seconds(its));
            left -= its;
        }
        attainable_s = std::min(attainable_s, longest_s);
        const double mean_s = sum_s / static_cast<double>(candidates.size());
        if (std::erase_if(candidates, [&](const Candidate& c) { return c.seconds > mean_s; }) == 0) return attainable_s;
    }
}

/// The largest share that is worth looking at: an equal one is, any other takes no longer than `within_s` at the
/// highest speed.
Units largest_useful_share(const RecordedProblem& problem, std::size_t processor, double within_s) {
    const double share =
        std::max(within_s * problem.times[processor].highest_speed(),
                 static_cast<double>(problem.shares.units) / static_cast<double>(problem.times.size()));
    if (share >= static_cast<double>(problem.shares.units)) return problem.shares.units;
    return up_to_multiple(static_cast<Units>(share) + 1, problem.shares.granularity);
}

}  // namespace

RecordedProblem recorded_problem(const LoadDescription& load, std::span<const ShareTimes> times,
                                 const RecordedSizes& sizes, Units units, std::vector<double> busy_s,
                                 std::vector<bool> lost) {
    RecordedProblem problem{&load, times, std::move(busy_s), std::move(lost), {}, 0};
    const Units granules = up_to_multiple(units, load.granularity);
    const Units step = std::min(step_for(granules, sizes.step), std::max(granules, load.granularity));
    problem.shares.granularity = step;
    const Units whole = sizes.common <= granules ? std::max(step, sizes.common) : step;
    problem.shares.units = granules / whole * whole;
    problem.granules_left = granules - problem.shares.units;
    const double within_s = attainable_s(problem);
    for (std::size_t p = 0; p < times.size(); ++p) {
        DiscreteTimes shares;
        for (std::size_t q = 0; q < p; ++q)
            if (!problem.lost[p] && !problem.lost[q] && problem.busy_s[q] == problem.busy_s[p] &&
                times[q].same_as(times[p])) {
                shares = problem.shares.processors[q];
                break;
            }
        const bool known = !shares.points.empty() || problem.lost[p];
        const Units most = known ? 0 : largest_useful_share(problem, p, within_s);
        for (Units share = step; share <= most; share += step) {
            const double seconds = times[p].best(share).seconds;
            if (seconds == kNever) continue;
            shares.points.push_back(share);
            shares.seconds.push_back(problem.busy_s[p] + seconds);
        }
        shares.processor = load.processors[p].name;
        problem.shares.processors.push_back(std::move(shares));
    }
    return problem;
}

std::vector<Units> complete_shares(const RecordedProblem& problem, std::vector<Units> shares) {
    constexpr Units kPieces = 16;
    if (std::ranges::find(problem.lost, false) == problem.lost.end()) return shares;
    const Units granule = problem.load->granularity;
    Units missing =
        problem.shares.units + problem.granules_left - std::accumulate(shares.begin(), shares.end(), Units{0});
    const Units piece = up_to_multiple(std::max<Units>(missing / kPieces, 1), granule);
    while (missing > 0) {
        const Units more = std::min(piece, missing);
        std::size_t soonest = shares.size();
        double soonest_s = kNever;
        for (std::size_t p = 0; p < shares.size(); ++p) {
            if (problem.lost[p]) continue;
            const double seconds = share_seconds(problem, p, shares[p] + more);
            if (soonest < shares.size() && !(seconds < soonest_s)) continue;
            soonest_s = seconds;
            soonest = p;
        }
        shares[soonest] += more;
        missing -= more;
    }
    return shares;
}

}  // namespace apportion
