// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/late_blocks.hpp"

#include <random>
#include <set>

#include "test/catch.hpp"

using namespace apportion;
using Ids = std::vector<std::int64_t>;

TEST_CASE("a late block is forgotten when copies of all its units were computed") {
    LateBlocks late;
    late.add(7, {100, 30});
    CHECK(late.contains(7));
    CHECK(late.spare() == 30);
    const auto first = late.take(8, 20), second = late.take(9, 20);
    CHECK(first.first == 100);
    CHECK(first.units == 20);
    CHECK(second.first == 120);
    CHECK(second.units == 10);  // no more are left
    CHECK(late.spare() == 0);
    CHECK(late.is_copy(8));
    CHECK_FALSE(late.is_copy(7));
    CHECK_FALSE(late.computed(9));
    CHECK(late.computed(8) == 7);
    CHECK_FALSE(late.contains(7));
    CHECK_FALSE(late.is_copy(8));
    CHECK(late.count() == 0);
}

TEST_CASE("a late block that ends makes all its copies void, computed or not, and takes its spare units back") {
    LateBlocks late;
    late.add(1, {0, 30});
    late.add(2, {50, 5});
    late.take(3, 10);
    late.take(4, 10);
    CHECK_FALSE(late.computed(3));
    CHECK(late.ended(1) == Ids{3, 4});
    CHECK(late.spare() == 5);
    CHECK_FALSE(late.is_copy(3));
    CHECK(late.ended(2).empty());
    CHECK(late.spare() == 0);
}

TEST_CASE("units of a copy that was not computed are spare again") {
    LateBlocks late;
    late.add(1, {0, 30});
    late.take(2, 10);
    late.take(3, 20);
    late.give_back(2);
    CHECK(late.spare() == 10);
    const auto again = late.take(4, 99);
    CHECK(again.first == 0);
    CHECK(again.units == 10);
    CHECK_FALSE(late.computed(3));
    CHECK(late.computed(4) == 1);
}

TEST_CASE("a late block that will not end leaves what is spare, and its copies stand for themselves") {
    LateBlocks late;
    late.add(1, {0, 30});
    late.take(2, 10);
    const auto rest = late.release(1);
    REQUIRE(rest.size() == 1);
    CHECK(rest[0].first == 10);
    CHECK(rest[0].units == 20);
    CHECK(late.spare() == 0);
    CHECK_FALSE(late.is_copy(2));
    CHECK(late.count() == 0);
}

TEST_CASE("whatever happens, each unit of a late block is in one place") {
    std::mt19937 random(1);
    for (int trial = 0; trial < 200; ++trial) {
        LateBlocks late;
        std::int64_t next = 0;
        std::map<std::int64_t, LateBlocks::Range> originals, in_flight, computed;
        std::map<std::int64_t, std::int64_t> of;
        std::set<std::int64_t> told;
        for (int step = 0; step < 60; ++step) {
            const auto any = [&](const auto& from) {
                return std::next(from.begin(), static_cast<long>(random() % from.size()));
            };
            const auto drop = [&](std::int64_t original) {
                std::erase_if(in_flight, [&](const auto& copy) { return of.at(copy.first) == original; });
                std::erase_if(computed, [&](const auto& copy) { return of.at(copy.first) == original; });
                originals.erase(original);
            };
            switch (random() % 5) {
                case 0:
                    originals[next] = {1000 * next, static_cast<Units>(1 + random() % 50)};
                    late.add(next, originals[next]);
                    ++next;
                    break;
                case 1:
                    if (late.spare() == 0) break;
                    in_flight[next] = late.take(next, static_cast<Units>(1 + random() % 20));
                    of[next] = in_flight[next].first / 1000;
                    ++next;
                    break;
                case 2:
                    if (in_flight.empty()) break;
                    computed.insert(in_flight.extract(any(in_flight)));
                    for (const auto& [copy, range] : std::map(computed))
                        if (told.insert(copy).second)
                            if (const auto done = late.computed(copy)) drop(*done);
                    break;
                case 3: {
                    if (in_flight.empty()) break;
                    const auto copy = any(in_flight);
                    late.give_back(copy->first);
                    in_flight.erase(copy);
                    break;
                }
                default: {
                    if (originals.empty()) break;
                    const auto original = any(originals)->first;
                    Ids copies;
                    for (const auto& [copy, range] : in_flight)
                        if (of[copy] == original) copies.push_back(copy);
                    for (const auto& [copy, range] : computed)
                        if (of[copy] == original) copies.push_back(copy);
                    std::sort(copies.begin(), copies.end());
                    REQUIRE(late.ended(original) == copies);
                    drop(original);
                }
            }
            Units units = 0, taken = 0;
            std::set<Units> seen;
            for (const auto& [id, range] : originals) units += range.units;
            for (const auto* copies : {&in_flight, &computed})
                for (const auto& [id, range] : *copies)
                    for (Units u = range.first; u < range.first + range.units; ++u, ++taken)
                        REQUIRE(seen.insert(u).second);
            REQUIRE(late.spare() + taken == units);
            REQUIRE(late.count() == originals.size());
        }
    }
}
