// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/late_blocks.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace apportion {

void LateBlocks::add(Id late, Range range) {
    assert(!is_copy(late) && !contains(late) && range.units > 0);
    late_[late] = {{range}, {}, range.units};
    spare_ += range.units;
}

LateBlocks::Range LateBlocks::take(Id copy, Units units) {
    assert(units > 0 && spare_ > 0);
    const auto it =
        std::find_if(late_.begin(), late_.end(), [](const auto& late) { return !late.second.spare.empty(); });
    auto& [id, late] = *it;
    Range& from = late.spare.front();
    const Range taken{from.first, std::min(units, from.units)};
    from.first += taken.units;
    from.units -= taken.units;
    if (from.units == 0) late.spare.erase(late.spare.begin());
    spare_ -= taken.units;
    late.copies[copy] = taken;
    original_of_[copy] = id;
    return taken;
}

std::optional<LateBlocks::Id> LateBlocks::computed(Id copy) {
    const Id id = original_of_.at(copy);
    Late& late = late_.at(id);
    late.missing -= late.copies.at(copy).units;
    if (late.missing > 0) return std::nullopt;
    take_out(id);
    return id;
}

void LateBlocks::give_back(Id copy) {
    Late& late = late_.at(original_of_.at(copy));
    const auto range = late.copies.extract(copy).mapped();
    late.spare.push_back(range);
    spare_ += range.units;
    original_of_.erase(copy);
}

LateBlocks::Late LateBlocks::take_out(Id id) {
    Late late = std::move(late_.extract(id).mapped());
    for (const Range& range : late.spare) spare_ -= range.units;
    for (const auto& [copy, range] : late.copies) original_of_.erase(copy);
    return late;
}

std::vector<LateBlocks::Id> LateBlocks::ended(Id id) {
    std::vector<Id> copies;
    for (const auto& [copy, range] : take_out(id).copies) copies.push_back(copy);
    return copies;
}

std::vector<LateBlocks::Range> LateBlocks::release(Id id) { return take_out(id).spare; }

}  // namespace apportion
