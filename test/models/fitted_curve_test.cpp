// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/fitted_curve.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "test/catch.hpp"

using apportion::BlockTime;
using apportion::FittedCurve;

namespace {

std::vector<BlockTime> measure(const std::function<double(double)>& seconds, const std::vector<double>& sizes) {
    std::vector<BlockTime> samples;
    for (double units : sizes) samples.push_back({units, seconds(units)});
    return samples;
}

const std::vector<double> kSizes = {100, 200, 400, 800, 1600, 3200, 6400, 12800};

struct Law {
    const char* name;
    std::function<double(double)> seconds;
};

const std::vector<Law> kLaws = {
    {"line", [](double x) { return 3.44 + 0.0033 * x; }},
    {"square", [](double x) { return 1e-3 * x + 1e-6 * x * x; }},
    {"cube", [](double x) { return 0.5 + 1e-11 * x * x * x; }},
    {"logarithm", [](double x) { return 2 + std::log(x); }},
    {"x log x", [](double x) { return 1e-4 * x * std::log(x) + 0.1; }},
    {"exponential", [](double x) { return std::exp(x / 12800); }},
};

}  // namespace

TEST_CASE("a fit reproduces times that follow its basis") {
    for (const Law& law : kLaws) {
        INFO(law.name);
        const auto curve = FittedCurve::fit(measure(law.seconds, kSizes));
        REQUIRE(curve);
        for (double units = 100; units <= 12800; units *= 1.37)
            CHECK(curve->seconds(units) == Approx(law.seconds(units)).epsilon(0.02));
        CHECK(curve->r2() > 0.999);
        CHECK(curve->samples() == 8);
    }
}

TEST_CASE("derivatives of a fit are those of finite differences") {
    for (const Law& law : kLaws) {
        INFO(law.name);
        const auto curve = FittedCurve::fit(measure(law.seconds, kSizes));
        REQUIRE(curve);
        // Within the measured range, in the trusted extension, and on the lines below and beyond.
        for (double units : {40.0, 150.0, 1000.0, 9000.0, 20000.0, 60000.0}) {
            const double step = units * 1e-4;
            const double first = (curve->seconds(units + step) - curve->seconds(units - step)) / (2 * step);
            const double second = (curve->derivative(units + step) - curve->derivative(units - step)) / (2 * step);
            CHECK(curve->derivative(units) == Approx(first).epsilon(1e-5));
            CHECK(curve->second_derivative(units) == Approx(second).epsilon(1e-4).margin(1e-14));
        }
    }
}

TEST_CASE("a fit is positive and never falls, whatever the samples") {
    std::mt19937 random(7);
    std::lognormal_distribution<> anything(0, 2);
    for (int trial = 0; trial < 200; ++trial) {
        std::vector<BlockTime> samples;
        const int count = 1 + trial % 9;
        for (int i = 0; i < count; ++i) samples.push_back({std::ceil(100 * anything(random)), anything(random)});
        const auto curve = FittedCurve::fit(samples);
        REQUIRE(curve);
        double before = 0;
        const double end = 10 * FittedCurve::kTrustedGrowth * curve->largest_measured();
        for (int i = 1; i <= 400; ++i) {
            const double seconds = curve->seconds(end * i / 400);
            CHECK(seconds > 0);
            CHECK(seconds >= before * (1 - 1e-9));
            before = seconds;
        }
    }
}

TEST_CASE("a fit never falls among small sizes, where samples span decades") {
    std::mt19937 random(7);
    std::normal_distribution<> normal;
    std::uniform_real_distribution<> part;
    for (int trial = 0; trial < 4000; ++trial) {
        const double least = std::pow(10, 2 * part(random)), most = least * std::pow(10, 1 + 5 * part(random));
        const double noise = std::pow(10, -2.5 + 2 * part(random)), fixed = std::pow(10, -5 + 3 * part(random));
        const double slope = std::pow(10, -6 + 2 * part(random)), power = 0.7 + 0.6 * part(random);
        std::vector<BlockTime> samples(static_cast<std::size_t>(6 + 20 * part(random)));
        for (BlockTime& sample : samples) {
            sample.units = std::floor(least * std::pow(most / least, part(random))) + 1;
            sample.seconds = (fixed + slope * std::pow(sample.units, power)) * std::exp(noise * normal(random));
        }
        const auto curve = FittedCurve::fit(samples);
        REQUIRE(curve);
        const double smallest = curve->smallest_measured(), range = 4 * curve->largest_measured() / smallest;
        double before = 0;
        for (int i = 0; i <= 200; ++i) {
            const double seconds = curve->seconds(smallest * std::pow(range, i / 200.0));
            REQUIRE(seconds >= before * (1 - 1e-7));
            before = seconds;
        }
    }
}

TEST_CASE("one sample gives proportional times, two give a line") {
    const auto one = FittedCurve::fit(std::vector<BlockTime>{{10, 2.0}});
    REQUIRE(one);
    CHECK(one->seconds(5) == Approx(1));
    CHECK(one->seconds(100) == Approx(20));
    CHECK(one->formula() == "0.2 x");

    const auto two = FittedCurve::fit(std::vector<BlockTime>{{10, 2.0}, {30, 3.0}});
    REQUIRE(two);
    CHECK(two->seconds(20) == Approx(2.5));
    CHECK(two->seconds(1000) == Approx(1.5 + 0.05 * 1000));
    CHECK(two->formula() == "1.5 + 0.05 x");
}

TEST_CASE("few noisy samples of a line do not buy a bent curve") {
    std::mt19937 random(11);
    std::normal_distribution<> noise(0, 0.03);
    for (int trial = 0; trial < 50; ++trial) {
        std::vector<BlockTime> samples;
        for (double units : {57.0, 800.0, 3000.0, 7000.0})
            samples.push_back({units, (5.1 + 0.0033 * units) * std::exp(noise(random))});
        const auto curve = FittedCurve::fit(samples);
        REQUIRE(curve);
        for (double units : {57.0, 500.0, 5000.0, 14000.0})
            CHECK(curve->seconds(units) == Approx(5.1 + 0.0033 * units).epsilon(0.15));
    }
}

TEST_CASE("beyond the trusted range a fit goes on as a line") {
    const auto curve = FittedCurve::fit(measure([](double x) { return 1e-6 * x * x; }, kSizes));
    REQUIRE(curve);
    const double end = FittedCurve::kTrustedGrowth * curve->largest_measured();
    CHECK(curve->seconds(3 * end) - curve->seconds(2 * end) == Approx(curve->seconds(2 * end) - curve->seconds(end)));
    CHECK(curve->second_derivative(2 * end) == 0);
}

TEST_CASE("beyond the trusted range a fit rises at least as fast as the line through its samples") {
    const auto flat = [](double x) { return 1 + std::log(x); };
    const auto curve = FittedCurve::fit(measure(flat, kSizes));
    REQUIRE(curve);
    const auto line = FittedCurve::fit(
        std::vector<BlockTime>{{kSizes.front(), flat(kSizes.front())}, {kSizes.back(), flat(kSizes.back())}});
    const double end = FittedCurve::kTrustedGrowth * curve->largest_measured();
    CHECK(curve->derivative(0.9 * end) < 0.5 * line->derivative(end));  // it does bend
    CHECK(curve->derivative(1.1 * end) > 0.5 * line->derivative(end));
}

TEST_CASE("times that noise makes fall give a constant, not a line through 0") {
    const auto curve = FittedCurve::fit(std::vector<BlockTime>{{13, 0.69}, {15, 0.62}, {17, 0.60}});
    REQUIRE(curve);
    CHECK(curve->seconds(1) == Approx(0.63).epsilon(0.03));
    CHECK(curve->seconds(17) == Approx(0.63).epsilon(0.03));
    CHECK(curve->seconds(1000) > 5 * curve->seconds(17));  // the noise could hide a slope
}

TEST_CASE("unusable samples are skipped, and none at all gives no curve") {
    CHECK_FALSE(FittedCurve::fit({}));
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK_FALSE(FittedCurve::fit(std::vector<BlockTime>{{0, 1}, {1, 0}, {-1, 1}, {1, -1}, {nan, 1}, {1, nan}}));
    const auto curve = FittedCurve::fit(std::vector<BlockTime>{{0, 1}, {10, 1.0}, {nan, 3}});
    REQUIRE(curve);
    CHECK(curve->samples() == 1);
}

TEST_CASE("where larger blocks take longer than in proportion, the largest tell the speed") {
    const std::vector<BlockTime> samples{{12, 1e-4}, {144, 0.03}, {150, 0.031}};
    const auto curve = FittedCurve::fit(samples);
    REQUIRE(curve);
    CHECK(curve->seconds(144) == Approx(0.03).epsilon(0.05));
    CHECK(curve->seconds(1440) >= 0.29);
    CHECK(curve->seconds(12) > 1e-4);
}
