// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/engine/granted_units.hpp"

#include <vector>

#include "test/catch.hpp"

using namespace apportion;

TEST_CASE("a grant is computed when blocks have covered it, even those that reach into the next") {
    GrantedUnits units;
    units.add(7, {0, 100});
    units.add(8, {100, 50});
    CHECK(units.seconds(1) == 0);
    CHECK(units.done({0, 60}, 0, 6).empty());
    const auto first = units.done({60, 60}, 1, 2);  // 10 and 30 units a second
    REQUIRE(first.size() == 1);
    CHECK(first.front().grant == 7);
    CHECK(first.front().seconds == Approx(100.0 / 40));
    CHECK_FALSE(units.empty());
    CHECK(units.has({140, 100}));
    CHECK(units.has({90, 20}));
    CHECK_FALSE(units.has({50, 50}));
    CHECK_FALSE(units.has({150, 10}));
    const auto second = units.done({120, 30}, 0, 3);
    REQUIRE(second.size() == 1);
    CHECK(second.front().grant == 8);
    CHECK(units.empty());
}

TEST_CASE("a grant is computed when its units are, without those that were withdrawn") {
    GrantedUnits units;
    units.add(1, {0, 100});
    units.add(2, {100, 100});
    CHECK(units.done({0, 40}, 0, 4).empty());
    CHECK_FALSE(units.shorten({0, 100}, 40));  // of which 20 run
    CHECK_FALSE(units.has({60, 40}));
    const auto first = units.done({40, 20}, 0, 2);
    REQUIRE(first.size() == 1);
    CHECK(first.front().grant == 1);
    CHECK(first.front().seconds == Approx(6));
    CHECK(units.done({100, 50}, 0, 5).empty());
    const auto second = units.shorten({100, 100}, 50);
    REQUIRE(second);
    CHECK(second->grant == 2);
    CHECK(second->seconds == Approx(5));
    units.add(3, {300, 100});
    CHECK_FALSE(units.shorten({300, 100}, 100));
    CHECK(units.empty());
}

TEST_CASE("a worker that ends no more blocks does not count in what a node takes") {
    GrantedUnits units;
    units.add(1, {0, 1000});
    CHECK(units.seconds(120) == 0);
    units.done({0, 100}, 0, 10);    // 10 units a second
    units.done({100, 300}, 1, 10);  // 30
    CHECK(units.seconds(120) == Approx(3));
    for (Units first = 400; first < 600; first += 100) units.done({first, 100}, 0, 10);
    CHECK(units.seconds(120) == Approx(3));
    for (Units first = 600; first < 1000; first += 100) units.done({first, 100}, 0, 10);
    CHECK(units.seconds(120) == Approx(12));
}

TEST_CASE("a node that learns with small blocks does not look slow for large ones") {
    GrantedUnits units;
    units.add(1, {0, 1000});
    Units first = 0;
    std::vector<GrantedUnits::Computed> computed;
    const auto block = [&](int worker, Units its) {
        computed = units.done({first, its}, worker, 2 + 0.01 * static_cast<double>(its));
        first += its;
    };
    const auto both = [&](Units its) {
        for (const int worker : {0, 1}) block(worker, its);
    };
    both(1);
    CHECK(units.seconds(2) == Approx(2.01));
    CHECK(units.seconds(200) == Approx(201));  // nothing tells fixed costs
    both(2);
    both(4);
    both(100);
    CHECK(units.seconds(100) == Approx(2.5));
    CHECK(units.seconds(200) == Approx(3));
    CHECK(units.seconds(400) == Approx(4));  // blocks have grown until now
    both(50);
    CHECK(units.seconds(200) == Approx(3));
    CHECK(units.seconds(400) == Approx(6));  // two each
    both(100);
    both(100);
    both(100);
    both(43);
    REQUIRE(computed.size() == 1);
    CHECK(computed.front().seconds == Approx(15));
}

TEST_CASE("a worker that has become slower, or faster, is known by what it does now") {
    for (const double factor : {3.0, 1.0 / 3}) {
        GrantedUnits units;
        const auto block_s = [](double count) { return 0.1 + count / 100; };
        units.add(1, {0, 1000});
        Units first = 0;
        for (const Units count : {50, 100, 50, 100}) {
            units.done({first, count}, 0, block_s(static_cast<double>(count)));
            first += count;
        }
        CHECK(units.seconds(100) == Approx(block_s(100)).epsilon(0.01));
        units.done({first, 80}, 0, factor * block_s(80));
        CHECK(units.seconds(80) == Approx(factor * block_s(80)).epsilon(0.01));
        units.done({first + 80, 50}, 0, factor * block_s(50));
        CHECK(units.seconds(80) == Approx(factor * block_s(80)).epsilon(0.01));
    }
}
