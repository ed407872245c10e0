// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What `apportion profile` is made of besides the measurement (profile_measure.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codelets/io/progress.hpp"
#include "codelets/simulated/platform.hpp"
#include "models/profile_file.hpp"
#include "models/samples.hpp"
#include "policies/policy.hpp"
#include "policies/starpu/machine.hpp"
#include "tools/apportion/machine_load.hpp"
#include "tools/apportion/profile_measure.hpp"
#include "tools/apportion/program_runner.hpp"
#include "tools/apportion/run_report.hpp"

namespace apportion {

// A bundled application on this machine's StarPU workers as a subject of `apportion profile`: what is timed is the
// kernel of a block, as StarPU times it. Runs StarPU from its construction to its destruction, under a scheduler that
// decides nothing, because every block goes to a chosen worker.

/// The application of that name with a problem of that size on StarPU's workers with these numbers (all that can run
/// it where none are given). Throws UserError: no such application or worker, StarPU does not start, no memory.
std::unique_ptr<ProfileSubject> workload_subject(const std::string& app, const std::vector<std::int64_t>& size,
                                                 const std::vector<unsigned>& processors);

/// What transfers of so many bytes take (Transfers in profile_measure.hpp). StarPU has to run. Throws UserError.
std::vector<std::vector<double>> journeys_s(std::span<const unsigned> memories, std::size_t bytes_in,
                                            std::size_t bytes_out, int times);

/// "matmul, ...": the bundled applications.
std::string workload_names();

// The profile of a simulated platform, from its time functions: what `apportion profile` would measure there if it
// measured long enough. Noise is drawn as the platform has it and averaged like a measurement; drift and loss, which
// begin at a moment of a run, are left out. The application runs once, to tell its processors' names and its units.

struct PlatformProfile {
    std::string load;  ///< the name under which programs look for it
    Machine machine;
    Profile profile;
};

/// Throws UserError where the platform of that `name` does not describe the kernel.
void require_kernel(const simulated::Platform& platform, const std::string& name, const std::string& kernel);

/// What is run: the application's kernel, its --size, and what that means.
struct Kernel {
    std::string app, size;
    simulated::KernelSize measures;
};

/// Of the processors that `report` tells of: a run of one load on `platform`, which profiles call `machine`. `sizes`:
/// units to record, ascending; empty: about 500 from one granule to the whole load, dense enough to interpolate. Sizes
/// that exceed a device's memory are left out of its times. Throws UserError.
PlatformProfile true_times(const Kernel& kernel, const simulated::Platform& platform, const Machine& machine,
                           const RunReport& report, const std::vector<Units>& sizes, const SampleOptions& options);

/// The true times of each node of a cluster, into files in `folder` where the nodes' ranks look for them. `report`: of
/// one load, from a run on the cluster. Returns why there are none, a sentence's part, where the report does not tell
/// of all nodes; or nothing. Throws UserError.
std::string save_cluster_profiles(const Kernel& kernel, const simulated::Platform& cluster, const RunReport& report,
                                  const std::filesystem::path& folder);

/// Those of a run that is made for them. `size`: the application's --size; `sizes` as above. Throws UserError.
PlatformProfile platform_profile(const std::string& app, const std::string& size, const std::string& platform,
                                 const std::vector<Units>& sizes, const SampleOptions& samples);

/// Times of x x x problems instead, as HPOPTA's paper profiles its processors: a share of x units is x of the units
/// that a problem of size x has. One processor per device of the platform that has times of the kernel; those of one
/// name are numbered. `sizes` as above but given. What does not fit a memory is left to the platform's times. Throws
/// UserError.
Profile square_profile(const std::string& app, const std::string& platform, const std::vector<Units>& sizes);

// Profiles of a program's loads from runs of the program itself: what its blocks took, under policies that give every
// processor blocks of many sizes, from probes to a whole share.

/// Their note "kernel".
inline constexpr const char* kLearntFromRuns = "learnt from runs";

struct LoadProfile {
    std::string load;  ///< the name under which the program looks for it
    Profile profile;
    std::string problem;  ///< why it cannot be planned from; empty: it can
};

/// One for each load that runs under the policies of Apportion report, after `repetitions` runs under each of three.
/// Throws what a run throws, and UserError after the first one where there are several for the one file `out`, if any.
std::vector<LoadProfile> learn_profiles(const ProgramRunner& runner, int repetitions, ProgressLine& progress,
                                        const std::string& out = "");

// The recorded profiles that programs find, and what runs learnt: where they are, and `apportion profile --list`,
// `--show` and `--forget`.

/// Where programs look for a recorded profile; folders that miss are made. Throws UserError where it cannot be written.
std::string default_file(const std::string& load, const Machine& machine);

/// A table of all, or a JSON array.
void list_profiles(bool json);

/// The times of all profiles of a load, or of a file. Throws UserError.
void show_profiles(const std::string& load_or_file, bool json);

/// Removes what runs learnt of a load, or all of it ("all"); recorded profiles stay. Throws UserError.
void forget_learnt(const std::string& load_or_file);

// `apportion profile --app`: the measurement on this machine.

struct ProfileOptions {
    std::string app, show, forget;  ///< one of them, or
    bool list = false;
    bool json = false;
    bool square = false;
    std::string sizes, out, platform;
    std::string size = "1024";
    bool size_given = false;
    int repetitions = 2;
    bool subject_given = false;
    std::vector<unsigned> processors;
    MeasureOptions measure;
};

/// Throws UserError where options contradict each other.
void check(const ProfileOptions& options);

/// Where other programs kept the machine busy meanwhile.
void warn_of_load(const MachineLoad& load);

/// Returns the exit status. Throws UserError and FileError.
int profile_here(ProfileOptions options);

}  // namespace apportion
