// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/speed_trend.hpp"

#include <random>

#include "test/catch.hpp"

using namespace apportion;

namespace {

template <typename Speed>
std::vector<BlockTime> measure(int sizes, Speed speed) {
    constexpr double kMost = 960;
    std::vector<BlockTime> samples;
    for (int k = 1; k <= sizes; ++k) {
        const double x = kMost * k / sizes;
        samples.push_back({x, x / speed(x)});
    }
    return samples;
}

double cubic(double x) { return 100 + 3 * x - 0.01 * x * x + 1e-5 * x * x * x; }

}  // namespace

TEST_CASE("the trend of polynomial speeds is that polynomial") {
    const auto trend = SpeedTrend::through(measure(60, cubic));
    REQUIRE(trend);
    for (const double x : {16.0, 100.0, 500.0, 960.0}) {
        CHECK(trend->speed(x) == Approx(cubic(x)));
        CHECK(trend->seconds(x) == Approx(x / cubic(x)));
    }
}

TEST_CASE("the trend smooths noise away and keeps the shape") {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> noise(0.7, 1.3);
    const auto trend = SpeedTrend::through(measure(700, [&](double x) { return cubic(x) * noise(random); }));
    REQUIRE(trend);
    for (double x = 16; x <= 960; x += 16) CHECK(trend->speed(x) == Approx(cubic(x)).epsilon(0.2));
}

TEST_CASE("the trend is positive at all measured sizes") {
    // A steep fall that the polynomials of high degree cross zero after.
    const auto samples = measure(50, [](double x) { return x < 100 ? 1e6 : 1.0; });
    const auto trend = SpeedTrend::through(samples);
    REQUIRE(trend);
    for (const BlockTime& sample : samples) CHECK(trend->speed(sample.units) > 0);
}

TEST_CASE("few sizes give a constant speed, none no trend") {
    const std::vector<BlockTime> three = {{1, 1}, {2, 1}, {3, 1}};
    const auto trend = SpeedTrend::through(three);
    REQUIRE(trend);
    for (const double x : {1, 2, 3}) CHECK(trend->speed(x) == Approx(2));
    const std::vector<BlockTime> one = {{7, 2}};
    CHECK(SpeedTrend::through(one)->speed(7) == Approx(3.5));
    CHECK_FALSE(SpeedTrend::through({}));
    const std::vector<BlockTime> too_fast = {{1e15, 1e-300}};
    CHECK_FALSE(SpeedTrend::through(too_fast));
}
