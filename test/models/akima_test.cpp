// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/akima.hpp"

#include <cmath>
#include <functional>
#include <random>

#include "test/catch.hpp"

using namespace apportion;

namespace {

std::optional<Akima> through(const std::function<double(double)>& speed, const std::vector<double>& sizes) {
    std::vector<BlockTime> samples;
    for (const double x : sizes) samples.push_back({x, x / speed(x)});
    return Akima::through(samples);
}

}  // namespace

TEST_CASE("Akima's spline goes through the measured speeds") {
    const auto speed = [](double x) { return 100 + 40 * std::sin(x / 3); };
    const std::vector<double> sizes = {2, 3, 5, 8, 9, 13, 21, 22, 30};
    const auto model = through(speed, sizes);
    for (const double x : sizes) {
        CHECK(model->speed(x) == Approx(speed(x)));
        CHECK(model->seconds(x) == Approx(x / speed(x)));
    }
}

TEST_CASE("Akima's spline reproduces a straight line, and a parabola at even steps") {
    const auto line = through([](double x) { return 5 + 2 * x; }, {1, 2, 4, 7, 11, 12});
    for (double x = 1; x <= 12; x += 0.1) CHECK(line->speed(x) == Approx(5 + 2 * x));
    const auto parabola = [](double x) { return 50 + 3 * x - 0.1 * x * x; };
    const auto smooth = through(parabola, {1, 3, 5, 7, 9, 11});
    for (double x = 1; x <= 11; x += 0.1) CHECK(smooth->speed(x) == Approx(parabola(x)));
}

TEST_CASE("a plateau beside a jump stays flat: Akima's spline does not ring") {
    const auto model = through([](double x) { return x < 5.5 ? 10.0 : 20.0; }, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    for (double x = 1; x <= 4; x += 0.1) CHECK(model->speed(x) == Approx(10));
    for (double x = 7; x <= 10; x += 0.1) CHECK(model->speed(x) == Approx(20));
}

TEST_CASE("one point gives a constant, two a line; beyond the largest size the speed stays, below fixed costs do") {
    const auto one = through([](double) { return 6.0; }, {10});
    CHECK(one->speed(1) == Approx(6));
    CHECK(one->speed(100) == 6);
    const auto two = through([](double x) { return x; }, {10, 20});  // 1 s each
    CHECK(two->speed(15) == Approx(15));
    CHECK(two->seconds(5) == Approx(1));
    CHECK(two->derivative(5) == 0);
    CHECK(two->speed(50) == Approx(20));
    CHECK_FALSE(Akima::through({}));
}

TEST_CASE("time and derivative are those of the spline, by finite differences") {
    std::mt19937 random(11);
    std::uniform_real_distribution<double> speed(50, 100);
    std::vector<BlockTime> samples;
    for (int k = 1; k <= 20; ++k) samples.push_back({5.0 * k, 5.0 * k / speed(random)});
    const auto model = Akima::through(samples);
    for (double x = 5.3; x < 100; x += 0.7) {
        const double h = 1e-5;
        CAPTURE(x);
        CHECK(model->derivative(x) == Approx((model->seconds(x + h) - model->seconds(x - h)) / (2 * h)).epsilon(1e-5));
    }
    // The derivative is continuous at the measured sizes between the ends.
    for (int k = 2; k < 20; ++k)
        CHECK(model->derivative(5.0 * k - 1e-9) == Approx(model->derivative(5.0 * k + 1e-9)).epsilon(1e-6));
}

TEST_CASE("the speed stays positive however wild the measurements are") {
    for (unsigned seed = 0; seed < 300; ++seed) {
        std::mt19937 random(seed);
        std::uniform_real_distribution<double> exponent(-4, 4), step(0.1, 10);
        std::vector<BlockTime> samples;
        double units = 0, slowest = 1e300;
        for (int k = 0; k < 12; ++k) {
            const double speed = std::pow(10, exponent(random));
            slowest = std::min(slowest, speed);
            units += step(random);
            samples.push_back({units, units / speed});
        }
        const auto model = Akima::through(samples);
        for (double x = 0.01; x < units; x += 0.05) {
            CAPTURE(seed, x);
            REQUIRE(model->speed(x) > 0);
            if (x >= samples.front().units) REQUIRE(model->speed(x) >= slowest / 2 * (1 - 1e-6));
        }
    }
}
