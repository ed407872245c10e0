// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/engine/device_memory.hpp"

#include <algorithm>
#include <bit>

#include "test/catch.hpp"

using namespace apportion;

TEST_CASE("memory without a limit has room for all and counts nothing") {
    DeviceMemory memory;
    CHECK(memory.take(1, 1000) == 0);
    memory.goes_home(1);
    CHECK(memory.room() == kNoLimit);
    CHECK_FALSE(memory.empties());
}

TEST_CASE("blocks of a load that fits twice take powers of two, as far as there is room") {
    DeviceMemory memory(100, 50, 1);
    CHECK(memory.room() == 100);
    CHECK(memory.take(1, 20) == 32);
    CHECK(memory.room() == 68);
    CHECK(memory.take(2, 36) == 64);
    CHECK(memory.room() == 0);  // less than a quarter
    memory.ended(1);
    CHECK(memory.room() == 36);
    CHECK(memory.take(3, 33) == 36);
}

TEST_CASE("a block never takes more than the memory, though it be the whole load") {
    for (const Units units : {3, 70, 75}) {
        DeviceMemory memory(75, 37, 1);
        CHECK(memory.take(1, units) ==
              std::min<Units>(75, static_cast<Units>(std::bit_ceil(static_cast<unsigned>(units)))));
    }
}

TEST_CASE("what does not fit streams through four buffers, each taken until the results are at home") {
    DeviceMemory memory(400, 201, 1);
    for (const std::int64_t block : {1, 2, 3, 4}) {
        CHECK(memory.room() == 400 - 100 * (block - 1));
        CHECK(memory.take(block, block) == 100);
    }
    CHECK(memory.room() == 0);
    CHECK_FALSE(memory.empties());
    memory.goes_home(1);
    memory.ended(1);
    CHECK(memory.room() == 0);
    CHECK(memory.empties());
    memory.home(1);
    CHECK(memory.room() == 100);
    CHECK_FALSE(memory.empties());
    memory.ended(2);  // nothing of it goes home
    CHECK(memory.room() == 200);
}

TEST_CASE("a block that needs more than a buffer takes whole ones, and none while its results go home") {
    DeviceMemory memory(400, 1000, 1);
    CHECK(memory.take(2, 101) == 200);
    CHECK(memory.room() == 200);
    memory.ended(2);
    CHECK(memory.take(1, 350) == 400);
    CHECK(memory.room() == 0);
    memory.goes_home(1);
    CHECK(memory.room() == 0);
    memory.ended(1);
    CHECK(memory.room() == 400);  // the runtime makes room as its results leave
    memory.home(1);
    CHECK(memory.room() == 400);
}

TEST_CASE("buffers are whole granules, one at least") {
    DeviceMemory whole(119, 1000, 20);
    CHECK(whole.take(1, 20) == 20);
    CHECK(whole.room() == 99);
    DeviceMemory small(19, 1000, 20);
    CHECK(small.room() == 20);
    CHECK(small.take(1, 20) == 20);
    CHECK(small.room() == 0);
    small.goes_home(1);
    small.ended(1);
    CHECK(small.empties());
}
