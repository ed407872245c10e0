// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where and with what something was measured.
#pragma once

#include <nlohmann/json.hpp>

namespace apportion {

/// date, host, processor, versions, and the environment variables that change what programs do.
nlohmann::ordered_json provenance_json();

}  // namespace apportion
