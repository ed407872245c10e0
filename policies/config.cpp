// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/config.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <vector>

namespace apportion {

namespace {

constexpr std::string_view kPrefix = "APPORTION_";

std::string value_of(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

std::optional<Units> whole_number(std::string_view text, Units smallest) {
    Units value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < smallest) return std::nullopt;
    return value;
}

/// "worker=factor,worker=factor"; nothing when malformed.
std::optional<std::map<int, int>> parse_handicap(std::string_view text) {
    constexpr Units kMost = 1'000'000;
    std::map<int, int> factors;
    while (!text.empty()) {
        const std::string_view item = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), item.size() + 1));
        const std::size_t equals = item.find('=');
        if (equals == std::string_view::npos) return std::nullopt;
        const auto worker = whole_number(item.substr(0, equals), 0);
        const auto factor = whole_number(item.substr(equals + 1), 1);
        if (!worker || !factor || *worker > kMost || *factor > kMost) return std::nullopt;
        if (!factors.emplace(static_cast<int>(*worker), static_cast<int>(*factor)).second) return std::nullopt;
    }
    return factors;
}

std::string check_plb_hec(const std::string& value) {
    return value == "improved" || value == "published" ? "" : "it must be improved or published";
}
std::string check_positive(const std::string& value) {
    return whole_number(value, 1) ? "" : "it must be a whole number of at least 1";
}
std::string check_switch(const std::string& value) { return value == "0" || value == "1" ? "" : "it must be 0 or 1"; }
std::string check_handicap(const std::string& value) {
    return parse_handicap(value) ? "" : "it must be a list like 1=4,3=2 of different workers and factors of at least 1";
}
std::string check_file(const std::string&) { return ""; }

const EnvironmentVariable kVariables[] = {
    {"APPORTION_PLB_HEC", "variant of plb-hec", "improved | published", "improved", check_plb_hec},
    {"APPORTION_INITIAL_BLOCK", "units of a first block", "integer >= 1", "units / (64 workers)", check_positive},
    {"APPORTION_BLOCKS", "number of equal blocks under StarPU's schedulers", "integer >= 1", "4 per worker",
     check_positive},
    {"APPORTION_PROFILES", "recorded profiles: a folder of them, or one file", "folder | file name",
     "~/.local/share/apportion/profiles", check_file},
    {"APPORTION_REPORT", "file that every finished load appends its JSON report to", "file name", "none", check_file},
    {"APPORTION_TRACE", "1: the report lists every block", "0 | 1", "0", check_switch},
    {"APPORTION_HANDICAP", "workers that repeat their arithmetic, for tests", "worker=factor[,worker=factor]", "none",
     check_handicap},
    {"APPORTION_PLATFORM", "platform file of the simulated machine", "file name", "none", check_file},
    {"APPORTION_PLATFORM_SEED", "seed of the simulated noise", "integer >= 1", "the platform file's", check_positive},
};

/// Read by the set-up scripts, not by the library.
constexpr const char* kOtherNames[] = {"APPORTION_CACHE", "APPORTION_STARPU_REAL", "APPORTION_STARPU_SIMGRID"};

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0]++;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replace = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replace, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

std::vector<std::string_view> known_names() {
    std::vector<std::string_view> names(std::begin(kOtherNames), std::end(kOtherNames));
    for (const EnvironmentVariable& variable : kVariables) names.emplace_back(variable.name);
    return names;
}

}  // namespace

std::span<const EnvironmentVariable> environment_variables() { return kVariables; }

std::optional<std::string> check_environment() {
    for (const EnvironmentVariable& variable : kVariables) {
        const std::string value = value_of(variable.name);
        if (value.empty()) continue;
        if (const std::string wrong = variable.check(value); !wrong.empty())
            return fmt::format("Environment variable {}: \"{}\" is not usable, {}.", variable.name, value, wrong);
    }
    const auto names = known_names();
    for (char** entry = environ; entry && *entry; ++entry) {
        const std::string_view text = *entry;
        const std::string_view name = text.substr(0, text.find('='));
        if (!name.starts_with(kPrefix) || std::find(names.begin(), names.end(), name) != names.end()) continue;
        const auto nearest = std::min_element(names.begin(), names.end(), [name](auto a, auto b) {
            return edit_distance(name, a) < edit_distance(name, b);
        });
        return fmt::format("Environment variable {} is unknown; did you mean {}?", name, *nearest);
    }
    return std::nullopt;
}

PlbHecVariant plb_hec_option() {
    return value_of("APPORTION_PLB_HEC") == "published" ? PlbHecVariant::published : PlbHecVariant::improved;
}
std::optional<Units> initial_block_option() { return whole_number(value_of("APPORTION_INITIAL_BLOCK"), 1); }
std::optional<Units> blocks_option() { return whole_number(value_of("APPORTION_BLOCKS"), 1); }
std::string report_file_option() { return value_of("APPORTION_REPORT"); }
std::string profiles_option() { return value_of("APPORTION_PROFILES"); }
bool trace_option() { return value_of("APPORTION_TRACE") == "1"; }
std::map<int, int> handicap_option() {
    return parse_handicap(value_of("APPORTION_HANDICAP")).value_or(std::map<int, int>{});
}
std::string platform_file_option() { return value_of("APPORTION_PLATFORM"); }

}  // namespace apportion
