// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/learnt_times.hpp"

#include "test/catch.hpp"

using namespace apportion;

namespace {

ProfilePoint block(std::int64_t units, double seconds, double in_s = 0) { return {units, seconds, 0, 1, in_s, 0}; }

LearntTimes line(double seconds_per_unit) {
    LearntTimes times;
    for (const std::int64_t units : {10, 20, 40, 80}) times.add(block(units, seconds_per_unit * double(units)));
    times.end_process();
    return times;
}

}  // namespace

TEST_CASE("times of one size become their mean, the latest four of them above all") {
    LearntTimes times;
    for (const double seconds : {1.0, 1.2}) times.add(block(10, seconds, 0.5));
    REQUIRE(times.points().size() == 1);
    CHECK(times.points()[0].seconds == Approx(1.1));
    CHECK(times.points()[0].in_s == Approx(0.5));
    CHECK(times.points()[0].repetitions == 2);
    for (int k = 0; k < 16; ++k) times.add(block(10, 1.4));
    CHECK(times.points()[0].seconds == Approx(1.4).epsilon(0.01));
    CHECK(times.points()[0].in_s == Approx(0.5));  // a transfer that was not seen changes nothing
}

TEST_CASE("of blocks of more units than a profile can hold nothing is learnt") {
    LearntTimes times;
    times.add(block(ProfilePoint::kMostUnits, 1));
    times.add(block(ProfilePoint::kMostUnits + 1, 1));
    times.end_process();
    REQUIRE(times.points().size() == 1);
    CHECK(times.points()[0].units == ProfilePoint::kMostUnits);
}

TEST_CASE("one block that contradicts what is known is a spike, two up to the end of the process replace it") {
    LearntTimes times = line(1);
    times.add(block(40, 120));
    times.add(block(40, 40));
    times.end_process();
    CHECK(interpolated_seconds(times.points(), 40) == Approx(40));
    times.add(block(40, 120));
    times.add(block(60, 180));
    times.end_process();
    CHECK(times.points().size() == 5);  // 10, 20 and 80 in proportion
    CHECK(interpolated_seconds(times.points(), 20) == Approx(60));
}

TEST_CASE("sizes that contradicting blocks did not reach change in proportion") {
    LearntTimes times;
    for (const std::int64_t units : {10, 20, 40, 80, 160}) times.add(block(units, 5.0 + double(units)));
    times.end_process();
    times.add(block(20, 50));
    times.add(block(40, 90));
    times.end_process();
    REQUIRE(times.points().size() == 5);
    CHECK(interpolated_seconds(times.points(), 10) == Approx(30));
    CHECK(interpolated_seconds(times.points(), 20) == Approx(50));
    CHECK(interpolated_seconds(times.points(), 40) == Approx(90));
    CHECK(interpolated_seconds(times.points(), 80) == Approx(170));
    CHECK(interpolated_seconds(times.points(), 160) == Approx(330));
}

TEST_CASE("a time that rises slowly and falls at once, again and again, takes no other size along") {
    LearntTimes times;
    for (const std::int64_t units : {20, 2000}) times.add(block(units, 1e-4 * double(units)));
    times.end_process();
    for (int process = 0; process < 300; ++process) {
        const double factor = 1 + 0.5 * double(process % 5);  // 1 to 3
        for (int k = 0; k < 8; ++k) times.add(block(20, 2e-3 * factor));
        times.end_process();
    }
    CHECK(interpolated_seconds(times.points(), 2000) > 0.19);
    CHECK(interpolated_seconds(times.points(), 2000) < 0.61);
}

TEST_CASE("what was in a processor's way for some blocks makes nothing forgotten") {
    LearntTimes times = line(1);
    for (const std::int64_t units : {40, 60, 50, 30}) times.add(block(units, 3 * double(units)));
    times.add(block(20, 20));
    times.add(block(40, 40));
    times.end_process();
    REQUIRE(times.points().size() == 4);
    for (const double units : {10.0, 20.0, 40.0, 80.0})
        CHECK(interpolated_seconds(times.points(), units) == Approx(units));
}

TEST_CASE("a processor that became slower in the middle of a process is believed with all sizes since then") {
    LearntTimes times = line(1);
    for (const std::int64_t units : {20, 40}) times.add(block(units, double(units)));
    for (const std::int64_t units : {80, 400, 40, 10}) times.add(block(units, 2 * double(units)));
    times.end_process();
    REQUIRE(times.points().size() == 4);
    for (const double units : {10.0, 40.0, 80.0, 400.0})
        CHECK(interpolated_seconds(times.points(), units) == Approx(2 * units));
}

TEST_CASE("blocks that contradict what is known and each other are spikes") {
    LearntTimes times = line(1);
    times.add(block(40, 120));
    times.add(block(40, 12));
    times.add(block(10'000, 10'000));  // tells nothing of the sizes that are known
    times.end_process();
    CHECK(interpolated_seconds(times.points(), 40) == Approx(40));
}

TEST_CASE("a process whose only block contradicts what is known is believed") {
    LearntTimes times = line(1);
    times.add(block(40, 120));
    times.end_process();
    for (const double units : {10.0, 20.0, 40.0, 80.0})
        CHECK(interpolated_seconds(times.points(), units) == Approx(3 * units));
}

TEST_CASE("sizes far from all others contradict nothing that lies between their times") {
    LearntTimes times;
    for (const std::int64_t units : {1, 1000}) times.add(block(units, 1 + 0.01 * double(units)));
    for (const std::int64_t units : {30, 60}) times.add(block(units, 5));  // a straight line says 1.3 and 1.6
    CHECK(times.points().size() == 4);
    for (int k = 0; k < 2; ++k) times.add(block(200, 17));
    times.end_process();
    REQUIRE(times.points().size() == 5);
    CHECK(interpolated_seconds(times.points(), 200) == Approx(17));
    CHECK(interpolated_seconds(times.points(), 60) > 5.1);  // in proportion
}

TEST_CASE("a deviation that is small beside the longest block contradicts nothing") {
    LearntTimes times = line(1);
    times.add(block(10'000, 10'000));
    for (int k = 0; k < 3; ++k) times.add(block(10, 25));
    CHECK(times.points().back().units == 10'000);
}

TEST_CASE("a block that took clearly longer than one of more units is forgotten") {
    LearntTimes times;
    times.add(block(1, 50));  // the first block of a process sets things up
    times.add(block(10, 10));
    REQUIRE(times.points().size() == 1);
    CHECK(times.points()[0].units == 10);
}

TEST_CASE("the number of sizes is bounded, and the curve stays") {
    LearntTimes times;
    for (std::int64_t units = 1; units <= 2000; ++units) times.add(block(units, 5 + 0.1 * double(units)));
    CHECK(times.points().size() <= LearntTimes::kMostSizes);
    CHECK(times.points().front().units <= 2);
    CHECK(times.points().back().units == 2000);
    for (const double units : {10.0, 300.0, 1999.0})
        CHECK(interpolated_seconds(times.points(), units) == Approx(5 + 0.1 * units).epsilon(0.02));
    for (std::size_t k = 1; k < times.points().size(); ++k)
        CHECK(times.points()[k - 1].units < times.points()[k].units);
}

TEST_CASE("times that are none are skipped") {
    LearntTimes times;
    for (const double seconds : {0.0, -1.0, double(INFINITY), double(NAN)}) times.add(block(10, seconds));
    times.add(block(0, 1));
    times.end_process();
    CHECK(times.points().empty());
}
