// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/written_memory.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace apportion {

namespace {

/// Rows as long as possible: planes without gaps between their rows, and rows without gaps, are one.
struct Rows {
    std::size_t bytes, count, stride;

    explicit Rows(const DataShape& s) : bytes(s.nx * s.element_size), count(s.ny), stride(s.ldy * s.element_size) {
        if (s.nz > 1 && bytes == stride) bytes *= s.ny, count = s.nz, stride = s.ldz * s.element_size;
        if (bytes == stride || count == 1) bytes *= count, count = 1, stride = 0;
    }
};

/// Planes with gaps in them and between them are no rows that are equally far apart.
bool are_rows(const DataShape& s) { return s.nz == 1 || s.nx == s.ldy; }

}  // namespace

/// Of rows with different gaps nothing is told.
bool WrittenMemory::Region::overlaps(const Region& other) const {
    const Region &low = data <= other.data ? *this : other, &high = data <= other.data ? other : *this;
    const auto apart = static_cast<std::size_t>(high.data - low.data);
    if (apart >= low.shape.extent() || high.shape.bytes() == 0) return false;
    if (!are_rows(low.shape) || !are_rows(high.shape)) return false;
    const Rows its(low.shape), others(high.shape);
    if (its.count == 1) return true;
    const std::size_t stride = its.stride;
    if (others.count > 1 && others.stride != stride) return false;
    // Where the other one begins, and whether its row goes on in the next one.
    const std::size_t row = apart / stride, column = apart % stride;
    return (row < its.count && column < its.bytes) || (row + 1 < its.count && column + others.bytes > stride);
}

bool WrittenMemory::overlap(const Written& one, const Written& other) {
    return std::ranges::any_of(one.regions, [&](const Region& region) {
        return std::ranges::any_of(other.regions, [&](const Region& its) { return region.overlaps(its); });
    });
}

std::optional<UnitRange> WrittenMemory::add(const Block& block, const BlockData& its) {
    Written written{block.units, its.own_memory ? -1 : block.processor, {}};
    for (const BlockHandle& h : its.handles)
        if (h.written && h.data) written.regions.push_back({static_cast<const std::byte*>(h.data), h.shape});
    if (written.regions.empty()) return std::nullopt;
    const Units end = block.first + block.units;
    const auto from = blocks_.lower_bound(block.first), to = blocks_.lower_bound(end);
    std::optional<UnitRange> found;
    const auto compare = [&](const Blocks::value_type& other) {
        const auto& [first, beside] = other;
        const bool together = written.processor < 0 || written.processor != beside.processor;
        if (together && (first >= end || first + beside.units <= block.first) && overlap(written, beside))
            found = {first, beside.units};
    };
    if (from != blocks_.begin()) compare(*std::prev(from));
    if (to != blocks_.end()) compare(*to);
    blocks_.erase(from, to);
    blocks_.emplace(block.first, std::move(written));
    return found;
}

}  // namespace apportion
