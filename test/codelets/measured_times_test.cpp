// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/common/warm_up.hpp"

#include <cmath>

#include "test/catch.hpp"

using namespace apportion;

TEST_CASE("without a measurement the time is unknown") { CHECK(std::isnan(MeasuredTimes().seconds(1))); }

TEST_CASE("one measurement means constant speed") {
    MeasuredTimes times;
    times.add(10, 2);
    CHECK(times.seconds(5) == Approx(1));
    CHECK(times.seconds(40) == Approx(8));
}

TEST_CASE("times are interpolated between measurements and go on along the last segment") {
    MeasuredTimes times;
    times.add(10, 3);
    times.add(20, 4);
    times.add(40, 8);
    CHECK(times.seconds(5) == Approx(1.5));
    CHECK(times.seconds(10) == Approx(3));
    CHECK(times.seconds(15) == Approx(3.5));
    CHECK(times.seconds(30) == Approx(6));
    CHECK(times.seconds(100) == Approx(20));
}

TEST_CASE("a larger block that seemed faster does not make times fall") {
    MeasuredTimes times;
    times.add(10, 3);
    times.add(20, 2);
    CHECK(times.seconds(15) == Approx(3));
    CHECK(times.seconds(1000) >= 3);
}
