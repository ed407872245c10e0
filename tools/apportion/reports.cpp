// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <sstream>

#include "models/io/input_file.hpp"
#include "models/io/shown.hpp"
#include "tools/apportion/command.hpp"

namespace apportion {

namespace {

using Json = nlohmann::json;

struct Field {
    const char* name;
    bool (Json::*has_type)() const noexcept;
    const char* type;
};

constexpr Field kOfRun[] = {{"load", &Json::is_string, "a text"},
                            {"policy", &Json::is_string, "a text"},
                            {"units", &Json::is_number_integer, "an integer"},
                            {"granularity", &Json::is_number_integer, "an integer"},
                            {"run", &Json::is_number_integer, "an integer"},
                            {"blocks", &Json::is_number_integer, "an integer"},
                            {"makespan_seconds", &Json::is_number, "a number"},
                            {"idle_percent", &Json::is_number, "a number"},
                            {"processors", &Json::is_array, "an array"}};
constexpr Field kOfProcessor[] = {{"name", &Json::is_string, "a text"},
                                  {"kind", &Json::is_string, "a text"},
                                  {"units", &Json::is_number_integer, "an integer"},
                                  {"blocks", &Json::is_number_integer, "an integer"},
                                  {"compute_seconds", &Json::is_number, "a number"},
                                  {"transfer_wait_seconds", &Json::is_number, "a number"},
                                  {"return_seconds", &Json::is_number, "a number"},
                                  {"idle_percent", &Json::is_number, "a number"}};
constexpr Field kOfBlock[] = {{"processor", &Json::is_number_integer, "an integer"},
                              {"first", &Json::is_number_integer, "an integer"},
                              {"units", &Json::is_number_integer, "an integer"},
                              {"given", &Json::is_number, "a number"},
                              {"start", &Json::is_number, "a number"},
                              {"end", &Json::is_number, "a number"},
                              {"home", &Json::is_number, "a number"}};

template <std::size_t N>
void require(const Json& object, const Field (&fields)[N], const std::string& where, const std::string& what) {
    if (!object.is_object()) throw UserError(fmt::format("{}: {} is no JSON object", where, what));
    for (const Field& field : fields) {
        const auto found = object.find(field.name);
        if (found == object.end())
            throw UserError(fmt::format("{}: {} has no \"{}\"; it is no report of this version of Apportion", where,
                                        what, field.name));
        if (!((*found).*field.has_type)())
            throw UserError(fmt::format("{}: \"{}\" of {} is not {}; it is no report of this version of Apportion",
                                        where, field.name, what, field.type));
    }
}

/// Of numbers that are counts and times.
template <std::size_t N>
void require_not_negative(const Json& object, const Field (&fields)[N], const std::string& where,
                          const std::string& what) {
    for (const Field& field : fields)
        if (const Json& value = object[field.name]; value.is_number() && value.get<double>() < 0)
            throw UserError(fmt::format("{}: \"{}\" of {} is {}, but nothing of it is negative; was the file changed?",
                                        where, field.name, what, value.dump()));
}

void require_report(const Json& report, const std::string& where) {
    require(report, kOfRun, where, "the report");
    require_not_negative(report, kOfRun, where, "the report");
    if (report["granularity"] < 1) throw UserError(fmt::format("{}: the report has no granularity", where));
    if (report["processors"].empty()) throw UserError(fmt::format("{}: the report has no processors", where));
    for (const Json& processor : report["processors"]) {
        require(processor, kOfProcessor, where, "a processor");
        require_not_negative(processor, kOfProcessor, where, "a processor");
    }
    const auto trace = report.find("trace");
    if (trace == report.end()) return;
    if (!trace->is_array()) throw UserError(fmt::format("{}: \"trace\" of the report is not an array", where));
    for (const Json& block : *trace) {
        require(block, kOfBlock, where, "a block");
        const auto processor = block["processor"].get<std::int64_t>();
        if (processor < 0 || processor >= static_cast<std::int64_t>(report["processors"].size()))
            throw UserError(fmt::format("{}: a block is of processor {}, which there is not", where, processor));
    }
}

/// A report, or an application's object around one or more.
void add(std::vector<Json>& reports, const Json& value, const std::string& where) {
    if (value.is_object() && value.contains("report")) {
        const Json& report = value["report"];
        if (report.is_object() && report.contains("parts") && report["parts"].is_array())
            for (const Json& part : report["parts"]) add(reports, part, where);
        else
            add(reports, report, where);
        return;
    }
    require_report(value, where);
    reports.push_back(value);
}

Json parse(const std::string& text, const std::string& where) {
    try {
        return Json::parse(text);
    } catch (const Json::exception&) {
        throw UserError(fmt::format("{}: {} is no JSON; was the file cut off, or is it no report?", where,
                                    in_quotes(text.substr(0, text.find('\n')))));
    }
}

bool is_blank(const std::string& text) { return text.find_first_not_of(" \t\r\n") == std::string::npos; }

}  // namespace

std::vector<Json> parse_reports(const std::string& text, const std::string& source) {
    std::vector<Json> reports;
    if (Json::accept(text)) {
        const Json whole = Json::parse(text);
        for (const Json& value : whole.is_array() ? whole : Json::array({whole})) add(reports, value, source);
        return reports;
    }
    std::istringstream lines(text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
        const std::string where = fmt::format("{}:{}", source, ++number);
        if (!is_blank(line)) add(reports, parse(line, where), where);
    }
    return reports;
}

std::vector<Json> read_reports(const std::string& file) {
    const std::string text =
        file == "-" ? std::string(std::istreambuf_iterator<char>(std::cin), {}) : read_whole_file(file);
    const std::string source = file == "-" ? "standard input" : file;
    std::vector<Json> reports = parse_reports(text, source);
    if (reports.empty())
        throw UserError(
            fmt::format("{}: has no report; let APPORTION_REPORT name a file when the program runs", source));
    return reports;
}

double LoadRuns::seconds() const {
    double sum = 0;
    for (const Json* report : reports) sum += report->at("makespan_seconds").get<double>();
    return sum;
}

std::vector<LoadRuns> loads_of(const std::vector<Json>& reports) {
    std::vector<LoadRuns> loads;
    for (const Json& report : reports) {
        const std::string name = report.at("load");
        auto found = std::ranges::find(loads, name, &LoadRuns::name);
        if (found == loads.end()) found = loads.insert(found, LoadRuns{name, {}});
        found->reports.push_back(&report);
    }
    return loads;
}

Json merged_report(const std::vector<LoadRuns>& loads) {
    Json merged = loads.front().last();
    if (loads.size() == 1) return merged;
    const auto add_field = [](Json& to, const Json& from, const char* key) {
        if (from.at(key).is_number_integer())
            to[key] = to.at(key).get<std::int64_t>() + from.at(key).get<std::int64_t>();
        else
            to[key] = to.at(key).get<double>() + from.at(key).get<double>();
    };
    Json& processors = merged.at("processors");
    for (std::size_t k = 1; k < loads.size(); ++k) {
        const Json& next = loads[k].last();
        const double begin_s = merged.at("makespan_seconds");
        for (const char* key : {"units", "blocks", "makespan_seconds"}) add_field(merged, next, key);
        std::vector<std::size_t> indices;  // of next's processors among the merged ones
        for (const Json& other : next.at("processors")) {
            const auto own = std::ranges::find_if(
                processors, [&](const Json& processor) { return processor.at("name") == other.at("name"); });
            indices.push_back(static_cast<std::size_t>(own - processors.begin()));
            if (own == processors.end())
                processors.push_back(other);
            else
                for (const char* key :
                     {"units", "blocks", "compute_seconds", "transfer_wait_seconds", "return_seconds"})
                    add_field(*own, other, key);
        }
        for (Json block : next.value("trace", Json::array())) {
            block["processor"] = indices[block.at("processor").get<std::size_t>()];
            for (const char* key : {"given", "start", "end", "home"})
                block[key] = block.at(key).get<double>() + begin_s;
            merged["trace"].push_back(std::move(block));
        }
    }
    const double makespan_s = merged.at("makespan_seconds");
    double idle = 0;
    for (Json& processor : processors) {
        const double busy_s = processor.at("compute_seconds");
        processor["idle_percent"] = makespan_s > 0 ? std::max(0.0, 100 * (1 - busy_s / makespan_s)) : 0;
        idle += processor["idle_percent"].get<double>() / static_cast<double>(processors.size());
    }
    merged["idle_percent"] = idle;
    return merged;
}

std::string describe_choice(const Json& report) {
    const auto choice = report.find("choice");
    if (choice == report.end() || !choice->is_object()) return "";
    std::vector<std::pair<double, std::string>> predicted;
    const Json seconds = choice->value("predicted_seconds", Json::object());
    for (const auto& [policy, value] : seconds.items())
        if (value.is_number()) predicted.emplace_back(value.get<double>(), policy);
    std::ranges::sort(predicted);
    std::string text;
    for (const auto& [s, policy] : predicted) text += fmt::format("{}{} {:.4g} s", text.empty() ? "" : ", ", policy, s);
    const std::string chosen = choice->value("policy", "");
    if (!text.empty()) return fmt::format("auto chose {}; predicted are {}", chosen, text);
    const std::string note = report.value("note", "");
    return fmt::format("auto chose {}, which needs no profile{}", chosen, note.empty() ? "" : ": " + note);
}

}  // namespace apportion
