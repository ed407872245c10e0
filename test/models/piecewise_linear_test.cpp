// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/piecewise_linear.hpp"

#include <random>

#include "test/catch.hpp"

using namespace apportion;

namespace {

using Shape = PiecewiseLinear::Shape;

std::vector<BlockTime> samples_of_speeds(const std::vector<SpeedPoint>& points) {
    std::vector<BlockTime> samples;
    for (const SpeedPoint& point : points) samples.push_back({point.units, point.units / point.units_per_s});
    return samples;
}

std::vector<SpeedPoint> random_speeds(unsigned seed, int count) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> speed(1, 100), step(0.5, 20);
    std::vector<SpeedPoint> points;
    double units = 0;
    for (int k = 0; k < count; ++k) points.push_back({units += step(random), speed(random)});
    return points;
}

}  // namespace

TEST_CASE("between measured sizes the speed is interpolated, beyond the largest it stays") {
    const auto model = PiecewiseLinear::through(samples_of_speeds({{10, 4}, {20, 8}, {40, 6}}), Shape::as_measured);
    CHECK(model->speed(10) == Approx(4));
    CHECK(model->speed(15) == Approx(6));
    CHECK(model->speed(30) == Approx(7));
    CHECK(model->speed(400) == Approx(6));
    CHECK(model->seconds(30) == Approx(30.0 / 7));
    CHECK(model->seconds(0) == 0);
    CHECK(model->range().smallest == 10);
    CHECK(model->range().largest == 40);
}

TEST_CASE("below the smallest measured size fixed costs stay") {
    const auto through = [](std::vector<BlockTime> samples) {
        return *PiecewiseLinear::through(samples, Shape::as_measured);
    };
    const PiecewiseLinear line = through({{100, 1.1}, {110, 1.4}, {200, 1.2}});  // 1 s and 1 ms a unit
    CHECK(line.seconds(50) == Approx(1.05));
    CHECK(line.units_within(1.05) == Approx(50));
    CHECK(line.units_within(0.9) == 0);
    const PiecewiseLinear faster_when_small = through({{100, 1}, {200, 3}});
    CHECK(faster_when_small.seconds(50) == Approx(0.5));
    const PiecewiseLinear falling = through({{100, 3}, {200, 1}});
    CHECK(falling.seconds(50) == Approx(3));
    const PiecewiseLinear of_one_size = through({{100, 1}, {120, 1.1}});
    CHECK(of_one_size.seconds(50) == Approx(0.5));
}

TEST_CASE("unsorted and repeated samples become one point a size, invalid samples are skipped") {
    const std::vector<BlockTime> samples = {{20, 2}, {10, 1}, {20, 4}, {0, 1}, {5, -1}, {7, 0}};
    const auto model = PiecewiseLinear::through(samples, Shape::as_measured);
    REQUIRE(model->points().size() == 2);
    CHECK(model->seconds(20) == Approx(3));
    CHECK_FALSE(PiecewiseLinear::through(std::vector<BlockTime>{{0, 1}}, Shape::as_measured));
}

TEST_CASE("slow outliers are left out of the restricted shape") {
    // Rising and concave to the peak at 40, then falling, with one dip on either side.
    const std::vector<SpeedPoint> shape = {{10, 20}, {20, 30}, {40, 40}, {60, 35}, {80, 25}};
    std::vector<SpeedPoint> with_dips = shape;
    with_dips.insert(with_dips.begin() + 2, {30, 10});
    with_dips.insert(with_dips.begin() + 5, {70, 12});
    const auto model = PiecewiseLinear::through(samples_of_speeds(with_dips), Shape::restricted);
    REQUIRE(model->points().size() == shape.size());
    for (std::size_t k = 0; k < shape.size(); ++k) CHECK(model->points()[k].units == shape[k].units);
    CHECK(model->speed(30) == Approx(35));
    CHECK(model->speed(20) == Approx(30));
}

TEST_CASE("a first point so slow that more units would take less time is left out") {
    const auto model = PiecewiseLinear::through(samples_of_speeds({{1, 1}, {2, 10}, {4, 12}}), Shape::restricted);
    REQUIRE(model->points().size() == 2);
    CHECK(model->points()[0].units == 2);
}

TEST_CASE("restricted to the shape, the time increases whatever was measured, and no point is above the function") {
    for (unsigned seed = 0; seed < 200; ++seed) {
        const std::vector<SpeedPoint> points = random_speeds(seed, 1 + static_cast<int>(seed % 40));
        const auto model = PiecewiseLinear::through(samples_of_speeds(points), Shape::restricted);
        double before_s = 0;
        for (double x = 0.25; x < 1.5 * model->range().largest; x += 0.25) {
            const double seconds = model->seconds(x);
            CAPTURE(seed, x);
            REQUIRE(seconds >= before_s * (1 - 1e-12));
            before_s = seconds;
        }
        for (const SpeedPoint& point : points) REQUIRE(model->speed(point.units) >= point.units_per_s * (1 - 1e-12));
    }
}

TEST_CASE("the inverse gives the largest share in time, of the restricted and of the measured shape") {
    for (unsigned seed = 0; seed < 100; ++seed)
        for (const Shape shape : {Shape::restricted, Shape::as_measured}) {
            const auto model = PiecewiseLinear::through(samples_of_speeds(random_speeds(seed, 12)), shape);
            for (const double seconds : {0.01, 0.1, 0.5, 1.0, 3.0, 10.0, 100.0}) {
                const double units = model->units_within(seconds);
                CAPTURE(seed, seconds, units);
                REQUIRE(model->seconds(units) <= seconds * (1 + 1e-9));
                for (double x = units * (1 + 1e-6) + 1e-6; x < 300; x += 0.5)
                    REQUIRE(model->seconds(x) > seconds * (1 - 1e-6));
            }
        }
}
