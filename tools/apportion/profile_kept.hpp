// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The recorded profiles that programs find, and what runs learnt: where they are, and `apportion profile --list`,
// `--show` and `--forget`.
#pragma once

#include <string>

#include "policies/starpu/machine.hpp"

namespace apportion {

/// Where programs look for a recorded profile; folders that miss are made. Throws UserError where it cannot be written.
std::string default_file(const std::string& load, const Machine& machine);

/// A table of all, or a JSON array.
void list_profiles(bool json);

/// The times of all profiles of a load, or of a file. Throws UserError.
void show_profiles(const std::string& load_or_file, bool json);

/// Removes what runs learnt of a load, or all of it; recorded profiles stay. Throws UserError.
void forget_learnt(const std::string& load_or_file);

/// For forget_learnt: everything.
inline constexpr const char* kEverything = "all";

}  // namespace apportion
