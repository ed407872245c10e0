// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tasks of codelets that could not be computed, whether they are blocks of a load or of run_on_workers().
#pragma once

#include <string>

namespace apportion {

/// In a codelet's function, on the worker's thread: apportion_block_failed; for a task that is no block of a load, kept
/// for take_failure().
void fail_block(const char* why) noexcept;

/// Why the first such task since the last call failed; empty: none did.
std::string take_failure();

}  // namespace apportion
