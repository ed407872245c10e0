// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The measurement of a profile: every size on every processor, repeated until its mean is precise (models/samples.hpp).
// Processors are measured together, because in a load they will share caches, memory and power: each repetition starts
// the same number of units on all of them (Khaleghzadeh et al., HPOPTA, section 1; FuPerMod, section 4). Where so many
// units exceed the problem, one processor at a time has that share and the others divide the rest, as a distribution of
// the problem would have it. A processor whose mean is precise goes on running until the others' are. In each
// repetition a fast processor is done before a slow one, which then runs undisturbed: as in a load that is not
// balanced.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "models/profile_file.hpp"
#include "models/samples.hpp"
#include "tools/apportion/profile_subject.hpp"

namespace apportion {

struct MeasureOptions {
    SampleOptions samples;
    bool alone = false;      ///< one processor after the other, the others idle
    double warm_up_s = 0.3;  ///< measured time to spend before the first point: clocks rise, libraries set up
};

/// One finished point, or one that was given up.
struct MeasuredPoint {
    std::size_t processor = 0;
    ProfilePoint point;
    bool precise = false;
    std::string does_not_fit;  ///< otherwise empty: why the processor cannot run this size
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

/// The same for one size of each processor (0: none), those of a distribution, all of which run together.
bool measure_distribution(ProfileSubject& subject, std::vector<Units> shares, const MeasureOptions& options,
                          const MeasureWatcher& watcher);

/// "4,5,6" as numbers from 1 on. Throws UserError with one sentence that names the option.
std::vector<std::int64_t> parse_numbers(const std::string& text, const char* option);

/// "from:to:step" as ascending sizes, `to` included when it is met. Throws UserError with one sentence that names the
/// option.
std::vector<Units> parse_sizes(const std::string& text, const char* option = "--sizes");

}  // namespace apportion
