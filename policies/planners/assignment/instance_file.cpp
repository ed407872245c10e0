// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/assignment/instance_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <istream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "models/io/files.hpp"
#include "models/io/shown.hpp"

namespace apportion {

namespace {

using Json = nlohmann::json;

constexpr const char* kKeys[] = {"nodes",      "pus", "a_N_s",     "b_N_bytes_per_s", "d_si_bytes",
                                 "d_sr_bytes", "c_s", "compute_s", "limits",          "description"};
constexpr const char* kKeysOfUnits[] = {"node", "device"};

/// Beyond these a number is a mistake, and sums of many would not be finite.
constexpr double kSmallest = 1e-15, kLargest = 1e18;

class Reader {
  public:
    Reader(std::string text, const std::string& name) : text_(std::move(text)), name_(name) {}
    DataAssignment read();

  private:
    [[noreturn]] void fail_at(std::size_t offset, const std::string& problem) const {
        const auto end = text_.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text_.size()));
        throw FileError("{}:{}: {}", name_, 1 + std::count(text_.begin(), end, '\n'), problem);
    }
    /// The place of a key is that of its first appearance in the text.
    [[noreturn]] void fail(const std::string& key, const std::string& problem) const {
        const std::size_t at = text_.find('"' + key + '"');
        fail_at(at == std::string::npos ? 0 : at, fmt::format("\"{}\" {}", key, problem));
    }

    template <class First, class... Others>
    [[noreturn]] void fail(const std::string& key, fmt::format_string<First, Others...> problem, First&& first,
                           Others&&... others) const {
        fail(key, fmt::format(problem, std::forward<First>(first), std::forward<Others>(others)...));
    }

    const Json& required(const char* key) const {
        if (!json_.contains(key)) fail_at(0, fmt::format("\"{}\" is missing; add it", key));
        return json_[key];
    }
    /// `null_is`: a number that null stands for; -1: it stands for none.
    std::vector<double> numbers(const char* key, std::size_t count, const char* of_what, bool zero_allowed,
                                double null_is = -1) const;
    double bytes(const char* key) const;
    void read_nodes(DataAssignment& problem) const;
    void read_units(DataAssignment& problem) const;
    void read_limits(DataAssignment& problem) const;

    std::string text_;
    const std::string& name_;
    Json json_;
};

std::vector<double> Reader::numbers(const char* key, std::size_t count, const char* of_what, bool zero_allowed,
                                    double null_is) const {
    const Json& array = required(key);
    if (!array.is_array() || array.size() != count)
        fail(key, "must be a list of {} numbers, one for each {}", count, of_what);
    std::vector<double> values;
    for (const Json& element : array) {
        const double value = element.is_number() ? element.get<double>() : element.is_null() ? null_is : -1;
        if (!std::isfinite(value) || value > kLargest || value < (zero_allowed ? 0 : kSmallest))
            fail(key, "holds {} for {} number {}; it must be a number {} and at most {}",
                 element.is_primitive() ? shown(element.dump().substr(0, 40)) : "no number", of_what, values.size() + 1,
                 zero_allowed ? "of at least 0" : "greater than 0", kLargest);
        values.push_back(value);
    }
    return values;
}

double Reader::bytes(const char* key) const {
    const Json& value = required(key);
    if (!value.is_number() || !(value.get<double>() >= 0 && value.get<double>() <= kLargest))
        fail(key, "must be a number of bytes, at least 0");
    return value.get<double>();
}

void Reader::read_nodes(DataAssignment& problem) const {
    const Json& names = required("nodes");
    if (!names.is_array() || names.empty()) fail("nodes", "must be a list of at least one name");
    for (const Json& name : names) {
        if (!name.is_string() || name.get<std::string>().empty()) fail("nodes", "must hold names only, none empty");
        for (const AssignmentNode& other : problem.nodes)
            if (other.name == name.get<std::string>()) fail("nodes", "names '{}' twice; rename one", other.name);
        problem.nodes.push_back({name.get<std::string>(), 0, 0, kNoLimit});
    }
    const std::vector<double> startups = numbers("a_N_s", problem.nodes.size(), "node", true);
    const std::vector<double> bandwidths = numbers("b_N_bytes_per_s", problem.nodes.size(), "node", false, kLargest);
    const double packet_bytes = bytes("d_si_bytes") + bytes("d_sr_bytes");
    for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
        problem.nodes[i].startup_s = startups[i];
        problem.nodes[i].seconds_per_packet = bandwidths[i] < kLargest ? packet_bytes / bandwidths[i] : 0;
        if (!std::isfinite(problem.nodes[i].seconds_per_packet))
            fail("b_N_bytes_per_s", "is too small for node number {}", i + 1);
    }
}

void Reader::read_units(DataAssignment& problem) const {
    const Json& units = required("pus");
    if (!units.is_array() || units.empty()) fail("pus", "must be a list of at least one processing unit");
    const std::vector<double> seconds = numbers("c_s", units.size(), "processing unit", false);
    const std::vector<double> computing =
        json_.contains("compute_s") ? numbers("compute_s", units.size(), "processing unit", false) : seconds;
    for (std::size_t j = 0; j < units.size(); ++j) {
        const Json& unit = units[j];
        if (!unit.is_object() || !unit.contains("node") || !unit["node"].is_string() || !unit.contains("device") ||
            !unit["device"].is_string())
            fail("pus", "number {} must be an object with the texts \"node\" and \"device\"", j + 1);
        for (const auto& [key, value] : unit.items())
            if (std::ranges::find(kKeysOfUnits, key) == std::end(kKeysOfUnits))
                fail(key, "is no key of a processing unit; remove it or correct its name");
        const auto node_name = unit["node"].get<std::string>();
        const auto node = std::ranges::find_if(
            problem.nodes, [&](const AssignmentNode& candidate) { return candidate.name == node_name; });
        if (node == problem.nodes.end())
            fail("pus", "number {} belongs to a node that \"nodes\" does not name; add it there", j + 1);
        const std::string name = node_name + unit["device"].get<std::string>();
        if (std::ranges::find(problem.units, name, &AssignmentUnit::name) != problem.units.end())
            fail("pus", "names '{}' twice, node and device together; rename one", name);
        problem.units.push_back(
            {name, static_cast<std::size_t>(node - problem.nodes.begin()), seconds[j], computing[j], kNoLimit});
    }
}

void Reader::read_limits(DataAssignment& problem) const {
    if (!json_.contains("limits") || json_["limits"].is_null()) return;
    const Json& limits = json_["limits"];
    if (!limits.is_array() || limits.size() != problem.nodes.size())
        fail("limits", "must be a list of {} numbers or nulls, one for each node", problem.nodes.size());
    for (std::size_t i = 0; i < limits.size(); ++i) {
        if (limits[i].is_null()) continue;
        if (!limits[i].is_number_integer() ||
            (limits[i].is_number_unsigned() && limits[i].get<std::uint64_t>() > kNoLimit) || limits[i].get<Units>() < 0)
            fail("limits", "must hold a whole number of packets, at least 0, or null for node number {}", i + 1);
        problem.nodes[i].maximum_packets = limits[i].get<Units>();
    }
}

DataAssignment Reader::read() {
    try {
        std::set<std::string> keys;
        json_ = Json::parse(text_, [&](int depth, Json::parse_event_t event, Json& parsed) {
            if (depth == 1 && event == Json::parse_event_t::key && !keys.insert(parsed.get<std::string>()).second)
                fail(parsed.get<std::string>(), "is there twice; remove one");
            return true;
        });
    } catch (const Json::parse_error& error) {
        fail_at(error.byte > 0 ? error.byte - 1 : 0, "this is no valid JSON; correct the text here");
    } catch (const Json::exception&) {
        fail_at(0, "a number is out of range; correct it");
    }
    if (!json_.is_object()) fail_at(0, "the file must hold one JSON object with \"nodes\", \"pus\", ...");
    for (const auto& [key, value] : json_.items())
        if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys))
            fail(key, "is no key of an instance; remove it or correct its name");
    DataAssignment problem;
    read_nodes(problem);
    read_units(problem);
    read_limits(problem);
    return problem;
}

}  // namespace

DataAssignment read_instance(std::istream& in, const std::string& name) {
    std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (in.bad()) throw FileError("{}: reading failed; check the disk", name);
    return Reader(std::move(text), name).read();
}

DataAssignment read_instance(const std::string& path) { return Reader(read_whole_file(path), path).read(); }

}  // namespace apportion
