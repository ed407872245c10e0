// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Any text as a profile file: it is refused with a FileError, or what was read is in order, survives writing and
// reading, and every planner for continuous sizes distributes over it exactly.
#include <cstdlib>
#include <sstream>

#include "models/profile_file.hpp"
#include "policies/planners/planner_table.hpp"

using namespace apportion;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

void check_round_trip(const Profile& profile) {
    std::ostringstream out;
    write_profile(out, profile);
    std::istringstream in(out.str());
    const Profile again = read_profile(in, "again");
    require(again.processors.size() == profile.processors.size());
    for (std::size_t i = 0; i < profile.processors.size(); ++i) {
        const auto &a = profile.processors[i].points, &b = again.processors[i].points;
        require(profile.processors[i].name == again.processors[i].name && a.size() == b.size());
        for (std::size_t k = 0; k < a.size(); ++k) require(a[k].units == b[k].units && a[k].seconds == b[k].seconds);
    }
}

void check_plans(const Profile& profile) {
    PlanProblem problem;
    for (const ProcessorProfile& processor : profile.processors) {
        DiscreteTimes& times = problem.processors.emplace_back();
        for (const ProfilePoint& point : processor.points) {
            require(point.units > 0 && point.seconds > 0);
            require(times.points.empty() || times.points.back() < point.units);
            times.points.push_back(point.units);
            times.seconds.push_back(point.seconds);
        }
    }
    for (const Units units : {Units{1}, Units{1000}, Units{1} << 60})
        for (const char* name : {"equal", "cpm", "fpm", "fpm-akima"}) {
            problem.units = units;
            const Plan plan = run_planner(*find_planner(name), problem);
            Units sum = 0;
            for (const Units share : plan.shares) {
                require(share >= 0);
                sum += share;
            }
            require(plan.failure.empty() && sum == units);
        }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
    try {
        const Profile profile = read_profile(in, "fuzz");
        check_round_trip(profile);
        check_plans(profile);
    } catch (const FileError& error) {
        require(std::string(error.what()).starts_with("fuzz:"));
    }
    return 0;
}
