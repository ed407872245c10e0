// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/engine/retakes.hpp"

#include <map>
#include <random>
#include <set>

#include "test/catch.hpp"

using namespace apportion;
using Ids = std::vector<std::int64_t>;

TEST_CASE("nothing is missing of a late block when pieces of all its units were computed") {
    Retakes retakes;
    retakes.add(7, {100, 30});
    CHECK(retakes.contains(7));
    CHECK(retakes.spare(7) == 30);
    const auto first = retakes.take(7, 8, 20), second = retakes.take(7, 9, 20);
    CHECK(first.first == 100);
    CHECK(first.units == 20);
    CHECK(second.first == 120);
    CHECK(second.units == 10);  // no more are left
    CHECK(retakes.spare(7) == 0);
    CHECK_FALSE(retakes.computed(7, 9));
    CHECK(retakes.computed(7, 8));
    CHECK(retakes.close(7).pieces == Ids{8, 9});
    CHECK_FALSE(retakes.contains(7));
    CHECK(retakes.spare(7) == 0);
}

TEST_CASE("a late block that is late no more leaves its pieces and what nobody had begun") {
    Retakes retakes;
    retakes.add(1, {0, 30});
    retakes.add(2, {50, 5});
    retakes.take(1, 3, 10);
    const auto closed = retakes.close(1);
    CHECK(closed.pieces == Ids{3});
    REQUIRE(closed.spare.size() == 1);
    CHECK(closed.spare[0].first == 10);
    CHECK(closed.spare[0].units == 20);
    CHECK(retakes.spare(2) == 5);
}

TEST_CASE("whatever happens, each unit of a late block is spare or in one piece") {
    std::mt19937 random(1);
    for (int trial = 0; trial < 200; ++trial) {
        constexpr Units kUnits = 40;
        Retakes retakes;
        retakes.add(0, {100, kUnits});
        std::map<std::int64_t, UnitRange> pieces;
        std::set<std::int64_t> computed;
        Units missing = kUnits;
        for (std::int64_t id = 1; id < 60 && missing > 0; ++id) {
            if (retakes.spare(0) > 0 && random() % 2 == 0)
                pieces[id] = retakes.take(0, id, static_cast<Units>(1 + random() % 9));
            for (const auto& [piece, range] : std::map(pieces)) {
                if (computed.contains(piece) || random() % 3 != 0) continue;
                if (random() % 3 == 0) {
                    retakes.give_back(0, piece);
                    pieces.erase(piece);
                } else {
                    computed.insert(piece);
                    missing -= range.units;
                    REQUIRE(retakes.computed(0, piece) == (missing == 0));
                }
            }
            Units taken = 0;
            std::set<Units> seen;
            for (const auto& [piece, range] : pieces)
                for (Units u = range.first; u < range.first + range.units; ++u, ++taken) REQUIRE(seen.insert(u).second);
            REQUIRE(retakes.spare(0) + taken == kUnits);
        }
    }
}
