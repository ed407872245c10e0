// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A user's own kernel in a shared library (tools/apportion/apportion_kernel.h) as a subject of `apportion profile`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/apportion/profile_subject.hpp"

namespace apportion {

/// Loads the library and sets the kernel up for problems of that size on those of its processors (all of them where
/// none are given), each in a thread of its own. Throws UserError: no library, no kernel in it, another version, no
/// such processor, or a kernel that fails.
std::unique_ptr<ProfileSubject> library_subject(const std::string& path, std::uint64_t size,
                                                const std::vector<unsigned>& processors);

}  // namespace apportion
