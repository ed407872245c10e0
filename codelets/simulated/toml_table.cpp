// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/simulated/toml_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <utility>

#include "codelets/simulated/platform_file.hpp"

namespace apportion::simulated {

TomlTable::TomlTable(const toml::table& table, std::string file, std::string what)
    : table_(table), file_(std::move(file)), what_(std::move(what)) {}

void TomlTable::fail_at(const toml::node& node, const std::string& problem) const {
    throw UserError("{}:{}: {}", file_, node.source().begin.line, problem);
}

void TomlTable::fail(const char* key, const std::string& problem) const {
    const toml::node* node = key ? table_.get(key) : nullptr;
    fail_at(node ? *node : table_, problem);
}

const toml::node* TomlTable::find(const char* key) {
    known_.insert(key);
    return table_.get(key);
}

std::string TomlTable::text(const char* key) {
    const toml::node* node = find(key);
    if (!node) fail(nullptr, "{} lacks {}; add {} = \"...\"", what_, key, key);
    const auto value = node->value_exact<std::string>();
    if (!value || value->empty()) fail_at(*node, fmt::format("{} must be a text in quotes that is not empty", key));
    return *value;
}

std::string TomlTable::text(const char* key, const std::string& otherwise) { return find(key) ? text(key) : otherwise; }

double TomlTable::number(const char* key) {
    const toml::node* node = find(key);
    if (!node) fail(nullptr, "{} lacks {}; add {} = NUMBER", what_, key, key);
    const auto value = node->is_number() ? node->value<double>() : std::nullopt;
    if (!value || !std::isfinite(*value)) fail_at(*node, fmt::format("{} must be a finite number", key));
    return *value;
}

double TomlTable::within(const char* key, Limits limits) {
    const double value = number(key);
    if (value < limits.least || value > limits.most)
        fail(key, "{} is {}, but must be from {:g} to {:g}", key, value, limits.least, limits.most);
    return value;
}

double TomlTable::within(const char* key, Limits limits, double otherwise) {
    return find(key) ? within(key, limits) : otherwise;
}

double TomlTable::zero_or_within(const char* key, Limits limits, double otherwise) {
    if (!find(key)) return otherwise;
    const double value = number(key);
    if (value != 0 && (value < limits.least || value > limits.most))
        fail(key, "{} is {}, but must be 0 or from {:g} to {:g}", key, value, limits.least, limits.most);
    return value;
}

std::int64_t TomlTable::whole(const char* key, std::int64_t smallest, std::int64_t largest, std::int64_t otherwise) {
    const toml::node* node = find(key);
    if (!node) return otherwise;
    const auto value = node->value_exact<std::int64_t>();
    if (!value || *value < smallest || *value > largest)
        fail_at(*node, fmt::format("{} must be a whole number from {} to {}", key, smallest, largest));
    return *value;
}

bool TomlTable::yes_no(const char* key, bool otherwise) {
    const toml::node* node = find(key);
    if (!node) return otherwise;
    const auto value = node->value_exact<bool>();
    if (!value) fail_at(*node, fmt::format("{} must be true or false", key));
    return *value;
}

std::vector<std::pair<double, double>> TomlTable::points(const char* key, Limits x_limits, Limits y_limits) {
    std::vector<std::pair<double, double>> points;
    const toml::node* node = find(key);
    if (!node) return points;
    const auto wrong = [&](const toml::node& at) {
        fail_at(at, fmt::format(
                        "{} must be a list [[x, y], ...] with x from {:g} to {:g}, ascending, and y from {:g} to {:g}",
                        key, x_limits.least, x_limits.most, y_limits.least, y_limits.most));
    };
    if (!node->is_array() || node->as_array()->empty()) wrong(*node);
    for (const toml::node& entry : *node->as_array()) {
        const toml::array* pair = entry.as_array();
        if (!pair || pair->size() != 2 || !(*pair)[0].is_number() || !(*pair)[1].is_number()) wrong(entry);
        const double x = *(*pair)[0].value<double>(), y = *(*pair)[1].value<double>();
        const auto outside = [](double value, Limits limits) {
            return !(value >= limits.least && value <= limits.most);
        };
        if (outside(x, x_limits) || outside(y, y_limits)) wrong(entry);
        if (!points.empty() && x <= points.back().first) wrong(entry);
        points.emplace_back(x, y);
    }
    return points;
}

std::optional<TomlTable> TomlTable::table(const char* key, const std::string& what) {
    const toml::node* node = find(key);
    if (!node) return std::nullopt;
    if (!node->is_table()) fail_at(*node, fmt::format("{} must be a table, {} = {{ ... }}", key, key));
    return TomlTable(*node->as_table(), file_, what);
}

void TomlTable::for_each_table(const char* key, const std::string& what, const std::function<void(TomlTable)>& read) {
    const toml::node* node = find(key);
    if (!node) return;
    if (!node->is_array_of_tables()) fail_at(*node, fmt::format("write [[{}]] for each {}", key, key));
    for (const toml::node& entry : *node->as_array()) read(TomlTable(*entry.as_table(), file_, what));
}

void TomlTable::for_each_named(const char* key, const std::function<void(const std::string&, TomlTable)>& read) {
    const toml::node* node = find(key);
    if (!node) return;
    if (!node->is_table()) fail_at(*node, fmt::format("write [{}.NAME] for each {}", key, key));
    for (const auto& [name, entry] : *node->as_table()) {
        const std::string text(name.str());
        if (!entry.is_table()) fail_at(entry, fmt::format("write [{}.{}] and its keys below", key, text));
        read(text, TomlTable(*entry.as_table(), file_, fmt::format("{} {}", key, text)));
    }
}

void TomlTable::for_each_whole(const char* key, std::int64_t smallest, std::int64_t largest,
                               const std::function<void(const std::string&, std::int64_t)>& read) {
    const auto values = table(key, key);
    if (!values) return;
    for (const auto& [name, entry] : values->table_) {
        const auto value = entry.value_exact<std::int64_t>();
        if (!value || *value < smallest || *value > largest)
            fail_at(entry,
                    fmt::format("{} of {} must be a whole number from {} to {}", name.str(), key, smallest, largest));
        read(std::string(name.str()), *value);
    }
}

void TomlTable::for_each_text(const char* key, const std::function<std::string(const std::string&)>& read) {
    const toml::node* node = find(key);
    if (!node) return;
    const auto wrong = [&](const toml::node& at) { fail_at(at, fmt::format("{} must be a list [\"...\", ...]", key)); };
    if (!node->is_array()) wrong(*node);
    for (const toml::node& entry : *node->as_array()) {
        const auto value = entry.value_exact<std::string>();
        if (!value) wrong(entry);
        if (const std::string problem = read(*value); !problem.empty()) fail_at(entry, problem);
    }
}

void TomlTable::finish() const {
    for (const auto& [key, node] : table_)
        if (!known_.contains(key.str()))
            throw UserError("{}:{}: {} has no key {}; its keys are {}", file_, key.source().begin.line, what_,
                            key.str(), fmt::join(known_, ", "));
}

}  // namespace apportion::simulated
