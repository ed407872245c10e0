// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A small platform as text, written to files that tests read back, and what is said of a wrong one.
#pragma once

#include <string>

#include "codelets/simulated/platform_file.hpp"
#include "test/catch.hpp"
#include "test/folder.hpp"

namespace apportion::simulated::test {

using apportion::Folder;

/// The message without the folder's path.
inline std::string complaint(const std::string& file) {
    const std::string text = thrown<UserError>([&] { load_platform(file); });
    return text.empty() ? "none" : text.substr(text.rfind('/', text.find(':')) + 1);
}

inline const std::string kGood = R"([kernel.k]
work = { factor = 2, n = 1 }
[[link]]
name = "bus"
bytes_per_s = 1e9
[[device]]
name = "gpu"
kind = "cuda"
link = "bus"
memory_bytes = 1e9
[device.kernel.k]
rate = 1e9
)";

inline std::string replaced(std::string text, const std::string& what, const std::string& by) {
    const auto at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), by);
}

}  // namespace apportion::simulated::test
