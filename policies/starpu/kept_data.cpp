// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/kept_data.hpp"

#include <algorithm>
#include <iterator>

namespace apportion {

namespace {

/// The first of disjoint ranges (first unit -> something with `units`) that ends behind `first`.
template <class Ranges>
auto first_overlapping(Ranges& ranges, Units first) {
    auto it = ranges.lower_bound(first);
    if (it != ranges.begin() && std::prev(it)->first + std::prev(it)->second.units > first) --it;
    return it;
}

}  // namespace

std::optional<BlockData> KeptData::take(Units first, Units units, std::vector<Departure>& departures) {
    std::optional<BlockData> same;
    for (auto it = first_overlapping(kept_, first); it != kept_.end() && it->first < first + units;) {
        if (it->first == first && it->second.units == units)
            same = std::move(it->second);
        else
            evacuate(it->second, departures);
        it = kept_.erase(it);
    }
    return same;
}

void KeptData::evacuate(const BlockData& data, std::vector<Departure>& departures) {
    Evacuation evacuation{data.units, 0, {}};
    for (const BlockHandle& h : data.handles) {
        retired_.push_back(h.handle);
        if (!h.written) continue;
        ++evacuation.on_the_way;
        departures.push_back({h.handle, data.first});
    }
    if (evacuation.on_the_way > 0) evacuations_.emplace(data.first, std::move(evacuation));
}

unsigned KeptData::wait_for_home(std::int64_t block, Units first, Units units) {
    unsigned count = 0;
    for (auto it = first_overlapping(evacuations_, first); it != evacuations_.end() && it->first < first + units;
         ++it) {
        it->second.waiting.push_back(block);
        ++count;
    }
    return count;
}

std::vector<std::int64_t> KeptData::arrived(Units evacuation) {
    const auto it = evacuations_.find(evacuation);
    if (--it->second.on_the_way > 0) return {};
    return evacuations_.extract(it).mapped().waiting;
}

void KeptData::keep(BlockData data) {
    const auto stays = std::partition(data.handles.begin(), data.handles.end(), [](const auto& h) { return h.keep; });
    for (auto it = stays; it != data.handles.end(); ++it) retired_.push_back(it->handle);
    data.handles.erase(stays, data.handles.end());
    if (!data.handles.empty()) kept_[data.first] = std::move(data);
}

void KeptData::retire(const BlockData& data) {
    for (const BlockHandle& h : data.handles) retired_.push_back(h.handle);
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
