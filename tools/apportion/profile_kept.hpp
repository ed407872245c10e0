// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `apportion profile --list`, `--show` and `--forget`: the recorded profiles that programs find, and what runs learnt.
#pragma once

#include <string>

namespace apportion {

/// A table of all, or a JSON array.
void list_profiles(bool json);

/// The times of all profiles of a load, or of a file. Throws UserError.
void show_profiles(const std::string& load_or_file, bool json);

/// Removes what runs learnt of a load, or all of it; recorded profiles stay. Throws UserError.
void forget_learnt(const std::string& load_or_file);

/// For forget_learnt: everything.
inline constexpr const char* kEverything = "all";

}  // namespace apportion
