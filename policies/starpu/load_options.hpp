// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The options of a load, checked: programs compiled with an older header have fewer fields.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "policies/policy.hpp"
#include "policies/starpu/apportion.h"

namespace apportion {

/// Why no structure of an apportion.h has this size, or empty. Larger ones may be of a later version.
std::string why_no_size(std::size_t size);

/// The options, with defaults for the fields that the program's header lacks. Throws ApiError for invalid ones. `given`
/// is a pointer because the structure may be shorter than its type here.
apportion_load_options checked_options(const apportion_load_options* given);

/// At least 1; a load with fewer units is one block.
inline Units granularity_of(const apportion_load_options& options) {
    return static_cast<Units>(std::max<std::uint64_t>(1, std::min(options.granularity, options.units)));
}

}  // namespace apportion
