// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/engine/device_memory.hpp"

#include "test/catch.hpp"

using namespace apportion;

TEST_CASE("memory without a limit has room for all and counts nothing") {
    DeviceMemory memory;
    CHECK(memory.take(1, 1000) == 0);
    memory.goes_home(1);
    CHECK(memory.room() == kNoLimit);
    CHECK_FALSE(memory.empties());
}

TEST_CASE("blocks of a load that fits twice take powers of two") {
    DeviceMemory memory(100, 50);
    CHECK(memory.room() == 100);
    CHECK(memory.take(1, 20) == 32);
    CHECK(memory.take(2, 33) == 64);
    CHECK(memory.room() == 4);
    memory.ended(1);
    CHECK(memory.room() == 36);
}

TEST_CASE("what does not fit streams through four buffers, each taken until the results are at home") {
    DeviceMemory memory(400, 201);
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

TEST_CASE("less than a buffer is no room, but for a block that needs more than one") {
    DeviceMemory memory(400, 1000);
    CHECK(memory.take(1, 350) == 350);
    CHECK(memory.room() == 0);
    memory.goes_home(1);
    CHECK(memory.room() == 0);
    memory.ended(1);
    CHECK(memory.room() == 400);  // the runtime makes room as its results leave
    memory.home(1);
    CHECK(memory.room() == 400);
}
