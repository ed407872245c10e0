// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/engine/recovery.hpp"

#include <cmath>
#include <random>

#include "test/catch.hpp"

using namespace apportion;

// Pace of recovery.hpp.
TEST_CASE("nothing is known of a processor that has finished nothing") {
    const Pace pace;
    CHECK_FALSE(pace.known());
    CHECK(std::isinf(pace.at_most_s(1)));
    CHECK(pace.within(1e9) == 0);
}

TEST_CASE("smaller blocks take at most as long, larger ones at most in proportion, and the tightest bound counts") {
    Pace pace;
    pace.add(100, 2);
    CHECK(pace.at_most_s(50) == 2);
    CHECK(pace.at_most_s(300) == 6);
    pace.add(10, 1);
    CHECK(pace.at_most_s(10) == 1);
    CHECK(pace.at_most_s(15) == 1.5);
    CHECK(pace.at_most_s(50) == 2);
    CHECK(pace.within(0.9) == 0);
    CHECK(pace.within(1.5) == 15);
    CHECK(pace.within(4) == 200);
}

TEST_CASE("larger blocks take at least as long, smaller ones at least in proportion, and the tightest bound counts") {
    Pace pace;
    CHECK(pace.at_least_s(1) == 0);
    pace.add(100, 2);
    CHECK(pace.at_least_s(50) == 1);
    CHECK(pace.at_least_s(300) == 2);
    pace.add(10, 1);
    CHECK(pace.at_least_s(5) == 0.5);
    CHECK(pace.at_least_s(20) == 1);
    CHECK(pace.at_least_s(80) == 1.6);
}

TEST_CASE("only the last few blocks count") {
    Pace pace;
    pace.add(10, 1);
    for (int k = 0; k < 4; ++k) pace.add(10, 5);
    CHECK(pace.at_most_s(10) == 5);
}

TEST_CASE("or the last one of each size") {
    Pace pace(true);
    pace.add(1, 0.2);
    for (int k = 0; k < 4; ++k) pace.add(1000, 9);
    CHECK(pace.at_most_s(1) == 0.2);
    pace.add(1100, 5);  // the size of 1000: less than the next power of two
    CHECK(pace.at_most_s(1000) == 5);
    CHECK(pace.within(4) == 20);
}

TEST_CASE("blocks of a time function that neither it nor its speed falls are never longer than that") {
    std::mt19937 random(3);
    for (int trial = 0; trial < 500; ++trial) {
        const double fixed = std::uniform_real_distribution<>(0, 1)(random);
        const double slope = std::uniform_real_distribution<>(1e-4, 1)(random);
        Pace pace;
        const auto seconds = [&](Units units) { return fixed + slope * static_cast<double>(units); };
        for (int k = 0; k < 6; ++k) {
            const Units units = 1 + static_cast<Units>(random() % 1000);
            CHECK(pace.at_most_s(units) >= seconds(units) * (1 - 1e-12));
            if (pace.known() && pace.within(2) > 0) CHECK(seconds(pace.within(2)) <= 2 * (1 + 1e-9));
            pace.add(units, seconds(units));
        }
    }
}

TEST_CASE("blocks that take no time, and the largest ones, are no exception") {
    Pace pace;
    pace.add(1, 0);
    CHECK(pace.at_most_s(kNoLimit / 4) == 0);
    CHECK(pace.within(0) > kNoLimit / 4);
}
