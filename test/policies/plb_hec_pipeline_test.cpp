// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/plb_hec/plb_hec_pipeline.hpp"

#include "test/catch.hpp"

using namespace apportion;

TEST_CASE("a block that is late is planned to be so for as long again") {
    const TransferLine none;
    const PipelineTime time(1, 1, none, none, {.name = "core"});
    const BlockInFlight block{.units = 9, .given_s = 2};
    CHECK(time.with(block, {0, 0}, 5).end_s == 12);
    CHECK(time.with(block, {0, 4}, 5).end_s == 14);
    CHECK(time.with(block, {0, 0}, 12).end_s == 12);
    CHECK(time.with(block, {0, 0}, 15).end_s == 18);
}

TEST_CASE("data follow those of the blocks before, however long ago they were asked for") {
    const TransferLine link(0, 1);
    const PipelineTime time(1, 0, link, link, {.name = "device", .own_memory = true});
    const BlockInFlight next{.units = 10, .given_s = 2}, begun{.units = 10, .given_s = 2, .begun_s = 7};
    CHECK(time.start_of(next, {.link_s = 9, .end_s = 12}) == 19);
    CHECK(time.start_of(next, {.link_s = 1, .end_s = 5}) == 12);
    CHECK(time.start_of(next, {.link_s = 1, .end_s = 15}) == 15);
    CHECK(time.start_of(begun, {.link_s = 9, .end_s = 12}) == 7);
    const PipelineTime::Free first = time.with(next, {.link_s = 9, .end_s = 12}, 12);
    CHECK(first.link_s == 19);
    CHECK(first.end_s == 20);
    CHECK(time.with(next, first, 12).end_s == 30);
}

TEST_CASE("before the next of blocks that fill more than half of a memory come, results leave") {
    const TransferLine link(0, 1);
    const auto device = [&](Units memory) {
        return PipelineTime(1000, 1, link, link, {.name = "device", .own_memory = true, .memory_units = memory});
    };
    CHECK(device(200).seconds(200) == Approx(200 + 1200 + 200));
    CHECK(device(100).blocks(200).count == 2);
    CHECK(device(100).seconds(200) == Approx(2 * (100 + 1100 + 100)));
    CHECK(device(100).derivative(200) == Approx(3));
}
