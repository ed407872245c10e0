// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/profile_measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "models/io/files.hpp"
#include "models/io/shown.hpp"
#include "models/io/text.hpp"
#include "tools/apportion/command.hpp"

namespace apportion {

namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20;
/// Section 4.3; times of smaller messages are not consistent.
constexpr std::size_t kMessages[] = {kMebibyte / 2, kMebibyte,      2 * kMebibyte,
                                     8 * kMebibyte, 16 * kMebibyte, 32 * kMebibyte};

using Json = nlohmann::ordered_json;

Json empty_instance(const std::string& load) {
    Json instance;
    instance["description"] = fmt::format("units of {}, measured by apportion profile", load);
    for (const char* list : {"nodes", "pus", "a_N_s", "b_N_bytes_per_s", "c_s"}) instance[list] = Json::array();
    return instance;
}

/// Without a link: the data are there.
void add_node(Json& instance, const std::string& name, const LinkTimes* link) {
    instance["nodes"].push_back(name);
    instance["a_N_s"].push_back(link ? link->startup_s : 0);
    instance["b_N_bytes_per_s"].push_back(link ? Json(link->bytes_per_s) : Json());
}

void add_unit(Json& instance, const std::string& node, const std::string& device, double seconds) {
    instance["pus"].push_back({{"node", node}, {"device", device}});
    instance["c_s"].push_back(seconds);
}

/// Seconds of a unit at the measured size nearest to `share`.
double unit_seconds(const std::map<Units, double>& times, Units share, const std::string& processor) {
    const auto distance = [&](const auto& time) { return std::abs(time.first - share); };
    const auto nearest = std::ranges::min_element(times, {}, distance);
    if (nearest == times.end())
        throw UserError("--instance: nothing was measured of {}; give --sizes that fit it", shown(processor));
    return nearest->second / static_cast<double>(nearest->first);
}

}  // namespace

LinkTimes measure_link(const std::function<double(std::size_t bytes)>& one_way_s, const SampleOptions& options,
                       const std::function<bool()>& stop) {
    const auto median_s = [&](std::size_t bytes) {
        Samples samples(options);
        do samples.add(one_way_s(bytes));
        while (!samples.enough() && !stop());
        return samples.median_s();
    };
    const double startup_s = median_s(1);
    std::vector<double> seconds, seconds_per_byte;
    for (std::size_t k = 0; k < std::size(kMessages); ++k) {
        if (stop()) return {};
        seconds.push_back(median_s(kMessages[k]));
        for (std::size_t j = 0; j < k; ++j)
            seconds_per_byte.push_back((seconds[k] - seconds[j]) / static_cast<double>(kMessages[k] - kMessages[j]));
    }
    const auto middle = seconds_per_byte.begin() + std::ssize(seconds_per_byte) / 2;
    std::ranges::nth_element(seconds_per_byte, middle);
    if (*middle <= 0 && !stop())
        throw UserError("--instance: large messages took no longer than small ones; measure on a quieter machine");
    return {startup_s, 1 / *middle};
}

void check_instance(const std::string& path, ProfileSubject& subject) {
    if (!subject.transfers())
        throw UserError("--instance: a kernel's data are not known; give an application by --app NAME");
    const NewFile can_be_written(path);
    if (is_missing(path)) return;
    const std::string text = read_whole_file(path);
    const Json there = Json::parse(text, nullptr, false);
    const Json ours = empty_instance(subject.load())["description"];
    if (!text.empty() && !(there.is_object() && there.value("description", Json()) == ours))
        throw FileError(
            fmt::format("{}: is no instance of {} that apportion profile measured, so it is not replaced; "
                        "choose another file or remove this one",
                        path, subject.load()));
}

Json machine_instance(ProfileSubject& subject, const std::vector<std::map<Units, double>>& times, Units share,
                      const SampleOptions& options, const std::function<bool()>& stop) {
    const std::optional<Transfers> transfers = subject.transfers();
    Json instance = empty_instance(subject.load());
    instance["d_si_bytes"] = transfers->bytes_in;
    instance["d_sr_bytes"] = transfers->bytes_out;
    std::map<unsigned, std::string> nodes;  // by number of the memory
    for (std::size_t p = 0; p < subject.processors().size(); ++p) {
        const unsigned memory = transfers->memories[p];
        const auto [node, is_new] =
            nodes.try_emplace(memory, memory == 0 ? "main memory" : fmt::format("memory {}", memory));
        if (is_new) {
            LinkTimes link;
            if (memory != 0)
                link =
                    measure_link([&](std::size_t bytes) { return transfers->one_way_s(memory, bytes); }, options, stop);
            add_node(instance, node->second, memory != 0 ? &link : nullptr);
        }
        add_unit(instance, node->second, ": " + subject.processors()[p],
                 unit_seconds(times[p], share, subject.processors()[p]));
    }
    return instance;
}

std::string save_instance(const std::string& path, const Json& instance) {
    replace_file(path, [&](std::ostream& out) { out << instance.dump(2) << '\n'; });
    std::string told;
    for (std::size_t i = 0; i < instance["nodes"].size(); ++i)
        if (const Json& bytes_per_s = instance["b_N_bytes_per_s"][i]; !bytes_per_s.is_null())
            told += fmt::format("{}: a message takes {:.3g} s and {:.4g} bytes/s\n",
                                shown(instance["nodes"][i].get<std::string>()), instance["a_N_s"][i].get<double>(),
                                bytes_per_s.get<double>());
    const auto count = [&](const char* list, const char* name) { return counted(instance[list].size(), name); };
    return told + fmt::format("{}: an instance of {} with {}\n", shown(path), count("nodes", "node"),
                              count("pus", "processing unit"));
}

}  // namespace apportion
