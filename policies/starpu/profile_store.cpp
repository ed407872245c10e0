// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/profile_store.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>

#include "models/io/files.hpp"
#include "models/io/shown.hpp"
#include "models/io/text.hpp"
#include "models/profile_file.hpp"
#include "policies/config.hpp"

namespace apportion {

namespace {

namespace fs = std::filesystem;

constexpr Units kMostBlocks = 64;  ///< of recorded sizes that a processor's part of the load may take

bool names_a_file(const fs::path& path) {
    std::error_code missing;
    return path.extension() == ".csv" || fs::is_regular_file(path, missing);
}

/// "run `apportion profile ...`", so that the profile lands in `file`.
std::string advice(const ProfileRequest& request, const fs::path& file) {
    const bool one_file = names_a_file(profiles_option());
    const bool learns = request.learns || request.command.empty();
    std::vector<const char*> in_the_way;
    if (!learn_option()) in_the_way.push_back("APPORTION_LEARN=0");
    if (one_file) in_the_way.push_back("APPORTION_PROFILES");
    const std::string learn =
        in_the_way.empty()
            ? "run the program once with STARPU_SCHED=plb-hec, which learns it"
            : fmt::format("run the program with STARPU_SCHED=plb-hec, which learns it, without {} from now on",
                          fmt::join(in_the_way, " and "));
    if (request.command.empty()) return learn;
    std::string command = request.command, options;
    if (const std::string platform = platform_file_option(); !platform.empty()) options += " --platform " + platform;
    if (one_file) options += " --out " + file.string();
    command.insert(std::min(command.find(" -- "), command.size()), options);  // what follows is the program's
    return fmt::format("record it with `{}`{}", command, learns ? ", or " + learn : "");
}

/// Empty, or why a profile with these notes is not one of the load on the machine.
std::string why_stale(const Profile& profile, const ProfileRequest& request, const Machine& machine) {
    for (const auto& [key, value] : profile.notes) {
        if (key == kMachineNote && value != as_note(machine.description))
            return fmt::format("was recorded on the machine '{}', but this is '{}'", value, machine.description);
        if (key == kLoadNote && value != as_note(request.load))
            return fmt::format("was recorded for the load '{}', but this is '{}'", value, request.load);
    }
    return {};
}

const ProcessorProfile* find(const Profile& profile, const std::string& name) {
    const auto found = std::ranges::find(profile.processors, name, &ProcessorProfile::name);
    return found == profile.processors.end() ? nullptr : &*found;
}

/// Of the processor itself or of one of its kind, which `note` then says.
const ProcessorProfile* find_for(const Profile& profile, const ProfileRequest& request, const Processor& processor,
                                 std::string& note) {
    if (const ProcessorProfile* own = find(profile, processor.name)) return own;
    for (const Processor& sibling : request.processors) {
        const ProcessorProfile* its = sibling.kind == processor.kind ? find(profile, sibling.name) : nullptr;
        if (!its) continue;
        note += fmt::format("{}{} has the recorded times of {}", note.empty() ? "" : "; ", processor.name, its->name);
        return its;
    }
    return nullptr;
}

/// Empty, or why the sizes are too small for the load.
std::string why_too_small(const std::vector<ProcessorProfile>& processors, const ProfileRequest& request) {
    double reach = 0;
    for (std::size_t p = 0; p < processors.size(); ++p) {
        const Units largest = processors[p].points.back().units;
        if (const Units least = std::min(request.granularity, request.units); largest < least)
            return fmt::format("has only sizes below {} units, the smallest block, for {}", least, processors[p].name);
        const Units fitting = request.processors[p].memory_units / request.granularity * request.granularity;
        // Of the largest that its memory holds it may have any number.
        reach += largest >= fitting ? static_cast<double>(request.units) : static_cast<double>(largest) * kMostBlocks;
    }
    if (static_cast<double>(request.units) <= reach) return {};
    return fmt::format("has only sizes that are too small for {} units", request.units);
}

}  // namespace

fs::path profiles_folder() {
    if (const std::string chosen = profiles_option(); !chosen.empty()) return chosen;
    return data_folder() / "profiles";
}

fs::path learnt_folder() {
    const fs::path folder = profiles_folder();
    return (names_a_file(folder) ? data_folder() / "profiles" : folder) / "learnt";
}

std::string file_name(std::string_view text) {
    constexpr std::size_t kLongest = 80;
    std::string name = shown(text);
    // What is cut may be the middle of a character, which then is none any more.
    if (name.size() > kLongest) name = fmt::format("{}-{:016x}", shown(name.substr(0, kLongest)), checksum(text));
    std::ranges::replace(name, '/', '_');
    return name;
}

fs::path profile_file(const std::string& load, const Machine& machine) {
    const fs::path folder = profiles_folder();
    if (names_a_file(folder)) return folder;
    return folder / file_name(machine.name) / (file_name(load) + ".csv");
}

RecordedTimes find_recorded_times(const ProfileRequest& request, const Machine& machine) {
    RecordedTimes times;
    fs::path file;
    try {
        file = profile_file(request.load, machine);
    } catch (const FileError& no_home) {
        times.problem = no_home.what();
        return times;
    }
    times.source = file.string();
    if (is_missing(file)) {
        times.none = !names_a_file(profiles_option());
        times.problem = fmt::format("there is no recorded profile {}; {}", file.string(), advice(request, file));
        return times;
    }
    const auto unusable = [&](const std::string& reason) {
        times.problem =
            fmt::format("the recorded profile {} {}; remove it and {}", file.string(), reason, advice(request, file));
        return times;
    };
    std::vector<ProcessorProfile> processors;
    try {
        const Profile profile = read_profile(file.string());
        if (const std::string stale = why_stale(profile, request, machine); !stale.empty()) return unusable(stale);
        for (const Processor& processor : request.processors) {
            const ProcessorProfile* found = find_for(profile, request, processor, times.note);
            if (!found) return unusable(fmt::format("does not have the processor '{}'", processor.name));
            processors.push_back({processor.name, found->points});
        }
    } catch (const FileError& error) {
        times.problem = error.what();
        return times;
    }
    if (const std::string small = why_too_small(processors, request); !small.empty()) return unusable(small);
    times.processors = std::move(processors);
    return times;
}

}  // namespace apportion
