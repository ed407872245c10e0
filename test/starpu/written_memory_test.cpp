// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/written_memory.hpp"

#include <array>
#include <cstddef>

#include "test/catch.hpp"

using namespace apportion;
using Interface = DataShape::Interface;

namespace {

std::array<std::byte, 1000> memory;

Block units(Units first, Units count, int processor) {
    Block block;
    block.processor = processor;
    block.first = first;
    block.units = count;
    return block;
}

bool beside(std::size_t first, const DataShape& one, std::size_t second, const DataShape& other) {
    WrittenMemory written;
    const auto block = [](std::size_t at, const DataShape& shape) {
        BlockData data;
        data.handles.emplace_back();
        data.handles.back().data = &memory[at];
        data.handles.back().shape = shape;
        data.handles.back().written = true;
        return data;
    };
    REQUIRE_FALSE(written.add(units(0, 10, 0), block(first, one)));
    return written.add(units(10, 5, 1), block(second, other)).has_value();
}

bool both_ways(std::size_t first, const DataShape& one, std::size_t second, const DataShape& other) {
    const bool overlap = beside(first, one, second, other);
    CHECK(beside(second, other, first, one) == overlap);
    return overlap;
}

DataShape vector_of(std::size_t n) { return {Interface::vector, n, 1, 1, n, 0, 1}; }
DataShape rows(std::size_t n, std::size_t count, std::size_t ld) { return {Interface::matrix, n, count, 1, ld, 0, 1}; }

}  // namespace

TEST_CASE("memory that two blocks write is found, byte for byte") {
    CHECK_FALSE(both_ways(0, vector_of(10), 10, vector_of(10)));
    CHECK(both_ways(0, vector_of(11), 10, vector_of(10)));
    CHECK_FALSE(both_ways(0, vector_of(10), 5, vector_of(0)));
    // Columns of one matrix: beside each other, one too many, from the second row on, and around the end of a row.
    CHECK_FALSE(both_ways(0, rows(4, 3, 10), 4, rows(6, 3, 10)));
    CHECK(both_ways(0, rows(5, 3, 10), 4, rows(6, 3, 10)));
    CHECK_FALSE(both_ways(0, rows(4, 3, 10), 14, rows(6, 3, 10)));
    CHECK(both_ways(0, rows(4, 3, 10), 18, rows(3, 3, 10)));
    CHECK_FALSE(both_ways(0, rows(4, 3, 10), 28, rows(3, 3, 10)));
    CHECK_FALSE(both_ways(0, rows(4, 3, 10), 4, vector_of(6)));
    CHECK(both_ways(0, rows(4, 3, 10), 4, vector_of(7)));
    CHECK(both_ways(0, vector_of(15), 14, rows(2, 3, 10)));
    // Planes of rows without gaps are such rows. Of other gaps nothing is told.
    const DataShape planes{Interface::volume, 2, 2, 3, 2, 10, 1};
    CHECK_FALSE(both_ways(0, planes, 4, planes));
    CHECK(both_ways(0, planes, 3, planes));
    CHECK_FALSE(both_ways(0, rows(5, 3, 10), 4, rows(5, 3, 11)));
}

TEST_CASE("only neighbours that are others' units and are written are compared") {
    WrittenMemory written;
    int processor = 0;
    BlockData data;
    data.handles.emplace_back();
    data.handles.back().data = memory.data();
    data.handles.back().shape = vector_of(10);
    CHECK_FALSE(written.add(units(10, 5, processor++), data));  // it only reads
    data.handles.back().written = true;
    CHECK_FALSE(written.add(units(0, 10, processor++), data));
    CHECK_FALSE(written.add(units(0, 10, processor++), data));  // again
    CHECK_FALSE(written.add(units(0, 5, processor++), data));   // a piece of it
    const auto other = written.add(units(5, 5, processor++), data);
    REQUIRE(other);
    CHECK(other->first == 0);
    CHECK(other->units == 5);
}

TEST_CASE("blocks that a processor runs one after the other may write the same memory, but not a device's") {
    for (const bool own_memory : {false, true}) {
        WrittenMemory written;
        BlockData data;
        data.own_memory = own_memory;
        data.handles.emplace_back();
        data.handles.back().data = memory.data();
        data.handles.back().shape = vector_of(10);
        data.handles.back().written = true;
        CHECK_FALSE(written.add(units(0, 10, 1), data));
        CHECK(written.add(units(10, 5, 1), data).has_value() == own_memory);
        CHECK(written.add(units(15, 5, 2), data).has_value());
    }
}
