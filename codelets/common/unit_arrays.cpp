// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/common/unit_arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace apportion {

namespace {

std::byte* address(const TaskData& d) { return static_cast<std::byte*>(d.data); }

/// From the same data of the first unit, of the second and of both; of a single unit, from itself.
UnitArray array_of(const TaskData& first, const TaskData& second, const TaskData& both) {
    UnitArray array;
    array.data = first.data;
    array.mode = first.mode & (STARPU_R | STARPU_W);
    const auto step = static_cast<std::size_t>(address(second) - address(first));
    const bool rows = first.ld > 0 && both.columns == first.columns && (step > 0 || first.rows == 1);
    if (rows) {
        array.bytes_per_unit = first.rows * first.element_size;
        array.pieces = first.columns;
        array.stride = first.columns > 1 ? first.ld * first.element_size : 0;
    } else if (step > 0) {
        array.bytes_per_unit = step;
    } else {
        array.bytes_per_unit =
            first.ld > 0 ? first.ld * first.columns * first.element_size : first.rows * first.element_size;
    }
    return array;
}

/// Parts of the same columns are one array, which begins where the first of them does.
bool joined(UnitArray& known, const UnitArray& other) {
    if (known == other) return true;
    const auto a = reinterpret_cast<std::uintptr_t>(known.data), b = reinterpret_cast<std::uintptr_t>(other.data);
    if (known.mode != other.mode || known.pieces != 1 || other.pieces != 1 ||
        known.bytes_per_unit != other.bytes_per_unit || std::max(a, b) - std::min(a, b) >= known.bytes_per_unit)
        return false;
    if (b < a) known.data = other.data;
    return true;
}

std::span<std::byte> memory_of(starpu_data_handle_t handle) {
    auto* const data = static_cast<std::byte*>(starpu_data_handle_to_pointer(handle, STARPU_MAIN_RAM));
    std::size_t bytes = starpu_data_get_size(handle);
    if (starpu_data_get_interface_id(handle) == STARPU_MATRIX_INTERFACE_ID) {
        const std::size_t ld = starpu_matrix_get_local_ld(handle), columns = starpu_matrix_get_ny(handle);
        bytes = ((columns - 1) * ld + starpu_matrix_get_nx(handle)) * starpu_matrix_get_elemsize(handle);
    }
    return {data, bytes};
}

}  // namespace

std::vector<UnitArray> unit_arrays(Workload& workload) {
    std::vector<UnitArray> arrays;
    const bool one = workload.shape().units < 2;
    for (unsigned part = 0; part < workload.shape().parts; ++part) {
        const auto first = workload.data({0, 1, part, -1}), second = workload.data({one ? 0u : 1u, 1, part, -1}),
                   both = workload.data({0, one ? 1u : 2u, part, -1});
        for (std::size_t k = 0; k < first.size(); ++k) {
            if (first[k].shared) continue;
            const UnitArray array = array_of(first[k], second[k], both[k]);
            if (array.mode != STARPU_R && array.mode != STARPU_W)
                throw std::runtime_error(
                    fmt::format("{} changes its data in place, which no several nodes can do", workload.shape().name));
            const bool known = std::ranges::any_of(arrays, [&](UnitArray& other) { return joined(other, array); });
            if (!known) arrays.push_back(array);
        }
    }
    return arrays;
}

std::vector<std::span<std::byte>> shared_memory(Workload& workload) {
    std::vector<std::span<std::byte>> all;
    for (unsigned part = 0; part < workload.shape().parts; ++part)
        for (const TaskData& d : workload.data({0, 1, part, -1}))
            if (d.shared) all.push_back(memory_of(d.shared));
    std::ranges::sort(all, {}, [](const auto& range) { return range.data(); });
    std::vector<std::span<std::byte>> disjoint;
    for (const auto& range : all) {
        if (disjoint.empty() || range.data() > disjoint.back().data() + disjoint.back().size()) {
            disjoint.push_back(range);
            continue;
        }
        auto* const begin = disjoint.back().data();
        disjoint.back() = {begin, std::max(begin + disjoint.back().size(), range.data() + range.size())};
    }
    return disjoint;
}

}  // namespace apportion
