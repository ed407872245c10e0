// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/profile_measure.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "models/io/files.hpp"

namespace apportion {

namespace {

namespace fs = std::filesystem;

constexpr const char* kMode = "mode";  // "one processor at a time", or "together: " and the names of all
constexpr const char* kFirstColumn = "processor,units,";

/// Whether the processor is one of those of a mode.
bool names(const std::string& mode, const std::string& processor) {
    const std::size_t list = mode.find(": ");
    return list != std::string::npos &&
           (", " + mode.substr(list + 2) + ", ").find(", " + processor + ", ") != std::string::npos;
}

[[noreturn]] void fail_to_write(const std::string& path) {
    throw FileError("{}: cannot be written: {}; check the path and the disk", path, std::strerror(errno));
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
    for (Notes* notes : {&identity_, &remarks_})
        for (auto& [key, value] : *notes) value = as_note(value);
    open();
    try {
        load();
    } catch (...) {
        close(file_);
        throw;
    }
}

/// Two measurements at once would both write the head of a new file, and what one has the other would measure again.
/// The lock ends with the process, however that ends; a file system without locks is no reason not to measure.
void ProfileRecord::open() {
    require_replaceable(path_);
    for (;;) {
        created_ = !fs::exists(path_);
        file_ = ::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
        if (file_ < 0) fail_to_write(path_);
        const bool taken = flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        struct stat locked, named;
        if (!taken && fstat(file_, &locked) == 0 && stat(path_.c_str(), &named) == 0 && locked.st_ino == named.st_ino &&
            locked.st_dev == named.st_dev)
            return;
        close(file_);
        if (taken)
            throw FileError("{}: another `apportion profile` writes it; wait for its end or choose another file",
                            path_);
        // The other process has just removed it, without a point.
    }
}

ProfileRecord::~ProfileRecord() {
    std::error_code ignored;
    if (created_ && empty_) fs::remove(path_, ignored);
    close(file_);
}

void ProfileRecord::write(const std::string& text) {
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t written = ::write(file_, text.data() + done, text.size() - done);
        if (written <= 0) fail_to_write(path_);
        done += static_cast<std::size_t>(written);
    }
}

/// Changes the file only when it is known to be one that can be continued.
void ProfileRecord::load() {
    const std::string content = read_whole_file(path_);
    mode_noted_ = mode_.text.empty();
    if (content.empty()) return;
    const std::size_t last_end = content.rfind('\n');
    const std::size_t whole = last_end == std::string::npos ? content.size() : last_end + 1;
    std::istringstream lines(content.substr(0, whole));
    const Profile profile = profile_at(path_, lines);
    require_notes(path_, profile, identity_);
    compare_mode(profile);
    for (const ProcessorProfile& processor : profile.processors)
        for (const ProfilePoint& point : processor.points) {
            points_[processor.name].emplace(point.units, point.seconds);
            ++found_;
        }
    empty_ = false;
    std::error_code error;
    if (whole < content.size()) fs::resize_file(path_, whole, error);
    if (error) throw FileError("{}: its last line is half-written and cannot be removed: {}", path_, error.message());
}

/// Each kind of processor may need sizes of its own, so that it is measured by a command of its own.
void ProfileRecord::compare_mode(const Profile& profile) {
    if (mode_.text.empty()) return;
    std::vector<std::string> others;
    for (const auto& [key, value] : profile.notes) {
        if (key != kMode) continue;
        if (value == mode_.text)
            mode_noted_ = true;
        else
            others.push_back(value);
    }
    if (!mode_noted_ && others.empty())
        throw FileError(
            fmt::format("{}: does not say its {}, so it is not continued; choose another file", path_, kMode));
    for (const std::string& processor : mode_.processors) {
        auto other = std::ranges::find_if(others, [&](const std::string& mode) { return names(mode, processor); });
        if (other == others.end() && !mode_noted_ &&
            std::ranges::find(profile.processors, processor, &ProcessorProfile::name) != profile.processors.end())
            other = others.begin();
        if (other != others.end())
            throw FileError("{}: {} was measured in mode '{}', not '{}'; choose another file or remove this one", path_,
                            processor, *other, mode_.text);
    }
}

bool ProfileRecord::has(const std::string& processor, std::int64_t units) const {
    const auto entry = points_.find(processor);
    return entry != points_.end() && entry->second.contains(units);
}

void ProfileRecord::add(const std::string& processor, const ProfilePoint& point) {
    const Notes mode = mode_noted_ ? Notes{} : Notes{{kMode, mode_.text}};
    Profile profile{mode, {{processor, {point}}}};
    if (empty_) {
        profile.notes = identity_;
        profile.notes.insert(profile.notes.end(), remarks_.begin(), remarks_.end());
        profile.notes.insert(profile.notes.end(), mode.begin(), mode.end());
    }
    std::ostringstream text;
    write_profile(text, profile);
    std::string lines = text.str();
    if (!empty_) {  // the names of the columns are there
        const std::size_t columns = lines.find(kFirstColumn);
        lines.erase(columns, lines.find('\n', columns) + 1 - columns);
    }
    write(lines);
    empty_ = false;
    mode_noted_ = true;
    points_[processor].emplace(point.units, point.seconds);
}

}  // namespace apportion
