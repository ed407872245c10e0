// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/learnt_store.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "models/io/files.hpp"
#include "models/io/shown.hpp"
#include "models/io/text.hpp"
#include "models/profile_file.hpp"
#include "policies/starpu/profile_store.hpp"

namespace apportion {

namespace fs = std::filesystem;

using Json = nlohmann::json;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LearntDistribution, runs, run_s, blocks)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BlockSums, blocks, work, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LearntUnitCosts::Piece, first, cost)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LearntUnitCosts, units, processors, pieces)

namespace {

constexpr std::chrono::hours kOldest{90 * 24};
constexpr std::chrono::hours kDeadPart{1};  // what a process that was killed left of a file it wrote
constexpr std::size_t kMostFiles = 4096;
constexpr std::size_t kMostBytes = 1 << 20;
constexpr std::string_view kCheck = "# check: ";
constexpr const char* kProcessesNote = "processes";
constexpr const char* kDistributionNote = "distribution";
constexpr const char* kUnitCostsNote = "costs of units";

using Notes = std::vector<std::pair<std::string, std::string>>;

Notes notes_of(const LearntKey& key) {
    Notes notes = {{kMachineNote, key.machine.content},
                   {kLoadNote, key.load},
                   {"codelet", key.codelet},
                   {"processors", fmt::format("{}", fmt::join(key.processors, ", "))},
                   {kDataNote, fmt::format("{} bytes per unit, {} shared", key.bytes_per_unit, key.bytes_shared)}};
    for (auto& [name, value] : notes) {
        value = as_note(value);
        if (value.empty()) value = "unnamed";
    }
    return notes;
}

std::string identity(const LearntKey& key) {
    std::string text;
    for (const auto& [name, value] : notes_of(key)) text += name + ": " + value + "\n";
    return text;
}

std::string text_of(const Profile& profile) {
    std::ostringstream out;
    write_profile(out, profile);
    return std::move(out).str();
}

/// Empty: there is none.
std::string content_of(const fs::path& file) {
    std::error_code error;
    if (!fs::exists(file, error)) return {};
    std::ifstream in = open_to_read(file.string());
    std::string text(kMostBytes + 1, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
    return text;
}

Profile checked_profile(const fs::path& file, const std::string& content) {
    const std::size_t end = std::min(content.find('\n'), content.size());
    const std::string_view first(content.data(), end);
    const std::string rest = content.substr(std::min(end + 1, content.size()));
    if (first != fmt::format("{}{:016x}", kCheck, checksum(rest)))
        throw FileError("{}: is damaged, or was changed by hand; it is not used, and the next run replaces it",
                        file.string());
    std::istringstream lines(rest);
    return read_profile(lines, file.string());
}

void remove_dead_parts_and_oldest(const fs::path& folder) {
    using File = std::pair<fs::file_time_type, fs::path>;
    std::vector<File> files;
    std::error_code error;
    const auto now = fs::file_time_type::clock::now();
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
        std::error_code gone;
        const auto changed = entry->last_write_time(gone);
        if (gone) continue;
        if (entry->path().extension() == ".csv")
            files.emplace_back(changed, entry->path());
        else if (entry->path().extension() == ".part" && now - changed > kDeadPart)
            fs::remove(entry->path(), gone);
    }
    if (files.size() < kMostFiles) return;
    // Some more than one, so that the next new files find room.
    std::ranges::sort(files);
    files.resize(files.size() - kMostFiles + kMostFiles / 8);
    for (const auto& [changed, file] : files) fs::remove(file, error);
}

/// Nothing where another version wrote it otherwise.
template <class Known>
Known known_from(const std::string& note) {
    try {
        return Json::parse(note).get<Known>();
    } catch (const Json::exception&) {
        return {};
    }
}

}  // namespace

LearntKey learnt_key(Machine machine, const std::string& load, const char* codelet,
                     const std::vector<Processor>& processors, std::pair<std::uint64_t, std::uint64_t> bytes) {
    LearntKey key{std::move(machine), load, codelet ? codelet : "", {}, bytes.first, bytes.second};
    for (const Processor& processor : processors) key.processors.push_back(processor.name);
    return key;
}

fs::path learnt_file(const LearntKey& key) {
    return learnt_folder() /
           fmt::format("{}-{}-{:016x}.csv", file_name(key.machine.name), file_name(key.load), checksum(identity(key)));
}

Profile read_any_learnt(const fs::path& file) { return checked_profile(file, content_of(file)); }

LearntProfile read_learnt(const fs::path& file, const LearntKey& key) {
    LearntProfile learnt;
    const std::string content = content_of(file);
    std::error_code error;
    const auto age = fs::file_time_type::clock::now() - fs::last_write_time(file, error);
    if (content.empty() || error || age > kOldest) return learnt;
    const Profile profile = checked_profile(file, content);
    for (const auto& note : notes_of(key))
        if (std::ranges::find(profile.notes, note) == profile.notes.end())
            throw FileError(
                "{}: was learnt for something else, not for the {} {}; it is not used, and the next run replaces it",
                file.string(), note.first, in_quotes(note.second));
    for (const std::string& name : key.processors) {
        const auto found = std::ranges::find(profile.processors, name, &ProcessorProfile::name);
        learnt.processors.push_back(found != profile.processors.end() ? *found : ProcessorProfile{name, {}});
    }
    for (const auto& [name, value] : profile.notes)
        if (name == kProcessesNote)
            learnt.processes = known_from<int>(value);
        else if (name == kDistributionNote)
            learnt.distribution = known_from<LearntDistribution>(value);
        else if (name == kUnitCostsNote)
            learnt.unit_costs = known_from<LearntUnitCosts>(value);
    return learnt;
}

void write_learnt(const fs::path& file, const LearntKey& key, const LearntProfile& learnt) {
    std::error_code error;
    fs::create_directories(file.parent_path(), error);
    if (error)
        throw FileError("{}: cannot be written: {}; check the path and your rights", file.string(), error.message());
    if (!fs::exists(file, error)) remove_dead_parts_and_oldest(file.parent_path());
    Profile profile{notes_of(key), learnt.processors};
    profile.notes.emplace_back(kProcessesNote, std::to_string(learnt.processes));
    if (!learnt.distribution.blocks.empty())
        profile.notes.emplace_back(kDistributionNote, Json(learnt.distribution).dump());
    if (!learnt.unit_costs.pieces.empty()) profile.notes.emplace_back(kUnitCostsNote, Json(learnt.unit_costs).dump());
    const std::string text = text_of(profile);
    replace_file(file.string(),
                 [&](std::ostream& out) { out << kCheck << fmt::format("{:016x}\n", checksum(text)) << text; });
}

}  // namespace apportion
