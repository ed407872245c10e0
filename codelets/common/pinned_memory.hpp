// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Main memory that CUDA devices know, so that they copy from and to it at the full speed of the bus and while the
// worker does something else.
#pragma once

#include <cstddef>

namespace apportion {

/// Pins the memory where StarPU, which must run, has CUDA workers. Returns whether it is pinned; then
/// unpin_memory() is due while StarPU still runs. The first time that it cannot be, one sentence on standard error says
/// so: results are right, but transfers slow.
bool pin_memory(void* data, std::size_t bytes);
void unpin_memory(void* data, std::size_t bytes);

}  // namespace apportion
