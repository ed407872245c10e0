// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The file that APPORTION_REPORT names: one line per run of a load, by any number of programs at the same time.
#pragma once

#include <string>

namespace apportion {

/// Throws ApiError when the file cannot be appended to, before a long run rather than after it. Creates none.
void check_report_file(const std::string& path);

/// Appends a line, at once. Throws ApiError when it cannot.
void append_report(const std::string& path, const std::string& json);

}  // namespace apportion
