// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/kept_data.hpp"

#include <algorithm>
#include <iterator>

namespace apportion {

namespace {

/// The first of disjoint ranges (by first unit) that ends behind `first`; units(range).
template <class Ranges, class UnitsOf>
auto first_overlapping(Ranges& ranges, Units first, UnitsOf&& units) {
    auto it = ranges.lower_bound(first);
    if (it != ranges.begin() && std::prev(it)->first + units(std::prev(it)->second) > first) --it;
    return it;
}

}  // namespace

std::optional<BlockData> KeptData::take(const BlockData& block, const Depart& depart) {
    const Units first = block.first, units = block.units;
    std::optional<BlockData> same;
    const auto units_of = [](const BlockData& data) { return data.units; };
    for (auto it = first_overlapping(kept_, first, units_of); it != kept_.end() && it->first < first + units;) {
        if (it->first == first && it->second.units == units && it->second.lanes == block.lanes)
            same = std::move(it->second);
        else
            evacuate(it->second, depart);
        it = kept_.erase(it);
    }
    return same;
}

/// If it throws, the data stay kept; transfers already started are harmless.
void KeptData::evacuate(BlockData& data, const Depart& depart) {
    const auto its = evacuations_.try_emplace(data.first).first;
    const auto none_departed = [&] { return its->second.on_the_way == 0; };
    try {
        for (const BlockHandle& h : data.handles)
            if (h.written) {
                depart(h.handle, data.first);
                ++its->second.on_the_way;
            }
    } catch (...) {
        if (none_departed()) evacuations_.erase(its);
        throw;
    }
    if (none_departed()) {
        retire(data);
        evacuations_.erase(its);
    } else {
        its->second.data = std::move(data);
    }
}

unsigned KeptData::wait_for_home(std::int64_t block, Units first, Units units) {
    unsigned count = 0;
    const auto units_of = [](const Evacuation& evacuation) { return evacuation.data.units; };
    for (auto it = first_overlapping(evacuations_, first, units_of);
         it != evacuations_.end() && it->first < first + units; ++it) {
        it->second.waiting.push_back(block);
        ++count;
    }
    return count;
}

std::vector<std::int64_t> KeptData::arrived(Units evacuation) {
    const auto it = evacuations_.find(evacuation);
    if (--it->second.on_the_way > 0) return {};
    retire(it->second.data);
    std::vector<std::int64_t> waiting = std::move(it->second.waiting);
    evacuations_.erase(it);
    return waiting;
}

bool KeptData::leaves(unsigned node) const {
    return std::ranges::any_of(evacuations_, [node](const auto& its) { return its.second.data.node == node; });
}

void KeptData::keep(BlockData&& data) {
    BlockData* const stays = std::ranges::any_of(data.handles, &BlockHandle::keep) ? &kept_[data.first] : nullptr;
    data.bytes_gone = 0;
    for (auto it = data.handles.begin(); it != data.handles.end();) {
        const auto handle = it++;
        if (handle->keep) continue;
        data.bytes_gone += static_cast<double>(handle->shape.bytes());
        retire(data, handle);
    }
    if (stays) *stays = std::move(data);
}

void KeptData::keep_earlier(BlockData&& data) {
    for (BlockHandle& h : data.handles) h.keep = h.earlier();
    keep(std::move(data));
}

std::list<BlockHandle> KeptData::take_retired(std::size_t most) {
    std::list<BlockHandle> taken;
    const auto end = std::next(retired_.begin(), static_cast<std::ptrdiff_t>(std::min(most, retired_.size())));
    taken.splice(taken.end(), retired_, retired_.begin(), end);
    return taken;
}

void KeptData::retire(BlockData& data) {
    while (!data.handles.empty()) retire(data, data.handles.begin());
}

/// A device's buffers are for other blocks from now on, and not only when the run has ended.
void KeptData::retire(BlockData& data, std::list<BlockHandle>::iterator handle) {
    if (data.own_memory) starpu_data_invalidate_submit(handle->handle);
    handle->buffer.reset();
    handle->copy = nullptr;
    retired_.splice(retired_.end(), data.handles, handle);
}

double KeptData::part() const {
    double kept = 0, gone = 0;
    for (const auto& [first, data] : kept_) {
        for (const BlockHandle& h : data.handles) kept += static_cast<double>(h.shape.bytes());
        gone += data.bytes_gone;
    }
    return kept > 0 ? kept / (kept + gone) : 0;
}

void KeptData::release() {
    for (auto& [first, data] : kept_)
        for (const BlockHandle& h : data.handles) {
            if (h.written)
                starpu_data_unregister(h.handle);
            else
                starpu_data_unregister_no_coherency(h.handle);
        }
    kept_.clear();
    buffers_.clear();  // shapes may change
}

}  // namespace apportion
