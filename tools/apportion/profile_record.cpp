// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/profile_measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "models/io/files.hpp"

namespace apportion {

namespace {

/// What is no profile is somebody's other file.
Profile profile_at(const std::string& path, std::istream& in) {
    try {
        return read_profile(in, path);
    } catch (const FileError& error) {
        throw FileError(fmt::format("{}: is no profile and stays as it is; choose another file, or mend this one ({})",
                                    path, error.what()));
    }
}

void require_notes(const std::string& path, const Profile& profile, const Notes& identity) {
    for (const auto& [key, wanted] : identity) {
        const auto same_key = [&key = key](const auto& note) { return note.first == key; };
        const auto note = std::ranges::find_if(profile.notes, same_key);
        if (note == profile.notes.end())
            throw FileError(fmt::format(
                "{}: does not say its {}, so it is neither continued nor replaced; choose another file", path, key));
        if (note->second != as_note(wanted))
            throw FileError(
                fmt::format("{}: was measured with {} '{}', not '{}'; choose another file or remove this one", path,
                            key, note->second, as_note(wanted)));
    }
}

}  // namespace

void require_own(const std::string& path, const Notes& identity) {
    require_replaceable(path);
    if (is_missing(path)) return;
    std::istringstream content(read_whole_file(path));
    if (!content.view().empty()) require_notes(path, profile_at(path, content), identity);
}

ProfileRecord::ProfileRecord(std::string path, Notes identity, Notes remarks, const std::string& mode)
    : path_(std::move(path)),
      identity_(std::move(identity)),
      remarks_(std::move(remarks)),
      mode_("mode", as_note(mode)) {
    require_writable(path_);
    for (const ProcessorProfile& processor : content().processors)
        for (const ProfilePoint& point : processor.points) {
            points_[processor.name].insert(point.units);
            ++found_;
        }
}

Profile ProfileRecord::content() const {
    const std::string text = is_missing(path_) ? "" : read_whole_file(path_);
    Profile profile{identity_, {}};
    profile.notes.insert(profile.notes.end(), remarks_.begin(), remarks_.end());
    if (!text.empty()) {
        std::istringstream lines(text);
        profile = profile_at(path_, lines);
        require_notes(path_, profile, identity_);
    }
    if (std::ranges::find(profile.notes, mode_) == profile.notes.end()) profile.notes.push_back(mode_);
    return profile;
}

bool ProfileRecord::has(const std::string& processor, std::int64_t units) const {
    const auto entry = points_.find(processor);
    return entry != points_.end() && entry->second.contains(units);
}

void ProfileRecord::add(const std::string& processor, const ProfilePoint& point) {
    Profile profile = content();
    auto entry = std::ranges::find(profile.processors, processor, &ProcessorProfile::name);
    if (entry == profile.processors.end()) entry = profile.processors.insert(entry, ProcessorProfile{processor, {}});
    std::erase_if(entry->points, [&](const ProfilePoint& other) { return other.units == point.units; });
    entry->points.push_back(point);
    save_profile(path_, profile);
    points_[processor].insert(point.units);
}

}  // namespace apportion
