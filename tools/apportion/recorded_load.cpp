// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/run_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/io/user_error.hpp"
#include "models/profile_file.hpp"
#include "tools/apportion/plan_parts.hpp"

namespace apportion {

namespace {

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

ProfileRequest profile_request(const RunReport& report) {
    ProfileRequest request;
    request.load = report.profile_name;
    request.units = report.units;
    request.granularity = report.granularity;
    std::map<std::string, int> kinds;
    for (const ReportedProcessor& processor : report.processors) {
        const std::size_t model = processor.name.find('(');
        const std::string key =
            processor.kind + (processor.workers > 1 ? fmt::format(" x {}", processor.workers) : "") +
            (model == std::string::npos ? "" : processor.name.substr(model, processor.name.find(" GiB") - model));
        Processor& entry = request.processors.emplace_back();
        entry.name = processor.name;
        entry.kind = kinds.emplace(key, static_cast<int>(kinds.size())).first->second;
        entry.own_memory = processor.kind != "CPU";
        entry.memory_units = processor.memory_units.value_or(kNoLimit);
    }
    return request;
}

std::map<std::string, double> predicted_makespans(const RunReport& report) {
    const ProfileRequest request = profile_request(report);
    LoadDescription load;
    load.units = request.units;
    load.granularity = request.granularity;
    load.processors = request.processors;
    load.initial_block = default_initial_block(load.units, load.granularity, static_cast<int>(load.processors.size()));
    if (report.profile_file)
        load.recorded.processors = times_in(*report.profile_file, request);
    else
        load.recorded = find_recorded_times(request, this_machine());
    return policy_makespans(load);
}

}  // namespace apportion
