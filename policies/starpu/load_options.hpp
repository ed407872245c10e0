// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The options of a load, checked: programs compiled against an older header give fewer fields.
#pragma once

#include "policies/starpu/apportion.h"

namespace apportion {

/// The options with what is missing in its default. Throws ApiError with one sentence for what makes no sense.
apportion_load_options checked_options(const apportion_load_options& given);

}  // namespace apportion
