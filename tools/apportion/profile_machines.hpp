// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `apportion profile --app` and `--kernel`: the measurement on this machine, or on those of mpirun at once, each of
// which gets a profile of its own; with `--instance` also the links, to devices and from rank 0 to the others.
#pragma once

#include <string>
#include <vector>

#include "tools/apportion/profile_measure.hpp"

namespace apportion {

struct ProfileOptions {
    std::string app, kernel, show, forget;  ///< one of them, or
    bool list = false;
    bool json = false;
    bool square = false;
    std::string sizes, out, platform, instance;
    std::string size = "1024";
    bool size_given = false;
    int repetitions = 2;
    double balance = 0;  ///< how close times have to be; 0: sizes are given
    bool subject_given = false;
    std::vector<unsigned> processors;
    MeasureOptions measure;
};

/// Throws UserError where options contradict each other.
void check(const ProfileOptions& options);

/// Where other programs kept the machine busy before the measurement, as load_per_cpu() has it.
void warn_of_load(double load);

/// Returns the exit status, 2 on all ranks where one of mpirun's has an error, which rank 0 has told. Without mpirun
/// throws UserError and FileError.
int profile_machines(ProfileOptions options);

}  // namespace apportion
