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

std::optional<BlockData> KeptData::take(const BlockData& block, std::vector<Departure>& departures) {
    const Units first = block.first, units = block.units;
    std::optional<BlockData> same;
    const auto units_of = [](const BlockData& data) { return data.units; };
    for (auto it = first_overlapping(kept_, first, units_of); it != kept_.end() && it->first < first + units;) {
        if (it->first == first && it->second.units == units && it->second.lanes == block.lanes)
            same = std::move(it->second);
        else
            evacuate(std::move(it->second), departures);
        it = kept_.erase(it);
    }
    return same;
}

void KeptData::evacuate(BlockData data, std::vector<Departure>& departures) {
    const auto before = departures.size();
    for (const BlockHandle& h : data.handles)
        if (h.written) departures.push_back({h.handle, data.first});
    const auto on_the_way = static_cast<unsigned>(departures.size() - before);
    const Units first = data.first;
    if (on_the_way > 0)
        evacuations_.emplace(first, Evacuation{std::move(data), on_the_way});
    else
        retire(data);
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
    return evacuations_.extract(it).mapped().waiting;
}

bool KeptData::leaves(unsigned node) const {
    return std::ranges::any_of(evacuations_, [node](const auto& its) { return its.second.data.node == node; });
}

void KeptData::keep(BlockData data) {
    const auto stays = std::partition(data.handles.begin(), data.handles.end(), [](const auto& h) { return h.keep; });
    data.bytes_gone = 0;
    for (auto it = stays; it != data.handles.end(); ++it) {
        retire(*it, data.own_memory);
        data.bytes_gone += static_cast<double>(it->shape.bytes());
    }
    data.handles.erase(stays, data.handles.end());
    if (!data.handles.empty()) kept_[data.first] = std::move(data);
}

void KeptData::keep_earlier(BlockData data) {
    for (BlockHandle& h : data.handles) h.keep = h.earlier();
    keep(std::move(data));
}

void KeptData::retire(const BlockData& data) {
    for (const BlockHandle& h : data.handles) retire(h, data.own_memory);
}

/// A device's buffers are for other blocks from now on, and not only when the run has ended.
void KeptData::retire(const BlockHandle& data, bool own_memory) {
    retired_.push_back(data.handle);
    if (own_memory) starpu_data_invalidate_submit(data.handle);
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
}

}  // namespace apportion
