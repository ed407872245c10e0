// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How profiles are measured, without running StarPU: subjects, the measurement itself and its file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/profile_file.hpp"
#include "models/samples.hpp"
#include "models/transfer.hpp"
#include "policies/policy.hpp"

namespace apportion {

// What `apportion profile` measures: a kernel on a set of processors that can run different numbers of units at the
// same time. The bundled workloads are subjects; tests use one without a clock.

/// Which data a unit has, and over which links they go to the processors.
struct Transfers {
    std::size_t bytes_in = 0, bytes_out = 0;  ///< of a unit
    std::vector<unsigned> memories;           ///< of each processor the number of its memory; 0: main memory
    /// So many times, seconds of each of the memories, to all of which so many bytes go at once, while so many come
    /// from each.
    std::function<std::vector<std::vector<double>>(std::span<const unsigned> memories, std::size_t bytes_in,
                                                   std::size_t bytes_out, int times)>
        journeys_s;
};

class ProfileSubject {
  public:
    virtual ~ProfileSubject() = default;

    const std::string& kernel() const { return kernel_; }
    const std::string& load() const { return load_; }  ///< the name under which programs look for its profile
    std::span<const std::string> processors() const { return processors_; }  ///< those to be measured
    Units most_units() const { return most_units_; }                         ///< that one run can have altogether
    Units granularity() const { return granularity_; }

    /// Runs units[i] units (0: none) on processor i, all beginning at the same time, and returns each one's seconds
    /// (0 where none). The sum is at most most_units(). Throws an exception for a kernel that fails.
    virtual std::vector<double> run(std::span<const Units> units) = 0;

    /// Nothing where that is not known; its functions must not outlive the subject.
    virtual std::optional<Transfers> transfers() { return {}; }

  protected:
    std::string kernel_, load_;
    std::vector<std::string> processors_;
    Units most_units_ = kNoLimit;
    Units granularity_ = 1;
};

// The measurement of a profile: every size on every processor, repeated until its mean is precise (models/samples.hpp).
// Processors are measured together, because in a load they will share caches, memory and power: each repetition starts
// the same number of units on all of them (Khaleghzadeh et al., HPOPTA, section 1; FuPerMod, section 4). Where so many
// units exceed the problem, one processor at a time has that share and the others divide the rest, as a distribution of
// the problem would have it. A processor whose mean is precise goes on running until the others' are. In each
// repetition a fast processor is done before a slow one, which then runs undisturbed: as in a load that is not
// balanced.

struct MeasureOptions {
    SampleOptions samples;
    double warm_up_s = 0.3;  ///< measured time to spend before the first point: clocks rise, libraries set up
};

/// One finished point.
struct MeasuredPoint {
    std::size_t processor = 0;
    ProfilePoint point;
    bool precise = false;
};

/// How the measurement follows and is followed. Any may be empty.
struct MeasureWatcher {
    std::function<bool(std::size_t processor, Units units)> known;  ///< measured before: skipped
    std::function<void(const MeasuredPoint&)> finished;             ///< of one size in the processors' order
    std::function<void(Units units)> repeated;                      ///< after every repetition
    std::function<bool()> stop;                                     ///< asked between repetitions
};

/// Measures; false when it was stopped. Points under way are lost then, finished ones were reported. Throws UserError
/// for sizes that the subject cannot have.
bool measure_profile(ProfileSubject& subject, std::span<const Units> sizes, const MeasureOptions& options,
                     const MeasureWatcher& watcher);

/// "4,5,6" as numbers from 1 on. Throws UserError with one sentence that names the option.
std::vector<std::int64_t> parse_numbers(const std::string& text, const char* option);

/// "from:to:step" as ascending sizes, `to` included when it is met. Throws UserError with one sentence that names the
/// option.
std::vector<Units> parse_sizes(const std::string& text, const char* option = "--sizes");

// Transfers are measured as kernels are, on all devices together, because in a load they will share links: what one
// unit and what so many as have 4 MiB take, medians of five, tells latency and bandwidth, in each direction and in both
// at once.

struct TransferTimes {
    TransferLine in, out, both;  ///< seconds of so many units

    void add_to(ProfilePoint& point) const;
};

/// Of every memory but main memory; of none where `stop` ends it. Throws UserError.
std::map<unsigned, TransferTimes> measure_transfers(const Transfers& transfers, const std::function<bool()>& stop);

// A profile file that grows point by point, so that an interrupted measurement loses no finished one and the same
// command continues it. Its notes say what was measured; points of another kernel, machine or problem are not mixed in.

using Notes = std::vector<std::pair<std::string, std::string>>;

/// Before a whole profile replaces what is at `path`: throws FileError unless that is nothing, empty, or a profile with
/// every note of `identity`, and with the same value.
void require_own(const std::string& path, const Notes& identity);

class ProfileRecord {
  public:
    /// A file with points must have every note of `identity`, and with the same value. Not compared are `remarks` (the
    /// date), which a new file begins with, and `mode` (which processors are measured together), of which a file has as
    /// many as it was measured in. Throws FileError, also where nothing can be written.
    ProfileRecord(std::string path, Notes identity, Notes remarks, const std::string& mode);

    bool has(const std::string& processor, std::int64_t units) const;
    std::size_t found() const { return found_; }  ///< points that were in the file

    /// Puts the point into the file, which another process may have changed meanwhile, even by that point. Throws
    /// FileError, or std::runtime_error when the disk does not take it.
    void add(const std::string& processor, const ProfilePoint& point);

  private:
    Profile content() const;  ///< of the file, or that of a new one; with the mode's note

    std::string path_;
    Notes identity_, remarks_;
    Notes::value_type mode_;
    std::map<std::string, std::set<std::int64_t>> points_;  ///< sizes
    std::size_t found_ = 0;
};

}  // namespace apportion
