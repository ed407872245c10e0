// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Reads platform files. One file, though long: what a key means, its limits and what is said of a wrong one stand
// together.
#include "codelets/simulated/platform_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "codelets/simulated/toml_table.hpp"
#include "models/io/files.hpp"
#include "models/io/shown.hpp"
#include "models/io/text.hpp"
#include "models/io/text_file.hpp"

namespace apportion::simulated {

namespace fs = std::filesystem;

namespace {

constexpr Limits kMemory = {32 << 20, 1e15};  // bytes; with less StarPU would wait forever for a first piece
constexpr Limits kSpeed = {1e3, 1e15};        // bytes/s; beyond, SimGrid's other limits count
constexpr Limits kLatency = {1e-12, 1e3};     // s
constexpr Limits kMoment = {1e-12, 1e6};      // s; well below kNever_s, as all times
constexpr Limits kTime = {1e-12, 1e6};        // s
constexpr Limits kRate = {1e-6, 1e24};        // work/s
constexpr Limits kWorkTime = {1e-24, 1e6};    // s
constexpr Limits kAmount = {1e-12, 1e18};     // work or bytes
constexpr Limits kExponent = {1e-3, 10};
constexpr Limits kUnits = {1, 1e15};
constexpr Limits kHalf = {1e-9, 1e15};  // units
constexpr Limits kFactor = {1e-6, 1e6};
constexpr Limits kNoise = {1e-9, 2};  // of the logarithm: a factor of 7 is usual with 2
constexpr std::int64_t kMostDevices = 1024;
constexpr std::int64_t kMostNodes = 1024;
constexpr std::int64_t kLargestSeed = 1'000'000'000;
constexpr std::int64_t kLongestRipple = 1'000'000;

std::string names_of(const auto& entries) {
    std::vector<std::string> names;
    for (const auto& entry : entries) names.push_back(entry.name);
    return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

/// Beside the file that includes it or, where there is none, among those bundled; empty: nowhere.
fs::path included_part(const fs::path& folder, const std::string& part) {
    if (!is_missing(folder / part)) return folder / part;
    for (const fs::path& bundled : platform_folders())
        if (std::error_code closed; fs::exists(bundled / part, closed)) return bundled / part;
    return {};
}

/// Of a part or table of a platform; empty: it can be read.
std::string why_unreadable(const fs::path& file) {
    try {
        open_to_read(file.string());
        return {};
    } catch (const FileError& error) {
        return error.what();
    }
}

std::vector<std::pair<double, double>> read_table(TextFile& file) {
    if (!file.next()) file.fail("is empty");
    if (file.line() != "units,seconds") file.fail("the first line must be the heading units,seconds");
    std::vector<std::pair<double, double>> table;
    while (file.next()) {
        if (file.line().empty()) continue;
        const std::vector<std::string> fields = file.fields(',');
        const auto units = parse_number<double>(fields.front()), seconds = parse_number<double>(fields.back());
        if (fields.size() != 2 || !units || !seconds) file.fail("this must be two numbers, units,seconds");
        if (!(*units >= kUnits.least && *units <= kUnits.most && *units == std::floor(*units)))
            file.fail("units must be a whole number from {:g} to {:g}", kUnits.least, kUnits.most);
        if (!(*seconds >= kTime.least && *seconds <= kTime.most))
            file.fail("seconds must be from {:g} to {:g}", kTime.least, kTime.most);
        if (!table.empty() && *units <= table.back().first)
            file.fail("units must grow from line to line; sort the lines");
        table.emplace_back(*units, *seconds);
    }
    if (table.empty()) file.fail_in(2, "there is no line with units,seconds");
    return table;
}

std::vector<std::pair<double, double>> read_table(const fs::path& path) {
    TextFile file(path.string());
    return read_table(file);
}

Monomial read_monomial(TomlTable& kernel, const char* key) {
    Monomial monomial;
    auto table = kernel.table(key, key);
    if (!table) return monomial;
    monomial.factor = table->within("factor", kAmount);
    monomial.m = table->zero_or_within("m", kExponent, 0);
    monomial.n = table->zero_or_within("n", kExponent, 0);
    monomial.k = table->zero_or_within("k", kExponent, 0);
    table->finish();
    return monomial;
}

/// The rate of a formula, or what stands in its place.
void read_rate(TomlTable& table, TrueTime& time) {
    const char* found = nullptr;
    for (const char* key : {"rate", "seconds_per_work", "rates", "seconds_by_n"}) {
        if (!table.has(key)) continue;
        if (found) table.fail(key, "{} and {} exclude each other; remove one", found, key);
        found = key;
    }
    time.rates = table.points("rates", kUnits, kRate);
    time.seconds_by_n = table.points("seconds_by_n", kUnits, kTime);
    if (table.has("seconds_per_work"))
        time.rate = 1 / table.within("seconds_per_work", kWorkTime);
    else if (time.rates.empty() && time.seconds_by_n.empty())
        time.rate = table.within("rate", kRate);
}

class PlatformReader {
  public:
    Platform read(const fs::path& file);

  private:
    void read_file(const fs::path& file, bool included);
    void change_included(const std::string& device, TomlTable table);
    void read_needs(const std::string& name, TomlTable table);
    void read_link(TomlTable table);
    static void read_drift(TomlTable& table, double& factor, double& from_s);
    void read_device(TomlTable table, const fs::path& folder);
    TrueTime read_time(TomlTable& table, const fs::path& folder);
    void read_node(TomlTable table);

    Platform platform_;
    std::set<fs::path> seen_;
};

Platform PlatformReader::read(const fs::path& file) {
    read_file(file, false);
    platform_.file = fs::absolute(file);
    if (platform_.devices.empty()) throw UserError("{}:1: the platform has no device; add [[device]]", file.string());
    std::set<std::string> hosts;
    for (int rank = 0; rank < platform_.node_count(); ++rank)
        if (const std::string host = node_host(platform_, rank); !hosts.insert(host).second)
            throw UserError(
                "{}:1: two nodes would have the same host name, {}; give nodes names that differ in letters and digits",
                file.string(), host);
    std::ranges::stable_sort(platform_.devices, {}, &Device::kind);
    return std::move(platform_);
}

void PlatformReader::read_file(const fs::path& file, bool included) {
    std::error_code ignored;
    if (!seen_.insert(fs::weakly_canonical(file, ignored)).second) return;
    const std::string name = file.string();
    std::ifstream in = open_to_read(name);
    const std::string content{std::istreambuf_iterator<char>(in), {}};
    toml::table root;
    try {
        root = toml::parse(content, name);
    } catch (const toml::parse_error& error) {
        throw UserError("{}:{}: this is no TOML: {}", name, error.source().begin.line, error.description());
    }
    TomlTable table(root, name, "a platform file");
    table.for_each_text("include", [&](const std::string& part) {
        const fs::path found = included_part(file.parent_path(), part);
        if (found.empty())
            return fmt::format("include: there is no file {}, neither beside this one nor among those bundled",
                               in_quotes(part));
        if (const std::string why = why_unreadable(found); !why.empty()) return "include: " + why;
        read_file(found, true);
        return std::string();
    });
    const std::string own_name = table.text("name", file.stem().string());
    const std::string description = table.text("description", "no description");
    const std::int64_t seed = table.whole("seed", 1, kLargestSeed, 1);
    const double noise = table.zero_or_within("noise", kNoise, 0);
    if (!included) {
        platform_.name = own_name;
        platform_.description = description;
        platform_.seed = static_cast<std::uint64_t>(seed);
        platform_.noise = noise;
    }
    table.for_each_named("included",
                         [&](const std::string& device, TomlTable t) { change_included(device, std::move(t)); });
    table.for_each_named("kernel", [&](const std::string& kernel, TomlTable t) { read_needs(kernel, std::move(t)); });
    table.for_each_table("link", "a link", [&](TomlTable t) { read_link(std::move(t)); });
    table.for_each_table("device", "a device", [&](TomlTable t) { read_device(std::move(t), file.parent_path()); });
    table.for_each_table("node", "a node", [&](TomlTable t) { read_node(std::move(t)); });
    table.finish();
}

/// A device of an included part is there in another number.
void PlatformReader::change_included(const std::string& name, TomlTable table) {
    const auto known = std::ranges::count(platform_.devices, name, &Device::name);
    if (known == 0) table.fail(nullptr, "no included file has a device {}; name one that has", name);
    if (known > 1)
        table.fail(nullptr, "the included files have {} devices {}; rename all but one, or include other files", known,
                   name);
    const auto found = std::ranges::find(platform_.devices, name, &Device::name);
    found->count = static_cast<int>(table.whole("count", 1, kMostDevices, found->count));
    table.finish();
}

void PlatformReader::read_needs(const std::string& name, TomlTable table) {
    KernelNeeds needs;
    needs.work = read_monomial(table, "work");
    needs.bytes_in = read_monomial(table, "bytes_in");
    needs.bytes_out = read_monomial(table, "bytes_out");
    needs.resident_bytes = read_monomial(table, "resident_bytes");
    needs.kept = table.yes_no("kept", false);
    if (needs.work.factor == 0) needs.work.factor = 1;
    table.finish();
    if (!platform_.kernels.emplace(name, needs).second)
        table.fail(nullptr, "kernel {} is described twice; remove one", name);
}

void PlatformReader::read_link(TomlTable table) {
    Link link;
    link.name = table.text("name");
    link.bytes_per_s = table.within("bytes_per_s", kSpeed);
    link.latency_s = table.zero_or_within("latency_s", kLatency, 0);
    link.shared = table.yes_no("shared", true);
    link.full_duplex = table.yes_no("full_duplex", true);
    table.finish();
    for (const Link& other : platform_.links)
        if (other.name == link.name) table.fail("name", "there are two links {}; rename one", link.name);
    platform_.links.push_back(std::move(link));
}

/// Of a device, or of all devices of a node.
void PlatformReader::read_drift(TomlTable& table, double& factor, double& from_s) {
    auto drift = table.table("drift", "a drift");
    if (!drift) return;
    factor = drift->within("factor", kFactor);
    from_s = drift->zero_or_within("from_s", kMoment, 0);
    drift->finish();
}

void PlatformReader::read_device(TomlTable table, const fs::path& folder) {
    Device device;
    device.name = table.text("name");
    const std::string kind = table.text("kind");
    if (kind != "cpu" && kind != "cuda") table.fail("kind", "kind is {}, but must be cpu or cuda", kind);
    device.kind = kind == "cpu" ? DeviceKind::cpu : DeviceKind::cuda;
    device.count = static_cast<int>(table.whole("count", 1, kMostDevices, 1));
    if (device.kind == DeviceKind::cuda) {
        const std::string link = table.text("link");
        const auto found = std::ranges::find(platform_.links, link, &Link::name);
        if (found == platform_.links.end())
            table.fail("link", "there is no link {}; the links are: {}", link, names_of(platform_.links));
        device.link = static_cast<int>(found - platform_.links.begin());
        device.latency_s = table.zero_or_within("latency_s", kLatency, found->latency_s);
        device.memory_bytes = table.within("memory_bytes", kMemory);
    } else {
        for (const char* key : {"link", "latency_s", "memory_bytes"})
            if (table.has(key)) table.fail(key, "a cpu works in main memory and has no {}", key);
    }
    read_drift(table, device.drift_factor, device.drift_from_s);
    if (auto spike = table.table("spike", "a spike")) {
        device.spike_factor = spike->within("factor", kFactor);
        device.spike_at_s = spike->zero_or_within("at_s", kMoment, 0);
        spike->finish();
    }
    if (auto stall = table.table("stall", "a stall")) {
        device.stall_s = stall->within("seconds", kTime);
        device.stall_from_s = stall->zero_or_within("from_s", kMoment, 0);
        stall->finish();
    }
    if (table.has("lost_at_s")) device.lost_at_s = table.zero_or_within("lost_at_s", kMoment, 0);
    table.for_each_named("kernel", [&](const std::string& name, TomlTable kernel) {
        if (!platform_.kernels.contains(name))
            kernel.fail(nullptr, "kernel {} is not described; add [kernel.{}] to the platform or to an included file",
                        name, name);
        device.kernels.emplace(name, read_time(kernel, folder));
    });
    table.finish();
    platform_.devices.push_back(std::move(device));
}

void PlatformReader::read_node(TomlTable table) {
    Node node;
    node.name = table.text("name");
    node.count = static_cast<int>(table.whole("count", 1, kMostNodes, 1));
    if (platform_.node_count() + node.count > kMostNodes)
        table.fail("count", "a platform has at most {} nodes; remove some", kMostNodes);
    table.for_each_whole("devices", 1, kMostDevices, [&](const std::string& name, std::int64_t count) {
        const auto known = std::ranges::count(platform_.devices, name, &Device::name);
        if (known != 1)
            table.fail("devices", known == 0 ? fmt::format("there is no device {}; the devices are: {}", name,
                                                           names_of(platform_.devices))
                                             : fmt::format("there are {} devices {}; rename all but one", known, name));
        node.devices.emplace(name, static_cast<int>(count));
    });
    if (node.devices.empty())
        table.fail("devices", "node {} has no device; add devices = {{ \"NAME\" = COUNT }}", node.name);
    auto network = table.table("network", "a network");
    if (!network)
        table.fail(nullptr, "node {} has no network; add network = {{ bytes_per_s = NUMBER, latency_s = NUMBER }}",
                   node.name);
    node.network_bytes_per_s = network->within("bytes_per_s", kSpeed);
    node.network_latency_s = network->zero_or_within("latency_s", kLatency, 0);
    network->finish();
    if (auto bus = table.table("bus", "a bus")) {
        Link& link = node.bus.emplace();
        link.name = "bus";
        link.bytes_per_s = bus->within("bytes_per_s", kSpeed);
        link.latency_s = bus->zero_or_within("latency_s", kLatency, 0);
        link.shared = false;
        bus->finish();
    }
    read_drift(table, node.drift_factor, node.drift_from_s);
    table.finish();
    for (const Node& other : platform_.nodes)
        if (other.name == node.name)
            table.fail("name", "there are two nodes {}; rename one, or give a count", node.name);
    platform_.nodes.push_back(std::move(node));
}

TrueTime PlatformReader::read_time(TomlTable& table, const fs::path& folder) {
    TrueTime time;
    if (const std::string file = table.text("table", ""); !file.empty()) {
        for (const char* key :
             {"base_s", "rate", "seconds_per_work", "rates", "seconds_by_n", "half_saturation", "stream_bytes_per_s"})
            if (table.has(key)) table.fail(key, "a table replaces the formula; remove {}", key);
        if (is_missing(folder / file)) table.fail("table", "table: there is no file {}", in_quotes(file));
        if (const std::string why = why_unreadable(folder / file); !why.empty()) table.fail("table", "table: {}", why);
        time.table = read_table(folder / file);
    } else {
        time.base_s = table.zero_or_within("base_s", kTime, 0);
        read_rate(table, time);
        time.half_saturation = table.zero_or_within("half_saturation", kHalf, 0);
        time.stream_bytes_per_s = table.zero_or_within("stream_bytes_per_s", kSpeed, 0);
    }
    if (auto ripple = table.table("ripple", "a ripple")) {
        time.ripple_height = ripple->within("height", kFactor);
        if (!ripple->has("period")) ripple->fail(nullptr, "a ripple lacks period; add period = UNITS");
        time.ripple_period = ripple->whole("period", 2, kLongestRipple, 2);
        time.ripple_fade = ripple->within("fade", kHalf, 0);
        time.ripple_from = ripple->zero_or_within("from", kUnits, 0);
        time.ripple_to = ripple->within("to", kUnits, time.ripple_to);
        if (time.ripple_to < time.ripple_from) ripple->fail("to", "to must be at least from");
        ripple->finish();
    }
    table.finish();
    return time;
}

}  // namespace

std::vector<fs::path> platform_folders() { return {APPORTION_PLATFORMS_SOURCE, APPORTION_PLATFORMS_INSTALLED}; }

std::vector<std::string> bundled_platforms() {
    std::set<std::string> names;
    for (const fs::path& folder : platform_folders()) {
        std::error_code missing;
        for (const auto& entry : fs::directory_iterator(folder, missing))
            if (entry.path().extension() == ".toml") names.insert(entry.path().stem().string());
    }
    return {names.begin(), names.end()};
}

Platform load_machine(const std::string& name_or_path) {
    Platform platform = load_platform(name_or_path);
    if (!platform.nodes.empty())
        throw UserError(
            "{}:1: the platform is a cluster of {}, and this is for a single machine; name one without [[node]], "
            "or use `apportion compare --platform`",
            platform.file.string(), counted(platform.node_count(), "node"));
    return platform;
}

Platform load_platform(const std::string& name_or_path) {
    for (const fs::path& folder : platform_folders()) {
        const fs::path file = folder / (name_or_path + ".toml");
        std::error_code missing;  // the source tree may be closed to users of installed programs
        if (name_or_path.find('/') == std::string::npos && fs::exists(file, missing))
            return PlatformReader().read(file);
    }
    if (is_missing(name_or_path))
        throw UserError("there is no platform {}; give a file or one of the bundled platforms: {}", name_or_path,
                        fmt::join(bundled_platforms(), ", "));
    return PlatformReader().read(name_or_path);
}

}  // namespace apportion::simulated
