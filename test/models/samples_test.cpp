// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/samples.hpp"

#include <cmath>
#include <random>

#include "test/catch.hpp"

using namespace apportion;

TEST_CASE("the interval is Student's: known values for five samples") {
    SampleOptions options;
    options.least = 5;
    Samples samples(options);
    samples.add(10);  // warm-up
    for (const double t : {10.0, 10.1, 9.9, 10.2, 9.8}) {
        CHECK_FALSE(samples.enough());
        samples.add(t);
    }
    // Standard deviation sqrt(0.1 / 4), t(0.975, 4) = 2.776445.
    CHECK(samples.mean_s() == Approx(10));
    CHECK(samples.interval_s() == Approx(2.776445 * std::sqrt(0.1 / 4) / std::sqrt(5)).epsilon(1e-6));
    CHECK(samples.precise());
    CHECK(samples.enough());
}

TEST_CASE("repeating ends sooner for a steady time than for a noisy one") {
    auto repetitions = [](double noise) {
        std::mt19937 random(3);
        std::normal_distribution<double> time(1, noise);
        Samples samples;
        while (!samples.enough()) samples.add(time(random));
        return samples.repetitions();
    };
    CHECK(repetitions(0.001) == 3);
    CHECK(repetitions(0.05) > 3);
    CHECK(repetitions(0.1) > 20);
    CHECK(repetitions(0.1) < 100);
}

TEST_CASE("warm-up and a rare spike do not move the mean") {
    Samples samples;
    samples.add(50);  // warm-up
    for (const double t : {1.0, 1.01, 0.99, 1.0, 1.02, 0.98}) samples.add(t);
    samples.add(30);  // spike
    CHECK(samples.mean_s() == Approx(1).epsilon(1e-9));
    CHECK(samples.repetitions() == 6);
    CHECK(samples.precise());
}

TEST_CASE("what is slow every third time is no spike") {
    Samples samples;
    for (int k = 0; k < 31; ++k) samples.add(k % 3 == 0 ? 3 : 1);
    CHECK(samples.repetitions() == 30);
    CHECK(samples.mean_s() == Approx(5.0 / 3));
    CHECK_FALSE(samples.precise());
}

TEST_CASE("caps on repetitions and on time end an imprecise measurement") {
    SampleOptions options;
    options.most = 7;
    Samples many(options);
    int count = 0;
    while (!many.enough()) many.add(++count % 2 == 0 ? 1 : 2);
    CHECK(many.repetitions() == 7);
    CHECK_FALSE(many.precise());

    options.most_seconds = 10;
    Samples slow(options);
    slow.add(20);
    CHECK_FALSE(slow.enough());  // only warm-up so far: there is no time to report yet
    slow.add(20);
    CHECK(slow.enough());
    CHECK(slow.mean_s() == 20);
    CHECK(slow.repetitions() == 1);
    CHECK(slow.interval_s() == 0);  // one sample has no interval
    CHECK_FALSE(slow.precise());
}

TEST_CASE("equal samples of a coarse clock are precise, invalid samples are not counted") {
    Samples samples;
    for (const double t : {-1.0, 0.0, std::nan(""), double{INFINITY}}) samples.add(t);
    for (int k = 0; k < 4; ++k) samples.add(0.25);
    CHECK(samples.enough());
    CHECK(samples.interval_s() == 0);
}

TEST_CASE("sample options that make no sense say why") {
    CHECK(SampleOptions{}.invalid().empty());
    SampleOptions options;
    options.least = 1;
    CHECK_FALSE(options.invalid().empty());
    options = {};
    options.most = 2;
    CHECK_FALSE(options.invalid().empty());
}
