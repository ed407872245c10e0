// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `apportion platform`: lists the simulated machines, describes one, runs a program of the simulated flavour there, or
// draws one by chance.
#include "codelets/simulated/platform.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "codelets/io/command_line.hpp"
#include "codelets/io/terminal.hpp"
#include "codelets/simulated/machine_files.hpp"
#include "codelets/simulated/platform_file.hpp"
#include "codelets/simulated/random_platform.hpp"
#include "models/io/shown.hpp"
#include "models/io/text.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/program_runner.hpp"
#include "tools/apportion/text_table.hpp"

namespace apportion {

namespace {

using simulated::Device;
using simulated::DeviceKind;
using simulated::Link;
using simulated::Platform;
using Json = nlohmann::ordered_json;

struct PlatformOptions {
    std::string platform;
    std::vector<std::string> command;
    std::optional<std::uint64_t> random_seed;
    bool list = false, json = false;
};

const char* kind_name(DeviceKind kind) { return kind == DeviceKind::cpu ? "cpu" : "cuda"; }

void list_platforms() {
    for (const std::string& name : simulated::bundled_platforms())
        fmt::print("{}",
                   output_line(padded(shown(name), 20) + " " + shown(simulated::load_platform(name).description)));
}

std::string kernel_names(const Device& device) {
    std::vector<std::string> names;
    for (const auto& [name, time] : device.kernels) names.push_back(name);
    return fmt::format("{}", fmt::join(names, ", "));
}

std::string devices_of(const simulated::Node& node) {
    std::string text;
    for (const auto& [name, count] : node.devices)
        text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", count, name);
    if (node.bus)
        text += fmt::format("; bus {:g} GB/s, {:g} us", node.bus->bytes_per_s * 1e-9, node.bus->latency_s * 1e6);
    return text;
}

void print_platform(const Platform& platform) {
    fmt::print("{}: {}\n{}\n\n", shown(platform.name), shown(platform.description), shown(platform.file.string()));
    TextTable devices({"device", ">kind", ">count", "link", ">latency", ">memory", "kernels"});
    for (const Device& d : platform.devices) {
        const std::string behaviour = simulated::describe_behaviour(d);
        const bool own = d.kind == DeviceKind::cuda;
        devices.add({d.name, kind_name(d.kind), fmt::to_string(d.count), own ? platform.links[d.link].name : "-",
                     own ? fmt::format("{:g} us", d.latency_s * 1e6) : "-",
                     own ? fmt::format("{:g} GB", d.memory_bytes * 1e-9) : "main",
                     kernel_names(d) + (behaviour.empty() ? "" : "; " + behaviour)});
    }
    fmt::print("{}", devices.text());
    TextTable links({"link", ">bandwidth", "for", "directions"});
    for (const Link& link : platform.links)
        links.add({link.name, fmt::format("{:g} GB/s", link.bytes_per_s * 1e-9),
                   link.shared ? "all its devices" : "each device",
                   link.full_duplex ? "both at once" : "one at a time"});
    if (!platform.links.empty()) fmt::print("\n{}", links.text());
    TextTable nodes({"node", ">count", ">network", ">latency", "devices"});
    for (const simulated::Node& node : platform.nodes)
        nodes.add({node.name, fmt::to_string(node.count), fmt::format("{:g} GB/s", node.network_bytes_per_s * 1e-9),
                   fmt::format("{:g} us", node.network_latency_s * 1e6), devices_of(node)});
    if (!platform.nodes.empty()) fmt::print("\n{}", nodes.text());
    if (platform.noise > 0)
        fmt::print("\n  noise: log-normal, standard deviation {:g}, seed {}\n", platform.noise, platform.seed);
    else
        fmt::print("\n  noise: none\n");
}

Json platform_json(const Platform& platform) {
    Json json{{"name", platform.name},          {"description", platform.description},
              {"file", platform.file.string()}, {"seed", platform.seed},
              {"noise", platform.noise},        {"links", Json::array()},
              {"devices", Json::array()}};
    for (const Link& link : platform.links)
        json["links"].push_back({{"name", link.name},
                                 {"bytes_per_second", link.bytes_per_s},
                                 {"shared", link.shared},
                                 {"full_duplex", link.full_duplex}});
    for (const Device& d : platform.devices) {
        Json device{{"name", d.name}, {"kind", kind_name(d.kind)}, {"count", d.count}, {"kernels", Json::array()}};
        for (const auto& [name, time] : d.kernels) device["kernels"].push_back(name);
        if (d.kind == DeviceKind::cuda) {
            device["link"] = platform.links[d.link].name;
            device["latency_seconds"] = d.latency_s;
            device["memory_bytes"] = d.memory_bytes;
        }
        if (d.drift_factor != 1) device["drift"] = {{"factor", d.drift_factor}, {"from_seconds", d.drift_from_s}};
        if (d.spike_factor != 1) device["spike"] = {{"factor", d.spike_factor}, {"at_seconds", d.spike_at_s}};
        if (d.stall_s > 0) device["stall"] = {{"seconds", d.stall_s}, {"from_seconds", d.stall_from_s}};
        if (d.lost_at_s) device["lost_at_seconds"] = *d.lost_at_s;
        json["devices"].push_back(std::move(device));
    }
    for (const simulated::Node& n : platform.nodes) {
        Json node{{"name", n.name},
                  {"count", n.count},
                  {"devices", n.devices},
                  {"network", {{"bytes_per_second", n.network_bytes_per_s}, {"latency_seconds", n.network_latency_s}}}};
        if (n.bus) node["bus"] = {{"bytes_per_second", n.bus->bytes_per_s}, {"latency_seconds", n.bus->latency_s}};
        json["nodes"].push_back(std::move(node));
    }
    return json;
}

int run_command(const std::vector<std::string>& command, const std::vector<EnvironmentChange>& environment) {
    for (const EnvironmentChange& change : environment)
        if (change.remove)
            unsetenv(change.name.c_str());
        else
            setenv(change.name.c_str(), change.value.c_str(), 1);
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments.front(), arguments.data());
    const char* const why = std::strerror(errno);
    throw UserError("{} cannot be run: {}{}", command.front(), why, program_here(command.front()));
}

/// A program of the flavour smpi is a shared object, which names no loader; a file that is no program is left to
/// others.
bool runs_on_clusters(const std::string& program) {
    std::ifstream in(program, std::ios::binary);
    Elf64_Ehdr header{};
    in.read(reinterpret_cast<char*>(&header), sizeof header);
    if (!in || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    in.seekg(static_cast<std::streamoff>(header.e_phoff));
    for (int k = 0; k < header.e_phnum; ++k) {
        Elf64_Phdr part{};
        in.read(reinterpret_cast<char*>(&part), sizeof part);
        if (!in || part.p_type == PT_INTERP) return false;
    }
    return true;
}

void check_flavour(const std::string& program, const Platform& platform) {
    const bool cluster = !platform.nodes.empty();
    if (runs_on_clusters(program) == cluster) return;
    throw UserError(cluster
                        ? fmt::format("{} is no program that runs on a simulated cluster, as {} is; take one of the "
                                      "flavour smpi (tools/build smpi), such as build/smpi/apps/matmul",
                                      program, platform.name)
                        : fmt::format("{} is a program for simulated clusters, and {} is a single machine; take one "
                                      "of the flavour simgrid, such as build/simgrid/apps/matmul",
                                      program, platform.name));
}

int run_on_cluster(const std::vector<std::string>& command, const Platform& cluster,
                   const std::filesystem::path& folder) {
    check_for_smpirun(command);
    const simulated::ClusterFiles files = simulated::write_cluster_files(cluster, folder);
    std::vector<std::string> words = files.launcher;
    words.insert(words.end(), command.begin(), command.end());
    return run_command(words, files.environment);
}

int platform_command(const PlatformOptions& options) {
    if (options.list) {
        list_platforms();
        return 0;
    }
    if (options.random_seed) {
        std::cout << simulated::random_platform(*options.random_seed);
        return 0;
    }
    if (options.platform.empty())
        throw UserError("name a platform, or give --list to see the bundled ones, or --random SEED to draw one");
    const Platform platform = simulated::load_platform(options.platform);
    if (!options.command.empty()) {
        const std::filesystem::path folder = simulated::machine_files_cache(platform);
        check_flavour(options.command.front(), platform);
        if (!platform.nodes.empty()) return run_on_cluster(options.command, platform, folder);
        return run_command(options.command, simulated::write_machine_files(platform, folder));
    }
    if (options.json)
        std::cout << json_text(platform_json(platform));
    else
        print_platform(platform);
    return 0;
}

}  // namespace

void add_platform(CLI::App& app, std::function<int()>& run) {
    CLI::App* sub = app.add_subcommand("platform", "Simulated machines: list, describe, draw, or run a program on one");
    auto options = std::make_shared<PlatformOptions>();
    sub->footer(
        "Any program of the simulated flavour runs on a platform by\n"
        "  apportion platform NAME PROGRAM ARGUMENTS...");
    auto* name = sub->add_option("platform", options->platform, "a bundled platform, or a platform file")
                     ->type_name("NAME|FILE");
    auto* list = sub->add_flag("--list", options->list, "list the bundled platforms")->excludes(name);
    auto* json = sub->add_flag("--json", options->json, "print the description as one JSON object")->excludes(list);
    sub->add_option("--random", options->random_seed, "draw a machine by chance: a platform file, printed")
        ->check(seeds())
        ->type_name("SEED")
        ->excludes(name, list, json);
    sub->prefix_command();
    sub->callback([options, sub, &run] {
        options->command = sub->remaining();
        if (!options->command.empty() && options->command.front().starts_with('-'))
            throw CLI::ExtrasError({options->command.front()});
        run = [options] { return platform_command(*options); };
    });
}

}  // namespace apportion
