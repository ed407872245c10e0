// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/profile_parts.hpp"
#include "tools/apportion/text_table.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "codelets/io/terminal.hpp"
#include "models/io/shown.hpp"
#include "models/profile_file.hpp"
#include "policies/starpu/learnt_store.hpp"
#include "policies/starpu/profile_store.hpp"
#include "tools/apportion/command.hpp"

namespace apportion {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct KeptProfile {
    fs::path file;
    bool learnt = false;
    std::string changed;  ///< date
    Profile profile;
    std::string problem;  ///< it cannot be read

    std::string note(const std::string& key) const {
        for (const auto& [name, value] : profile.notes)
            if (name == key) return value;
        return {};
    }
    /// Of a recorded profile that does not say it, the file's name does.
    std::string load() const {
        const std::string noted = note(kLoadNote);
        return noted.empty() && !learnt ? file.stem().string() : noted;
    }
    bool is(const std::string& load_or_file) const {
        std::error_code missing;
        return load() == load_or_file || file.filename() == load_or_file || fs::equivalent(file, load_or_file, missing);
    }
};

KeptProfile kept_profile(const fs::path& file, bool learnt) {
    KeptProfile kept{file, learnt, {}, {}, {}};
    struct stat status {};
    if (stat(file.c_str(), &status) == 0) kept.changed = fmt::format("{:%Y-%m-%d}", fmt::localtime(status.st_mtime));
    try {
        kept.profile = learnt ? read_any_learnt(file) : read_profile(file.string());
    } catch (const FileError& error) {
        kept.problem = error.what();
    }
    return kept;
}

/// Sorted; none where the folder cannot be read.
std::vector<fs::path> entries_of(const fs::path& folder) {
    std::vector<fs::path> entries;
    std::error_code missing;
    for (fs::directory_iterator entry(folder, missing), end; !missing && entry != end; entry.increment(missing))
        entries.push_back(entry->path());
    std::ranges::sort(entries);
    return entries;
}

std::vector<KeptProfile> all_profiles() {
    std::vector<KeptProfile> all;
    const fs::path recorded = profiles_folder(), learnt = learnt_folder();
    const auto add_profiles_in = [&](const fs::path& folder) {
        for (const fs::path& file : entries_of(folder))
            if (file.extension() == ".csv") all.push_back(kept_profile(file, folder == learnt));
    };
    std::error_code missing;
    if (fs::is_regular_file(recorded, missing)) all.push_back(kept_profile(recorded, false));
    for (const fs::path& machine : entries_of(recorded))
        if (machine != learnt) add_profiles_in(machine);
    add_profiles_in(learnt);
    return all;
}

std::vector<KeptProfile> profiles_of(const std::string& load_or_file) {
    std::vector<KeptProfile> all = all_profiles();
    std::erase_if(all, [&](const KeptProfile& kept) { return !kept.is(load_or_file); });
    return all;
}

[[noreturn]] void refuse(const char* option, const std::string& load_or_file, const char* what) {
    throw UserError("{} {}: there is no {} of that load or file name in {}; `apportion profile --list` has all", option,
                    shown(load_or_file), what, shown(profiles_folder().string()));
}

Json as_json(const KeptProfile& kept, bool with_points) {
    Json json{{"load", kept.load()},
              {"machine", kept.note(kMachineNote)},
              {"learnt", kept.learnt},
              {"points", points_in(kept.profile)},
              {"changed", kept.changed},
              {"file", kept.file.string()},
              {"problem", kept.problem.empty() ? Json(nullptr) : Json(kept.problem)}};
    if (!with_points) return json;
    json["processors"] = Json::array();
    for (const ProcessorProfile& processor : kept.profile.processors) {
        Json points = Json::array();
        for (const ProfilePoint& point : processor.points)
            points.push_back({{"units", point.units}, {"seconds", point.seconds}, {"repetitions", point.repetitions}});
        json["processors"].push_back({{"name", processor.name}, {"points", std::move(points)}});
    }
    return json;
}

void print_json(const std::vector<KeptProfile>& all, bool with_points) {
    Json list = Json::array();
    for (const KeptProfile& kept : all) list.push_back(as_json(kept, with_points));
    std::cout << json_text(list, 2);
}

void print_times(const KeptProfile& kept) {
    fmt::print("{}\n", shown(kept.file.string()));
    if (!kept.problem.empty()) {
        fmt::print("  {}\n", shown(kept.problem));
        return;
    }
    for (const auto& [key, value] : kept.profile.notes)
        fmt::print("{}", output_line(fmt::format("  {}{}{}", shown(key), key.empty() ? "" : ": ", shown(value))));
    TextTable table({"processor", {">units", true, true}, ">seconds", ">units/s", ">times"});
    for (const ProcessorProfile& processor : kept.profile.processors)
        for (const ProfilePoint& point : processor.points)
            table.add({processor.name, fmt::to_string(point.units), fmt::format("{:.4g}", point.seconds),
                       fmt::format("{:.4g}", static_cast<double>(point.units) / point.seconds),
                       point.repetitions > 0 ? fmt::to_string(point.repetitions) : "not known"});
    fmt::print("{}", table.text());
}

}  // namespace

std::string default_file(const std::string& load, const Machine& machine) {
    const fs::path file = profile_file(load, machine), folder = file.parent_path();
    std::error_code error;
    if (!folder.empty()) fs::create_directories(folder, error);
    if (!error && access(folder.empty() ? "." : folder.c_str(), W_OK) != 0) error = {errno, std::generic_category()};
    if (error)
        throw UserError(
            "{}: no profile can be kept there: {}; let APPORTION_PROFILES name a folder that you may write to, or give "
            "--out",
            shown(folder.string()), error.message());
    return file.string();
}

void list_profiles(bool json) {
    constexpr std::size_t kLongestName = 80;  // as in names of files
    const std::vector<KeptProfile> all = all_profiles();
    if (json) return print_json(all, false);
    fmt::print("{}\n", shown(profiles_folder().string()));
    if (all.empty()) {
        fmt::print("  nothing is recorded or learnt\n");
        return;
    }
    TextTable table({"load", "is", ">points", "changed", "data", "machine"});
    for (const KeptProfile& kept : all) {
        const char* const is = !kept.problem.empty() ? "damaged" : kept.learnt ? "learnt" : "recorded";
        const std::string load = kept.problem.empty() ? kept.load() : kept.file.filename().string();
        table.add({shortened(load, kLongestName), is, fmt::to_string(points_in(kept.profile)), kept.changed,
                   kept.note(kDataNote), kept.note(kMachineNote)});
    }
    fmt::print("{}", table.text());
}

void show_profiles(const std::string& load_or_file, bool json) {
    std::vector<KeptProfile> all = profiles_of(load_or_file);
    std::error_code missing;
    if (all.empty() && fs::is_regular_file(load_or_file, missing)) {
        read_profile(load_or_file);  // what is wrong with it is an error here, not a line among others
        all.push_back(kept_profile(load_or_file, false));
    }
    if (all.empty()) refuse("--show", load_or_file, "profile");
    if (json) return print_json(all, true);
    for (const KeptProfile& kept : all) print_times(kept);
}

void forget_learnt(const std::string& load_or_file) {
    const bool everything = load_or_file == "all";
    std::vector<KeptProfile> all = everything ? all_profiles() : profiles_of(load_or_file);
    std::erase_if(all, [](const KeptProfile& kept) { return !kept.learnt; });
    if (all.empty() && !everything) refuse("--forget", load_or_file, "learnt profile");
    for (const KeptProfile& kept : all) {
        std::error_code error;
        if (!fs::remove(kept.file, error) && error)
            throw UserError("{}: cannot be removed: {}", shown(kept.file.string()), error.message());
        fmt::print("{}: forgotten\n", shown(kept.file.string()));
    }
    if (all.empty()) fmt::print("nothing was learnt\n");
}

}  // namespace apportion
