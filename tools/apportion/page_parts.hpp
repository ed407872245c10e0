// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The files in page/, and Chart.js, as text in the program; tools/embed writes their definitions.
#pragma once

#include <string_view>

namespace apportion {

extern const std::string_view page_style, page_code, chart_licence, chart_code;

}  // namespace apportion
