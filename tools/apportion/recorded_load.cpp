// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/recorded_load.hpp"

#include <algorithm>
#include <cmath>

#include "models/io/file_error.hpp"
#include "models/profile_file.hpp"
#include "policies/engine/virtual_run.hpp"

namespace apportion {

namespace {

using Json = nlohmann::json;

/// The times of the report's processors in the file; empty where one of them is missing.
std::vector<ProcessorProfile> times_in(const std::string& file, const ProfileRequest& request) {
    std::vector<ProcessorProfile> times;
    try {
        const Profile profile = read_profile(file);
        for (const Processor& processor : request.processors) {
            const auto found = std::ranges::find(profile.processors, processor.name, &ProcessorProfile::name);
            if (found == profile.processors.end()) return {};
            times.push_back(*found);
        }
    } catch (const FileError&) {
        return {};
    }
    return times;
}

}  // namespace

ProfileRequest profile_request(const Json& report) {
    ProfileRequest request;
    const Json profile = report.value("profile", Json::object());
    request.load = profile.is_object() ? profile.value("name", report.at("load").get<std::string>()) : "";
    request.units = report.at("units");
    request.granularity = report.at("granularity");
    std::map<std::string, int> kinds;
    for (const Json& processor : report.at("processors")) {
        const std::string name = processor.at("name"), kind = processor.at("kind");
        const std::size_t model = name.find('(');
        const std::string key =
            kind + (model == std::string::npos ? "" : name.substr(model, name.find(" GiB") - model));
        Processor& entry = request.processors.emplace_back();
        entry.name = name;
        entry.kind = kinds.emplace(key, static_cast<int>(kinds.size())).first->second;
        entry.own_memory = kind != "CPU";
        if (const auto room = processor.find("memory_units"); room != processor.end() && room->is_number_integer())
            entry.memory_units = *room;
    }
    return request;
}

std::map<std::string, double> predicted_makespans(const Json& report) {
    const ProfileRequest request = profile_request(report);
    LoadDescription load;
    load.units = request.units;
    load.granularity = request.granularity;
    load.processors = request.processors;
    load.initial_block = default_initial_block(load.units, load.granularity, static_cast<int>(load.processors.size()));
    const Json profile = report.value("profile", Json::object());
    if (profile.is_object() && profile.contains("file") && profile["file"].is_string())
        load.recorded.processors = times_in(profile["file"], request);
    else
        load.recorded = find_recorded_times(request, this_machine());
    const std::vector<PiecewiseLinear> functions = recorded_functions(load);
    std::map<std::string, double> predicted;
    if (functions.empty() || load.units == 0) return predicted;
    for (const PolicyEntry& entry : registered_policies()) {
        const double seconds = virtual_makespan(load, *entry.make(), functions);
        if (std::isfinite(seconds)) predicted[entry.name] = seconds;
    }
    return predicted;
}

}  // namespace apportion
