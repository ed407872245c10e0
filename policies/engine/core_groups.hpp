// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Groups of cores that are one processor (HPOPTA's abstract processors; the work teams of MPDATA): a block of theirs is
// divided equally among them, one task each, and ends when the last of them does. So what they cost each other
// (caches, memory, clock) is in the processor's times, and a policy plans for one processor where there were many.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

/// The groups that workers form, by index. `nodes`: the memory node of each core; negative for other devices, which are
/// one each. Neighbours on one node are together, so many as `wanted`, whose numbers begin anew at each node and whose
/// last is repeated; the last group has what is left. No `wanted`: each core is one.
std::vector<std::vector<std::size_t>> core_groups(std::span<const int> nodes, std::span<const Units> wanted);

/// Of processors named alike but for a number, ascending by one: "CPU 4", "CPU 5", "CPU 6" -> "CPU 4-6". Otherwise all
/// names, joined by '+'.
std::string group_name(std::span<const std::string> names);

/// The range in `parts` that differ by at most one granule, in order, empty ones left out. The last has what is no
/// whole granule.
std::vector<UnitRange> equal_parts(UnitRange range, Units granularity, Units parts);

}  // namespace apportion
