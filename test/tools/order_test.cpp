// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/order.hpp"

#include <cmath>
#include <random>

#include "test/catch.hpp"

using namespace apportion;

namespace {

/// Rounds of candidates whose times are log-normal around these medians, with spikes.
std::vector<SecondsByRound> draw(const std::vector<double>& medians, int rounds, std::mt19937_64& random) {
    std::lognormal_distribution<double> noise(0, 0.2);
    std::bernoulli_distribution spike(0.05);
    std::vector<SecondsByRound> result(medians.size());
    for (int r = 0; r < rounds; ++r)
        for (std::size_t c = 0; c < medians.size(); ++c)
            result[c][r] = medians[c] * noise(random) * (spike(random) ? 10 : 1);
    return result;
}

}  // namespace

TEST_CASE("a median's interval lies between order statistics") {
    CHECK(median({3, 1, 2}) == 2);
    const Interval few = median_interval({5, 1, 4});
    CHECK((few.low == 1 && few.high == 5));
    CHECK(few.confidence == Approx(0.75));
    // Of 10 values the second and the ninth: 1 - 2 (1 + 10) / 1024.
    const Interval ten = median_interval({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    CHECK((ten.low == 2 && ten.high == 9));
    CHECK(ten.confidence == Approx(1 - 22.0 / 1024));
    CHECK(median_interval({7}).confidence == 0);
}

TEST_CASE("a median's interval covers the median as often as it promises") {
    std::mt19937_64 random(1);
    std::exponential_distribution<double> times(1);
    int covered = 0;
    constexpr int kTrials = 2000;
    for (int t = 0; t < kTrials; ++t) {
        std::vector<double> values(12);
        for (double& v : values) v = times(random);
        const Interval interval = median_interval(values);
        covered += interval.low <= std::log(2.0) && std::log(2.0) <= interval.high;
    }
    CHECK(covered > 0.94 * kTrials);
}

TEST_CASE("the evidence is the mixed likelihood ratio") {
    CHECK(log_evidence(0, 0) == Approx(0).margin(1e-12));
    CHECK(std::exp(log_evidence(8, 0)) == Approx(256.0 / 9));
    CHECK(std::exp(log_evidence(2, 1)) == Approx(8.0 * 2 / 24));
}

TEST_CASE("two candidates are told apart after nine rounds that agree and not before") {
    for (const int rounds : {8, 9}) {
        std::vector<SecondsByRound> candidates(2);
        for (int r = 0; r < rounds; ++r) candidates[0][r] = 1, candidates[1][r] = 1.001;
        CHECK(Order(candidates, 1, false).faster(0, 1) == (rounds == 9));
    }
}

TEST_CASE("equal candidates are hardly ever ranked however often one looks") {
    std::mt19937_64 random(7);
    int claims = 0;
    constexpr int kComparisons = 1000, kRounds = 30;
    for (int k = 0; k < kComparisons; ++k) {
        const auto all = draw({1, 1}, kRounds, random);
        bool claimed = false;
        for (int r = 1; r <= kRounds && !claimed; ++r) {
            std::vector<SecondsByRound> seen(2);
            for (std::size_t c = 0; c < 2; ++c) seen[c].insert(all[c].begin(), all[c].lower_bound(r));
            const Order order(seen, 1, false);
            claimed = order.faster(0, 1) || order.faster(1, 0);
        }
        claims += claimed;
    }
    // 1.9 % by counting the paths of 30 throws of a coin.
    CHECK(claims <= 0.03 * kComparisons);
}

TEST_CASE("twenty equal candidates are hardly ever ranked") {
    std::mt19937_64 random(3);
    int ranked = 0;
    for (int k = 0; k < 50; ++k) {
        const Order order(draw(std::vector<double>(20, 1.0), 30, random), 190, false);
        bool any = false;
        for (std::size_t c = 0; c < 20; ++c) any = any || order.rank(c) > 1;
        ranked += any;
    }
    CHECK(ranked <= 2);
}

TEST_CASE("candidates that differ are ranked, and what cannot be told apart shares a rank") {
    std::mt19937_64 random(5);
    const Order order(draw({1, 2, 1, 4}, 30, random), 6, false);
    CHECK(order.rank(0) == 1);
    CHECK(order.rank(2) == 1);
    CHECK(order.rank(1) == 3);
    CHECK(order.rank(3) == 4);
    CHECK(order.median_ratio(1, 0) == Approx(2).epsilon(0.2));
    CHECK_FALSE(order.settled());
}

TEST_CASE("candidates within a hundredth of each other are settled as alike") {
    std::vector<SecondsByRound> candidates(2);
    for (int r = 0; r < 8; ++r) candidates[0][r] = 1, candidates[1][r] = r % 2 == 0 ? 1.001 : 0.999;
    CHECK(Order(candidates, 1, false).settled());
    CHECK(Order(candidates, 1, false).rank(0) == 1);
    CHECK(Order(candidates, 1, false).rank(1) == 1);
}

TEST_CASE("exact times are ordered at once, unless they differ less than four digits show") {
    const Order order({{{0, 1.0}}, {{0, 1.0 + 1e-5}}, {{0, 1.001}}}, 3, true);
    CHECK(order.rank(0) == 1);
    CHECK(order.rank(1) == 1);
    CHECK(order.rank(2) == 3);
    CHECK(order.settled());
}

TEST_CASE("candidates are compared in the rounds that both took part in") {
    std::vector<SecondsByRound> candidates(2);
    for (int r = 0; r < 20; ++r) candidates[0][r] = 1;
    for (int r = 0; r < 5; ++r) candidates[1][r] = 2;
    CHECK_FALSE(Order(candidates, 1, false).faster(0, 1));
    CHECK(Order({{{0, 1.0}}, {{1, 2.0}}}, 1, false).rank(1) == 1);
}
