// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/shared/learnt_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/learnt_times.hpp"

namespace apportion {

namespace {

constexpr double kPartOfShare = 0.125;
constexpr double kOtherSize = 1.25;

using Points = std::vector<ProfilePoint>;

/// Its own, or those of the first of its kind that ran.
const ProcessorProfile& times_of(std::size_t processor, const std::vector<ProcessorProfile>& learnt,
                                 const LoadDescription& load) {
    if (!learnt[processor].points.empty()) return learnt[processor];
    for (std::size_t other = 0; other < learnt.size(); ++other)
        if (load.processors[other].kind == load.processors[processor].kind && !learnt[other].points.empty())
            return learnt[other];
    return learnt[processor];
}

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

}  // namespace

std::string why_too_sparse(const std::vector<ProcessorProfile>& learnt, const LoadDescription& load) {
    double speeds = 0;
    for (std::size_t p = 0; p < learnt.size(); ++p) speeds += highest_speed(times_of(p, learnt, load).points);
    for (std::size_t p = 0; p < learnt.size(); ++p) {
        const Points& points = times_of(p, learnt, load).points;
        const std::string& name = load.processors[p].name;
        if (points.empty()) return fmt::format("{} ran no block", name);
        const auto smallest = static_cast<double>(points.front().units);
        const auto largest = static_cast<double>(points.back().units);
        const double share = static_cast<double>(load.units) * highest_speed(points) / speeds;
        const double block = std::min(share, static_cast<double>(load.processors[p].memory_units));
        if (!load.open && largest < std::floor(kPartOfShare * block))
            return fmt::format("{} ran no block of {:.0f} units or more", name, std::floor(kPartOfShare * block));
        if (largest < kOtherSize * smallest && largest < share)
            return fmt::format("{} ran blocks of one size only", name);
    }
    return {};
}

RecordedTimes recorded_from_learnt(const std::vector<ProcessorProfile>& learnt, const LoadDescription& load) {
    RecordedTimes times;
    times.learnt = true;
    std::vector<Units> sizes;
    for (std::size_t p = 0; p < learnt.size(); ++p) {
        Points points = times_of(p, learnt, load).points;
        make_monotone(points);
        for (const ProfilePoint& point : points) sizes.push_back(point.units);
        times.processors.push_back({load.processors[p].name, std::move(points)});
    }
    std::ranges::sort(sizes);
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    for (ProcessorProfile& processor : times.processors) {
        Points all;
        for (const Units units : sizes)
            if (units >= processor.points.front().units && units <= processor.points.back().units)
                all.push_back({units, interpolated_seconds(processor.points, static_cast<double>(units))});
        processor.points = std::move(all);
    }
    return times;
}

void take_learnt(LoadDescription& load, const std::string& file) {
    if (load.learnt.empty()) return;
    if (const std::string too_sparse = why_too_sparse(load.learnt, load); !too_sparse.empty()) {
        load.recorded.problem += fmt::format(" (what earlier runs learnt is too little to plan from: {})", too_sparse);
        return;
    }
    load.recorded = recorded_from_learnt(load.learnt, load);
    load.recorded.source = file;
}

}  // namespace apportion
