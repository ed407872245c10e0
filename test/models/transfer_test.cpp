// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/transfer.hpp"

#include <limits>

#include "test/catch.hpp"

using apportion::transfer_seen_s;
using apportion::TransferLine;

TEST_CASE("a transfer line recovers bandwidth and latency from exact samples") {
    TransferLine line;
    for (double units : {1.0, 10.0, 100.0, 5000.0}) line.add(units, 70e-6 + 2e-4 * units);
    CHECK(line.latency_s() == Approx(70e-6));
    CHECK(line.seconds_per_unit() == Approx(2e-4));
    CHECK(line.seconds(50) == Approx(70e-6 + 1e-2));
    CHECK(line.samples() == 4);
}

TEST_CASE("samples of one size give a proportional transfer time") {
    TransferLine line;
    line.add(8, 4e-3);
    line.add(8, 4e-3);
    CHECK(line.latency_s() == 0);
    CHECK(line.seconds(16) == Approx(8e-3));
}

TEST_CASE("latency and inverse bandwidth are never negative") {
    TransferLine superlinear;
    superlinear.add(1, 1e-3);
    superlinear.add(10, 20e-3);
    CHECK(superlinear.latency_s() == 0);
    CHECK(superlinear.seconds_per_unit() > 1e-3);
    CHECK(superlinear.seconds_per_unit() < 2e-3);

    TransferLine falling;
    falling.add(1, 2e-3);
    falling.add(100, 1e-3);
    CHECK(falling.seconds_per_unit() == 0);
    CHECK(falling.latency_s() >= 1e-3);
    CHECK(falling.latency_s() <= 2e-3);
}

TEST_CASE("what was believed about a link holds until the first sample") {
    TransferLine line(1e-3, 1e-6);
    CHECK(line.seconds(1000) == Approx(2e-3));
    line.add(1000, 5e-3);
    CHECK(line.seconds(1000) == Approx(5e-3));
}

TEST_CASE("samples of one size say by what factor a believed line is wrong") {
    TransferLine line(1e-5, 1e-8);
    line.add(1, 4e-5);
    line.add(1, 4e-5);
    CHECK(line.seconds(1) == Approx(4e-5));
    CHECK(line.seconds(60) == Approx(4e-5).epsilon(0.1));  // a latency, and not sixty times that
    line.add(1000, 6e-5);
    CHECK(line.seconds(500) == Approx(5e-5).epsilon(0.01));

    // Larger blocks that take less say nothing else either: results do not come home for nothing.
    TransferLine falling(1e-5, 1e-6);
    falling.add(100, 8e-4);
    falling.add(200, 7e-4);
    CHECK(falling.seconds_per_unit() > 1e-6);
    CHECK(falling.seconds(2000) > 5 * falling.seconds(200));

    TransferLine of_unknown_bandwidth(1e-5, 0);
    of_unknown_bandwidth.add(100, 0.1);
    CHECK(of_unknown_bandwidth.seconds(5000) == Approx(5));
}

TEST_CASE("unusable transfer samples are skipped") {
    TransferLine line;
    line.add(0, 1);
    line.add(-1, 1);
    line.add(1, -1);
    line.add(1, std::numeric_limits<double>::quiet_NaN());
    line.add(std::numeric_limits<double>::infinity(), 1);
    CHECK(line.samples() == 0);
    CHECK(line.seconds(10) == 0);
    line.add(4, 0);  // a transfer too short to be seen is a sample
    CHECK(line.samples() == 1);
    CHECK(line.seconds(4) == 0);
}

TEST_CASE("a transfer is seen by a kernel that waited for its data") {
    SECTION("from when the block was given") { CHECK(transfer_seen_s(3, 0, 2.5, 3.2) == Approx(0.2)); }
    SECTION("from when the link was done with the block before") { CHECK(transfer_seen_s(1, 2, 2.5, 3) == Approx(1)); }
    SECTION("of a first block") { CHECK(transfer_seen_s(0, 0, 0, 1e-4) == Approx(1e-4)); }
    SECTION("not where they were there when the kernel before it ended") {
        CHECK_FALSE(transfer_seen_s(1, 1, 3, 3));
        const double between_tasks_s = 90e-6;
        CHECK_FALSE(transfer_seen_s(1, 1, 3, 3 + between_tasks_s));
    }
    SECTION("but by one that had nothing to do, however short it was") { CHECK(transfer_seen_s(3, 1, 3, 3 + 1e-5)); }
}
