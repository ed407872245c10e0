// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/engine/core_groups.hpp"

#include <algorithm>

#include "test/catch.hpp"

using namespace apportion;

namespace {

std::vector<std::size_t> sizes(std::span<const int> nodes, std::span<const Units> wanted) {
    std::vector<std::size_t> result;
    for (const auto& group : core_groups(nodes, wanted)) result.push_back(group.size());
    return result;
}

}  // namespace

TEST_CASE("neighbouring cores are together, as many as wanted") {
    using Sizes = std::vector<std::size_t>;
    const std::vector<int> cores(22, 0);
    CHECK(sizes(cores, {}) == Sizes(22, 1));
    CHECK(sizes(cores, std::vector<Units>{11}) == Sizes{11, 11});
    CHECK(sizes(cores, std::vector<Units>{12, 10}) == Sizes{12, 10});
    CHECK(sizes(cores, std::vector<Units>{10, 5}) == Sizes{10, 5, 5, 2});
    CHECK(sizes(cores, std::vector<Units>{kNoLimit}) == Sizes{22});
    CHECK(sizes({}, std::vector<Units>{2}).empty());
}

TEST_CASE("devices are one processor each, and no group reaches over memory nodes") {
    const std::vector<int> nodes{-1, -1, 0, 0, 0, 1, 1, 1};
    const auto groups = core_groups(nodes, std::vector<Units>{2, 1});
    CHECK(groups == std::vector<std::vector<std::size_t>>{{0}, {1}, {2, 3}, {4}, {5, 6}, {7}});
    CHECK(sizes(nodes, std::vector<Units>{kNoLimit}) == std::vector<std::size_t>{1, 1, 3, 3});
}

TEST_CASE("a group is named after its first and last core") {
    CHECK(group_name(std::vector<std::string>{"CPU 3"}) == "CPU 3");
    CHECK(group_name(std::vector<std::string>{"CPU 9", "CPU 10", "CPU 11"}) == "CPU 9-11");
    CHECK(group_name(std::vector<std::string>{"CPU 0", "CPU 2"}) == "CPU 0+CPU 2");
    CHECK(group_name(std::vector<std::string>{"big core", "small core"}) == "big core+small core");
}

TEST_CASE("parts are equal but for a granule, in whole granules, and have every unit once") {
    for (const Units units : {0, 1, 5, 16, 99, 1000})
        for (const Units granularity : {1, 3, 16})
            for (const Units parts : {1, 2, 7}) {
                CAPTURE(units, granularity, parts);
                const auto ranges = equal_parts({100, units}, granularity, parts);
                Units next = 100, least = kNoLimit, most = 0;
                for (const UnitRange range : ranges) {
                    CHECK(range.first == next);
                    CHECK(range.units > 0);
                    next += range.units;
                    const Units granules = (range.units + granularity - 1) / granularity;
                    least = std::min(least, granules), most = std::max(most, granules);
                    if (next < 100 + units) CHECK(range.units % granularity == 0);
                }
                CHECK(next == 100 + units);
                CHECK(static_cast<Units>(ranges.size()) == std::min(parts, (units + granularity - 1) / granularity));
                CHECK((ranges.empty() || most - least <= 1));
            }
}
