// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/engine/free_units.hpp"

#include <random>
#include <vector>

#include "test/catch.hpp"

using namespace apportion;

TEST_CASE("units are taken from the processor's own ranges, then from nobody's, then from the end of the longest") {
    FreeUnits free(3);
    free.add({0, 10}, 0);
    free.add({10, 10}, FreeUnits::kNobody);
    free.add({20, 30}, 1);
    free.add({50, 10}, 0);
    CHECK(free.count() == 60);
    CHECK(free.next(0).range.first == 0);
    CHECK(free.next(0).range.units == 10);
    CHECK_FALSE(free.next(0).from_end);
    CHECK(free.next(2).range.first == 10);
    CHECK_FALSE(free.next(2).from_end);
    CHECK(free.take(0, 5, 1).first == 0);
    CHECK(free.take(2, 10, 1).first == 10);
    CHECK(free.next(2).range.first == 20);
    CHECK(free.next(2).from_end);
    const UnitRange from_the_longest = free.take(2, 10, 1);
    CHECK(from_the_longest.first == 40);
    CHECK(from_the_longest.units == 10);
    CHECK(free.count() == 35);
}

TEST_CASE("the last units before one are whole granules of nobody's last range, and never all of it") {
    FreeUnits free(2);
    CHECK_FALSE(free.take_before(100, 1, 1));
    free.add({0, 24}, 0);
    CHECK_FALSE(free.take_before(100, 1, 1));
    free.add({24, 8}, FreeUnits::kNobody);
    free.add({40, 19}, FreeUnits::kNobody);
    const auto last = free.take_before(59, 8, 8);
    REQUIRE(last);
    CHECK(last->first == 48);
    CHECK(last->units == 8);
    CHECK_FALSE(free.take_before(59, 8, 8));  // would be all; behind it is no granule
    CHECK(free.last_before(59, 8).first == 40);
    CHECK(free.last_before(59, 8).units == 8);
    free.add(*last, FreeUnits::kNobody);
    CHECK(free.count() == 24 + 8 + 19);
    CHECK_FALSE(free.take_before(48, 8, 8));
    CHECK(free.take_before(48, 4, 1)->first == 44);
    CHECK(free.take_before(40, 1, 1)->first == 31);
    CHECK_FALSE(free.take_before(24, 1, 1));  // has an owner
}

TEST_CASE("whatever is taken and given back, each unit is free or taken, and pieces are no longer than was asked") {
    std::mt19937 random(5);
    for (int trial = 0; trial < 300; ++trial) {
        const Units granularity = trial % 3 == 0 ? 8 : 1;
        const int processors = 1 + static_cast<int>(random() % 4);
        const Units units = 1 + static_cast<Units>(random() % 400);
        FreeUnits free(static_cast<std::size_t>(processors));
        for (Units first = 0; first < units;) {
            const Units part = std::min(units - first, granularity * static_cast<Units>(1 + random() % 10));
            free.add({first, part}, static_cast<int>(random() % static_cast<unsigned>(processors + 1)) - 1);
            first += part;
        }
        std::vector<int> taken(static_cast<std::size_t>(units));
        std::vector<UnitRange> pieces;
        Units count = 0;
        for (int step = 0; step < 200 && (free.count() > 0 || !pieces.empty()); ++step) {
            if (free.count() > 0 && random() % 3 != 0) {
                const Units wish = granularity * static_cast<Units>(1 + random() % 12);
                const int processor = static_cast<int>(random() % static_cast<unsigned>(processors));
                const UnitRange piece = free.take(processor, std::min(wish, free.count()), granularity);
                REQUIRE(piece.units > 0);
                REQUIRE(piece.units <= wish);
                REQUIRE(piece.first % granularity == 0);
                if (piece.first + piece.units != units) REQUIRE(piece.units % granularity == 0);
                for (Units u = piece.first; u < piece.first + piece.units; ++u)
                    REQUIRE(++taken[static_cast<std::size_t>(u)] == 1);
                pieces.push_back(piece);
                count += piece.units;
            } else if (random() % 4 == 0) {
                const Units first = static_cast<Units>(random()) % units / granularity * granularity;
                const Units end = std::min(units, first + granularity * static_cast<Units>(1 + random() % 20));
                Units least = end;  // of those that are free up to the end
                while (least > first && taken[static_cast<std::size_t>(least - 1)] == 0) --least;
                REQUIRE(free.withdraw({first, end - first}) == end - least);
                for (Units u = least; u < end; ++u) taken[static_cast<std::size_t>(u)] = 1;
                if (least < end) pieces.push_back({least, end - least});
                count += end - least;
            } else if (!pieces.empty()) {
                const UnitRange back = pieces.back();
                pieces.pop_back();
                for (Units u = back.first; u < back.first + back.units; ++u) --taken[static_cast<std::size_t>(u)];
                free.add(back, FreeUnits::kNobody);
                count -= back.units;
            }
            REQUIRE(free.count() + count == units);
        }
    }
}

TEST_CASE("taking from very many ranges does not search them all") {
    // 200,000 pieces of two owners that alternate: a search of all for each would take minutes.
    constexpr Units kPieces = 200'000;
    FreeUnits free(2);
    for (Units k = 0; k < kPieces; ++k) free.add({k, 1}, static_cast<int>(k % 2));
    for (Units k = 0; k < kPieces; ++k) free.take(0, 1, 1);
    CHECK(free.count() == 0);
}
