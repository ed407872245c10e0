// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where recorded profiles are kept, and which one a load plans from. A profile of a load lies in
//
//     FOLDER/MACHINE/LOAD.csv       e.g. ~/.local/share/apportion/profiles/node7/matmul-4096.csv
//
// FOLDER is what APPORTION_PROFILES names, by default the user's; it may name a file instead, which is then taken for
// every load. The notes of the file say what it was recorded for, and a profile of another machine or another load is
// not taken. What runs learn lies beside it: learnt_store.hpp.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "policies/policy.hpp"
#include "policies/starpu/machine.hpp"

namespace apportion {

/// The keys of the notes that identify a profile.
inline constexpr const char* kLoadNote = "load";
inline constexpr const char* kMachineNote = "machine";
inline constexpr const char* kDataNote = "data";  ///< of what was learnt: bytes of a unit, and shared ones

/// A load that looks for its profile.
struct ProfileRequest {
    std::string load;     ///< apportion_load_options.profile
    std::string command;  ///< that records it, or empty
    Units units = 0;
    Units granularity = 1;
    std::vector<Processor> processors;
    bool learns = true;  ///< what runs learn serves it as well
};

/// FOLDER/learnt; of the user's folder where APPORTION_PROFILES names a file. Throws FileError, see data_folder().
std::filesystem::path learnt_folder();

/// FOLDER. Throws FileError.
std::filesystem::path profiles_folder();

/// A text as a part of the name of a file: valid UTF-8, as reports tell it; a long one cut, with its checksum.
std::string file_name(std::string_view text);

/// The file of that load's profile on that machine, whether it exists or not. Throws FileError, see data_folder().
std::filesystem::path profile_file(const std::string& load, const Machine& machine);

/// Reads the profile. Processors are recognised by their names; one that is missing takes the times of one of its kind.
/// Never throws for a file: RecordedTimes::problem says what is wrong and what to do.
RecordedTimes find_recorded_times(const ProfileRequest& request, const Machine& machine);

}  // namespace apportion
