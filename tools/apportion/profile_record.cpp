// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/profile_measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "models/io/files.hpp"

namespace apportion {

namespace {

constexpr const char* kMode = "mode";  // "one processor at a time", or "together: " and the names of all

/// Whether the processor is one of those of a mode.
bool names(const std::string& mode, const std::string& processor) {
    const std::size_t list = mode.find(": ");
    return list != std::string::npos &&
           (", " + mode.substr(list + 2) + ", ").find(", " + processor + ", ") != std::string::npos;
}

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

ProfileRecord::ProfileRecord(std::string path, Notes identity, Notes remarks, Mode mode)
    : path_(std::move(path)), identity_(std::move(identity)), remarks_(std::move(remarks)), mode_(std::move(mode)) {
    mode_.text = as_note(mode_.text);
    require_writable(path_);
    for (const ProcessorProfile& processor : content().processors)
        for (const ProfilePoint& point : processor.points) {
            points_[processor.name].emplace(point.units, point.seconds);
            ++found_;
        }
}

Profile ProfileRecord::content() const {
    const std::string text = is_missing(path_) ? "" : read_whole_file(path_);
    if (text.empty()) {
        Profile profile{identity_, {}};
        profile.notes.insert(profile.notes.end(), remarks_.begin(), remarks_.end());
        profile.notes.emplace_back(kMode, mode_.text);
        return profile;
    }
    std::istringstream lines(text);
    Profile profile = profile_at(path_, lines);
    require_notes(path_, profile, identity_);
    compare_mode(profile);
    return profile;
}

/// Each kind of processor may need sizes of its own, so that it is measured by a command of its own.
void ProfileRecord::compare_mode(Profile& profile) const {
    std::vector<std::string> others;
    bool noted = false;
    for (const auto& [key, value] : profile.notes) {
        if (key != kMode) continue;
        if (value == mode_.text)
            noted = true;
        else
            others.push_back(value);
    }
    if (!noted && others.empty())
        throw FileError(
            fmt::format("{}: does not say its {}, so it is not continued; choose another file", path_, kMode));
    for (const std::string& processor : mode_.processors) {
        auto other = std::ranges::find_if(others, [&](const std::string& mode) { return names(mode, processor); });
        if (other == others.end() && !noted &&
            std::ranges::find(profile.processors, processor, &ProcessorProfile::name) != profile.processors.end())
            other = others.begin();
        if (other != others.end())
            throw FileError("{}: {} was measured in mode '{}', not '{}'; choose another file or remove this one", path_,
                            processor, *other, mode_.text);
    }
    if (!noted) profile.notes.emplace_back(kMode, mode_.text);
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
    points_[processor].emplace(point.units, point.seconds);
}

}  // namespace apportion
