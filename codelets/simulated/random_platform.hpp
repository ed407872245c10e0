// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Machines that nothing was tuned for: platform files drawn by chance, with every kernel of the applications. What may
// come out stands in the tables of random_platform.cpp.
#pragma once

#include <cstdint>
#include <string>

namespace apportion::simulated {

/// A platform file (platform_file.hpp) that needs no other file. The same text for the same seed, whatever the compiler
/// and the machine. Its second line names the class: "# Class server: ...". Throws UserError where the bundled
/// platforms, from which it has what kernels ask of a machine, are missing.
std::string random_platform(std::uint64_t seed);

}  // namespace apportion::simulated
