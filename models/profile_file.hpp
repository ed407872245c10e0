// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The profile file: measured time functions of one kernel on one machine, as comma-separated values.
//
//     # machine: node7
//     processor,units,seconds,ci,repetitions
//     CPU 0,64,0.00123,0.00002,12
//     "CUDA 0 (Tesla K20c, 5 GB)",64,0.00017,0.000003,9
//
// Lines of any order; a name with a comma stands in quotes; blank lines, CRLF and units written as 64.0 or 6.4e1 are
// accepted; a line with '#' is a note. The columns ci (half width of the confidence interval [s]) and repetitions are
// optional, and so are in and out, and both, behind them: seconds that the data of such a block travel to the
// processor, that its results travel back, and that both take at once, while the data of all other devices travel in
// the same way. A size that is not listed cannot be used by that processor: it was not measured, or fails there.
// Everything else is an error with file and line.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "models/io/user_error.hpp"
#include "models/profile.hpp"

namespace apportion {

struct Profile {
    std::vector<std::pair<std::string, std::string>>
        notes;                                 ///< "# key: value", in order; a note without ':' has no key
    std::vector<ProcessorProfile> processors;  ///< in order of their first line
};

/// A text as the value of a note, as it is read back: shown on one line, without blanks at its ends.
std::string as_note(std::string_view text);

/// Of all processors.
std::size_t points_in(const Profile& profile);

/// Reads line by line: memory is that of the points. `name` is the file's name in messages. Throws FileError.
Profile read_profile(std::istream& in, const std::string& name);
Profile read_profile(const std::string& path);

/// Writes five columns, and those of transfers where one is known; reading them gives the same numbers back.
void write_profile(std::ostream& out, const Profile& profile);

/// Replaces the file, see replace_file().
void save_profile(const std::string& path, const Profile& profile);

}  // namespace apportion
