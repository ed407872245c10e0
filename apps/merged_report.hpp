// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The report of an application whose work is several loads, one after the other, such as the passes of fft2d.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace apportion {

/// One report for loads that ran one after the other.
nlohmann::ordered_json merged_report(const std::vector<nlohmann::ordered_json>& reports);

}  // namespace apportion
