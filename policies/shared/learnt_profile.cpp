// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/shared/learnt_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/io/text.hpp"
#include "models/learnt_times.hpp"

namespace apportion {

namespace {

constexpr double kPartOfShare = 0.125;
constexpr double kOtherSize = 1.25;
constexpr double kAlike = 1.5;
constexpr Units kLarger = 8;            // 1 / kPartOfShare
constexpr double kWorthAGuess = 0.1;    // of the speed of all
constexpr double kNeverWorthIt = 1000;  // times as long as the whole load takes the fastest: no plan uses that

using Points = std::vector<ProfilePoint>;

/// No block has fewer units, but for the last ones of the load.
Units granule_of(const LoadDescription& load) { return std::min(load.granularity, load.units); }

double highest_speed(const Points& points) {
    double highest = 0;
    for (const ProfilePoint& point : points)
        highest = std::max(highest, static_cast<double>(point.units) / point.seconds);
    return highest;
}

/// Least squares among the times that never fall: neighbours that do are averaged.
void make_monotone(Points& points) {
    struct Level {
        double seconds = 0, weight = 0;
        std::size_t count = 0;
    };
    std::vector<Level> levels;
    for (const ProfilePoint& point : points) {
        Level level{point.seconds, static_cast<double>(std::max<std::int64_t>(point.repetitions, 1)), 1};
        while (!levels.empty() && levels.back().seconds > level.seconds) {
            const Level& before = levels.back();
            const double weight = before.weight + level.weight;
            level = {(before.weight * before.seconds + level.weight * level.seconds) / weight, weight,
                     before.count + level.count};
            levels.pop_back();
        }
        levels.push_back(level);
    }
    auto point = points.begin();
    for (const Level& level : levels)
        for (std::size_t k = 0; k < level.count; ++k) (point++)->seconds = level.seconds;
}

bool of_one_size(const Points& points) {
    return static_cast<double>(points.back().units) < kOtherSize * static_cast<double>(points.front().units);
}

/// Whether what little one ran took about as long as others of its kind need.
bool agree(const Points& few, const Points& of_kind) {
    return std::ranges::all_of(few, [&](const ProfilePoint& point) {
        const double ratio = point.seconds / interpolated_seconds(of_kind, static_cast<double>(point.units));
        return std::max(ratio, 1 / ratio) <= kAlike;
    });
}

/// Per processor what it is planned with.
struct Choice {
    std::vector<const Points*> times;  ///< its own, or those of one of its kind
    std::vector<std::string> lacks;    ///< what these lack; empty: nothing
    double highest_speed = 0;          ///< of all
};

Choice choose(const std::vector<ProcessorProfile>& learnt, const LoadDescription& load) {
    const auto of_one_kind = [&](std::size_t a, std::size_t b) {
        return load.processors[a].kind == load.processors[b].kind;
    };
    std::vector<double> speeds;
    for (std::size_t p = 0; p < learnt.size(); ++p) {
        double speed = highest_speed(learnt[p].points);
        for (std::size_t other = 0; other < learnt.size() && learnt[p].points.empty(); ++other)
            if (of_one_kind(other, p)) speed = std::max(speed, highest_speed(learnt[other].points));
        speeds.push_back(speed);
    }
    const double all = std::accumulate(speeds.begin(), speeds.end(), 0.0);
    // What StarPU takes for one kind may be fast and slow cores: for those that ran nothing much is risked.
    double untried = 0;
    for (std::size_t p = 0; p < learnt.size(); ++p) untried += learnt[p].points.empty() ? speeds[p] : 0;
    const bool guess = untried > kWorthAGuess * all;

    const auto lacks = [&](std::size_t p, const Points& points) -> std::string {
        if (points.empty()) return "no block";
        const auto largest = static_cast<double>(points.back().units);
        const double share = static_cast<double>(load.units) * speeds[p] / all;
        const double block = std::min(share, static_cast<double>(load.processors[p].memory_units));
        Units least = std::min(granule_of(load), load.processors[p].memory_units);
        if (!load.open) least = std::max(least, static_cast<Units>(kPartOfShare * block));
        if (largest < static_cast<double>(least)) return fmt::format("no block of {} or more", counted(least, "unit"));
        if (of_one_size(points) && largest < share) return "blocks of one size only";
        return {};
    };
    Choice choice;
    for (std::size_t p = 0; p < learnt.size(); ++p) {
        const Points* chosen = &learnt[p].points;
        if (chosen->empty() && speeds[p] > 0 && !guess) {
            choice.times.push_back(chosen);  // it gets nothing
            choice.lacks.emplace_back();
            continue;
        }
        std::string its_lacks = lacks(p, *chosen);
        for (std::size_t other = 0; other < learnt.size() && !its_lacks.empty(); ++other)
            if (of_one_kind(other, p) && lacks(p, learnt[other].points).empty() &&
                agree(learnt[p].points, learnt[other].points)) {
                chosen = &learnt[other].points;
                its_lacks.clear();
            }
        // Whatever one of its kind ran is more than nothing.
        for (std::size_t other = 0; other < learnt.size() && chosen->empty(); ++other)
            if (of_one_kind(other, p)) chosen = &learnt[other].points;
        choice.times.push_back(chosen);
        choice.lacks.push_back(std::move(its_lacks));
        choice.highest_speed = std::max(choice.highest_speed, highest_speed(*chosen));
    }
    return choice;
}

/// A point for larger blocks than any that ran, at the speed of the largest.
void extend(Points& points, const LoadDescription& load) {
    const Units most = load.units;
    if (points.empty() || points.back().units >= most) return;
    const ProfilePoint& largest = points.back();
    const Units units = largest.units > most / kLarger ? most : std::max(kLarger * largest.units, granule_of(load));
    const double times = static_cast<double>(units) / static_cast<double>(largest.units);
    points.push_back({units, times * largest.seconds});
}

}  // namespace

bool any_learnt(const std::vector<ProcessorProfile>& learnt) {
    return std::ranges::any_of(learnt, [](const ProcessorProfile& processor) { return !processor.points.empty(); });
}

std::string why_too_sparse(const std::vector<ProcessorProfile>& learnt, const LoadDescription& load) {
    const Choice choice = choose(learnt, load);
    const auto sparse = std::ranges::find_if(choice.lacks, [](const std::string& lacks) { return !lacks.empty(); });
    if (sparse == choice.lacks.end()) return {};
    const auto p = static_cast<std::size_t>(sparse - choice.lacks.begin());
    return fmt::format("{} ran {}", load.processors[p].name, *sparse);
}

RecordedTimes recorded_from_learnt(const std::vector<ProcessorProfile>& learnt, const LoadDescription& load) {
    RecordedTimes times;
    times.learnt = true;
    std::vector<ProcessorProfile> processors;
    std::vector<Units> sizes;
    const Choice choice = choose(learnt, load);
    bool enough = false;
    for (std::size_t p = 0; p < learnt.size(); ++p)
        enough = enough || (choice.lacks[p].empty() && !choice.times[p]->empty());
    if (!enough) times.note = "too little was learnt to know larger blocks: " + why_too_sparse(learnt, load);
    for (std::size_t p = 0; p < learnt.size(); ++p) {
        Points points = *choice.times[p];
        if (!enough) extend(points, load);
        if (points.empty())
            points.push_back(
                {load.granularity, kNeverWorthIt * static_cast<double>(load.units) / choice.highest_speed});
        make_monotone(points);
        for (const ProfilePoint& point : points) sizes.push_back(point.units);
        processors.push_back({load.processors[p].name, std::move(points)});
    }
    std::ranges::sort(sizes);
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    for (ProcessorProfile& processor : processors) {
        Points all;
        for (const Units units : sizes)
            if (units >= processor.points.front().units && units <= processor.points.back().units)
                all.push_back({units, interpolated_seconds(processor.points, static_cast<double>(units))});
        processor.points = std::move(all);
    }
    times.processors = std::move(processors);
    return times;
}

void take_learnt(LoadDescription& load, const std::string& file) {
    if (!any_learnt(load.learnt)) return;
    load.recorded = recorded_from_learnt(load.learnt, load);
    load.recorded.source = file;
}

}  // namespace apportion
