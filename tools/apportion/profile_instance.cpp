// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/profile_instance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "models/io/new_file.hpp"
#include "models/io/shown.hpp"
#include "tools/apportion/command.hpp"

namespace apportion {

namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20;
/// Section 4.3; times of smaller messages are not consistent.
constexpr std::size_t kMessages[] = {kMebibyte / 2, kMebibyte,      2 * kMebibyte,
                                     8 * kMebibyte, 16 * kMebibyte, 32 * kMebibyte};

/// Seconds of a unit at the measured size nearest to `share`.
double unit_seconds(const std::map<Units, double>& times, Units share, const std::string& processor) {
    const auto distance = [&](const auto& time) { return std::abs(time.first - share); };
    const auto nearest = std::ranges::min_element(times, {}, distance);
    if (nearest == times.end())
        throw UserError(
            fmt::format("--instance: nothing was measured of {}; give --sizes that fit it", shown(processor)));
    return nearest->second / static_cast<double>(nearest->first);
}

}  // namespace

LinkTimes measure_link(const std::function<double(std::size_t bytes)>& one_way_s, const SampleOptions& options) {
    const auto mean_s = [&](std::size_t bytes) {
        Samples samples(options);
        while (!samples.enough()) samples.add(one_way_s(bytes));
        return samples.mean_s();
    };
    LinkTimes link{mean_s(1), 0};
    double sum = 0, smaller_s = 0;
    int pairs = 0;
    for (std::size_t k = 0; k < std::size(kMessages); ++k) {
        const double seconds = mean_s(kMessages[k]);
        if (k > 0 && seconds > smaller_s) {
            sum += static_cast<double>(kMessages[k] - kMessages[k - 1]) / (seconds - smaller_s);
            ++pairs;
        }
        smaller_s = seconds;
    }
    if (pairs == 0)
        throw UserError("--instance: large messages took no longer than small ones; measure on a quieter machine");
    link.bytes_per_s = sum / pairs;
    return link;
}

void check_instance(const std::string& path, ProfileSubject& subject) {
    if (!subject.transfers())
        throw UserError("--instance: a kernel's data are not known; give an application by --app NAME");
    const NewFile can_be_written(path);
}

std::string write_instance(const std::string& path, ProfileSubject& subject,
                           const std::vector<std::map<Units, double>>& times, Units units,
                           const SampleOptions& options) {
    const std::optional<Transfers> transfers = subject.transfers();
    const Units share = units / static_cast<Units>(subject.processors().size());
    nlohmann::ordered_json instance;
    instance["description"] = fmt::format("units of {}, measured by apportion profile", subject.load());
    for (const char* list : {"nodes", "pus", "a_N_s", "b_N_bytes_per_s", "c_s"})
        instance[list] = nlohmann::json::array();
    instance["d_si_bytes"] = transfers->bytes_in;
    instance["d_sr_bytes"] = transfers->bytes_out;
    std::map<unsigned, std::string> nodes;  // by number of the memory
    std::string told;
    for (std::size_t p = 0; p < subject.processors().size(); ++p) {
        const unsigned memory = transfers->memories[p];
        const auto [node, is_new] =
            nodes.try_emplace(memory, memory == 0 ? "main memory" : fmt::format("memory {}", memory));
        if (is_new) {
            LinkTimes link;
            nlohmann::ordered_json bandwidth;  // null: the data are there
            if (memory != 0) {
                link = measure_link([&](std::size_t bytes) { return transfers->one_way_s(memory, bytes); }, options);
                bandwidth = link.bytes_per_s;
                told += fmt::format("{}: a message takes {:.3g} s and {:.4g} bytes/s\n", node->second, link.startup_s,
                                    link.bytes_per_s);
            }
            instance["nodes"].push_back(node->second);
            instance["a_N_s"].push_back(link.startup_s);
            instance["b_N_bytes_per_s"].push_back(bandwidth);
        }
        instance["pus"].push_back({{"node", node->second}, {"device", ": " + subject.processors()[p]}});
        instance["c_s"].push_back(unit_seconds(times[p], share, subject.processors()[p]));
    }
    replace_file(path, [&](std::ostream& out) { out << instance.dump(2) << '\n'; });
    const auto plural = [](std::size_t count) { return count == 1 ? "" : "s"; };
    return told + fmt::format("{}: an instance of {} node{} with {} processing unit{}\n", shown(path), nodes.size(),
                              plural(nodes.size()), times.size(), plural(times.size()));
}

}  // namespace apportion
