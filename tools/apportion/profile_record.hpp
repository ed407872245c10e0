// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A profile file that grows point by point, so that an interrupted measurement loses no finished one and the same
// command continues it. Its notes say what was measured; points of another kernel, machine, problem or way of measuring
// are not mixed in. Nothing but the last, half-written line of a run that was killed is ever removed.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/profile_file.hpp"

namespace apportion {

using Notes = std::vector<std::pair<std::string, std::string>>;

class ProfileRecord {
  public:
    /// Opens or creates the file, for this process alone. A file with points must have every note of `identity`, and
    /// with the same value; `remarks` (the date) are written beside them into a new file and not compared. Throws
    /// FileError.
    ProfileRecord(std::string path, Notes identity, Notes remarks);
    /// Removes the file when it has no point and was created here.
    ~ProfileRecord();
    ProfileRecord(const ProfileRecord&) = delete;
    ProfileRecord& operator=(const ProfileRecord&) = delete;

    bool has(const std::string& processor, std::int64_t units) const;
    std::size_t found() const { return found_; }  ///< points that were in the file
    /// Seconds of all sizes.
    const std::map<std::int64_t, double>& times(const std::string& processor) { return points_[processor]; }

    /// Writes the point through to the file. Throws FileError when the disk does not take it.
    void add(const std::string& processor, const ProfilePoint& point);

  private:
    void open();
    void load();
    void write(const std::string& text);
    void compare(const Profile& profile) const;

    std::string path_;
    Notes identity_, remarks_;
    std::map<std::string, std::map<std::int64_t, double>> points_;
    std::size_t found_ = 0;
    int file_ = -1;  ///< every write goes to its end; locked
    bool created_ = false;
    bool empty_ = true;  ///< no notes and no header yet
};

}  // namespace apportion
