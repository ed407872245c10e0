// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where a workload's data lie, unit by unit, and which memory all units share: found out from what the workload says of
// the data of its first units. Several nodes need it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "codelets/common/codelet.hpp"

namespace apportion {

/// The data of units first ... first + n - 1 are `pieces` ranges of n * bytes_per_unit bytes, the first at data + first
/// * bytes_per_unit, each next one `stride` bytes further.
struct UnitArray {
    void* data = nullptr;
    std::size_t bytes_per_unit = 0;
    std::size_t pieces = 1;
    std::size_t stride = 0;
    int mode = 0;  ///< STARPU_R or STARPU_W

    bool operator==(const UnitArray&) const = default;
};

/// Columns that a workload cuts into parts are one array. Throws std::runtime_error when a unit's data are changed in
/// place.
std::vector<UnitArray> unit_arrays(Workload& workload);

/// The memory of handles that all blocks read, in ascending order, disjoint.
std::vector<std::span<std::byte>> shared_memory(Workload& workload);

}  // namespace apportion
