// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/application_handles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace apportion {

namespace {

constexpr const char* kPartitioned =
    "is partitioned, and StarPU uses its pieces only; call starpu_data_unpartition before, or name the pieces";

/// Whether some memory has a value for it.
bool has_value(starpu_data_handle_t handle) {
    int allocated = 0, valid = 0, requested = 0;
    for (unsigned node = 0; node < starpu_memory_nodes_get_count() && valid == 0; ++node)
        starpu_data_query_status(handle, static_cast<int>(node), &allocated, &valid, &requested);
    return valid != 0;
}

/// From the first byte in main memory to behind the last one; none: the handle is of another kind, or is not there.
struct Extent {
    std::uintptr_t begin = 0, end = 0;
    std::size_t number = 0;  ///< in `uses`
    bool writes = false;
    bool whole = true;  ///< no other data lie between its rows
};

Extent extent_of(starpu_data_handle_t handle) {
    if (starpu_data_get_home_node(handle) != STARPU_MAIN_RAM) return {};
    void* const data = starpu_data_get_interface_on_node(handle, STARPU_MAIN_RAM);
    const auto extent = [](std::uintptr_t begin, std::size_t elements, std::size_t element_size) {
        return Extent{begin, begin + elements * element_size};
    };
    switch (starpu_data_get_interface_id(handle)) {
        case STARPU_VECTOR_INTERFACE_ID: {
            const auto& v = *static_cast<starpu_vector_interface*>(data);
            return extent(v.ptr, v.nx, v.elemsize);
        }
        case STARPU_MATRIX_INTERFACE_ID: {
            const auto& m = *static_cast<starpu_matrix_interface*>(data);
            if (m.nx == 0 || m.ny == 0) return {};
            Extent its = extent(m.ptr, std::size_t{m.ny - 1} * m.ld + m.nx, m.elemsize);
            its.whole = m.ld == m.nx;
            return its;
        }
        case STARPU_BLOCK_INTERFACE_ID: {
            const auto& b = *static_cast<starpu_block_interface*>(data);
            if (b.nx == 0 || b.ny == 0 || b.nz == 0) return {};
            Extent its =
                extent(b.ptr, std::size_t{b.nz - 1} * b.ldz + std::size_t{b.ny - 1} * b.ldy + b.nx, b.elemsize);
            its.whole = b.ldy == b.nx && b.ldz == b.nx * b.ny;
            return its;
        }
        default:
            return {};
    }
}

}  // namespace

const char* why_not_in_task(starpu_data_handle_t handle, Needs needs) {
    if (starpu_data_get_nb_children(handle) != 0) return kPartitioned;
    if (needs == Needs::nothing || has_value(handle)) return nullptr;
    if (needs == Needs::value_to_reduce)
        return "has no value, because it was registered without memory or invalidated, or because the task that writes "
               "it is still to run, and in mode STARPU_REDUX blocks add to the value from before the load; write it "
               "and wait for that before, such as zero for a sum";
    return "has no value, because it was registered without memory or invalidated, because the task that writes it "
           "is still to run, or because it is a planned piece (starpu_data_partition_plan) that StarPU is still "
           "to cut; write it before, or list it in options.uses as well, in mode STARPU_R";
}

namespace {
/// StarPU counts tasks for a moment after their callbacks have told that a load is over.
bool no_task_is_left() {
    for (int looks = 0; looks < 100 && starpu_task_nsubmitted() != 0; ++looks) starpu_sleep(1e-4F);
    return starpu_task_nsubmitted() == 0;
}
}  // namespace

const char* why_not_acquired(const apportion_use& use) {
    if (starpu_data_get_nb_children(use.handle) != 0) return kPartitioned;
    // Pieces that StarPU is still to cut, of data in memory, get their values then.
    if ((use.mode & STARPU_R) != 0 && starpu_data_get_home_node(use.handle) < 0 && !has_value(use.handle) &&
        no_task_is_left())
        return "has no value, because it was registered without memory and nobody has written it; write it before, or "
               "list it in mode STARPU_W";
    return nullptr;
}

std::string why_not_held_together(std::span<const apportion_use> uses) {
    std::vector<std::size_t> order(uses.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::ranges::stable_sort(order, {}, [&](std::size_t k) { return uses[k].handle; });
    const auto same = std::ranges::adjacent_find(order, {}, [&](std::size_t k) { return uses[k].handle; });
    if (same != order.end())
        return fmt::format(
            "options.uses[{}] and [{}] are the same handle, for which the load would wait forever; list it once, with "
            "STARPU_RW",
            same[0], same[1]);
    // Pieces of one handle may be used beside each other.
    std::vector<Extent> extents;
    for (std::size_t k = 0; k < uses.size(); ++k) {
        Extent its = extent_of(uses[k].handle);
        its.number = k;
        its.writes = (uses[k].mode & STARPU_W) != 0;
        if (its.begin != 0 && its.begin < its.end) extents.push_back(its);
    }
    std::ranges::sort(extents, [](const Extent& a, const Extent& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    const Extent* widest = nullptr;
    for (const Extent& piece : extents) {
        if (widest && piece.end <= widest->end && (piece.begin != widest->begin || piece.end != widest->end) &&
            (piece.writes || widest->writes))
            return fmt::format(
                "options.uses[{}] and [{}]: the memory of the one is a part of that of the other, for which the load "
                "would wait forever; list the larger one alone, or its pieces",
                std::min(piece.number, widest->number), std::max(piece.number, widest->number));
        if (piece.whole && (!widest || piece.end > widest->end)) widest = &piece;
    }
    return {};
}

}  // namespace apportion
