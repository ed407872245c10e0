// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/run_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "models/io/files.hpp"
#include "models/io/shown.hpp"
#include "tools/apportion/command.hpp"

namespace apportion {

namespace {

using Json = nlohmann::json;

/// A report, or an application's object around one or more.
void add(std::vector<RunReport>& reports, const Json& value, const std::string& where) {
    if (value.is_object() && value.contains("report")) {
        const Json& report = value["report"];
        if (report.is_object() && report.contains("parts") && report["parts"].is_array())
            for (const Json& part : report["parts"]) add(reports, part, where);
        else
            add(reports, report, where);
        return;
    }
    if (value.is_object() && value.contains("order") && value.contains("runs"))
        throw UserError("{}: it is a comparison; reports of runs are in the file that APPORTION_REPORT names", where);
    reports.push_back(run_report(value, where));
}

Json parse(const std::string& text, const std::string& where) {
    try {
        return Json::parse(text);
    } catch (const Json::exception&) {
        throw UserError("{}: {} is no JSON; was the file cut off, or is it no report?", where,
                        in_quotes(text.substr(0, text.find('\n'))));
    }
}

bool is_blank(const std::string& text) { return text.find_first_not_of(" \t\r\n") == std::string::npos; }

/// The blocks of `next`, which ran after what `merged` has. `weight`: of its shares.
void append(RunReport& merged, const RunReport& next, double weight) {
    const double begin_s = merged.makespan_s;
    merged.units += next.units;
    merged.blocks += next.blocks;
    merged.makespan_s += next.makespan_s;
    std::vector<std::size_t> indices;  // of next's processors among the merged ones
    for (const ReportedProcessor& other : next.processors) {
        const auto own = std::ranges::find(merged.processors, other.name, &ReportedProcessor::name);
        indices.push_back(static_cast<std::size_t>(own - merged.processors.begin()));
        if (own == merged.processors.end()) {
            merged.processors.push_back(other);
            merged.processors.back().share *= weight;
            continue;
        }
        own->share += weight * other.share;
        own->units += other.units;
        own->blocks += other.blocks;
        own->compute_s += other.compute_s;
        own->transfer_wait_s += other.transfer_wait_s;
        own->return_s += other.return_s;
    }
    for (ReportedBlock block : next.trace) {
        block.processor = indices[block.processor];
        for (double* moment : {&block.given_s, &block.start_s, &block.end_s, &block.home_s}) *moment += begin_s;
        merged.trace.push_back(block);
    }
}

}  // namespace

std::vector<RunReport> parse_reports(const std::string& text, const std::string& source) {
    std::vector<RunReport> reports;
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

std::vector<RunReport> read_reports(const std::string& file) {
    const std::string source = file == "-" ? "standard input" : file;
    std::vector<RunReport> reports = parse_reports(
        file == "-" ? std::string(std::istreambuf_iterator<char>(std::cin), {}) : read_whole_file(file), source);
    if (reports.empty())
        throw UserError("{}: has no report; let APPORTION_REPORT name a file when the program runs", source);
    return reports;
}

const RunReport& LoadRuns::largest() const {
    return **std::ranges::max_element(reports.rbegin(), reports.rend(), {}, &RunReport::units);
}

double LoadRuns::seconds() const {
    double sum = 0;
    for (const RunReport* report : reports) sum += report->makespan_s;
    return sum;
}

std::vector<LoadRuns> loads_of(const std::vector<RunReport>& reports) {
    std::vector<LoadRuns> loads;
    for (const RunReport& report : reports) {
        auto found = std::ranges::find_if(loads, [&](const LoadRuns& load) {
            return load.name == report.load && load.last().policy == report.policy;
        });
        if (found == loads.end()) found = loads.insert(found, LoadRuns{report.load, {}});
        found->reports.push_back(&report);
    }
    return loads;
}

RunReport merged_report(const std::vector<LoadRuns>& loads) {
    RunReport merged = loads.front().largest();
    if (loads.size() == 1) return merged;
    double all_s = 0;
    for (const LoadRuns& load : loads) all_s += load.seconds();
    const auto weight = [&](const LoadRuns& load) {
        return all_s > 0 ? load.seconds() / all_s : 1 / static_cast<double>(loads.size());
    };
    for (ReportedProcessor& processor : merged.processors) processor.share *= weight(loads.front());
    for (std::size_t k = 1; k < loads.size(); ++k) append(merged, loads[k].largest(), weight(loads[k]));
    double idle = 0;
    for (ReportedProcessor& processor : merged.processors) {
        processor.idle_percent =
            merged.makespan_s > 0 ? std::max(0.0, 100 * (1 - processor.compute_s / merged.makespan_s)) : 0;
        idle += processor.idle_percent / static_cast<double>(merged.processors.size());
    }
    merged.idle_percent = idle;
    return merged;
}

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

std::string describe_choice(const RunReport& report) {
    if (report.choice.empty()) return "";
    return fmt::format("auto chose {}{}{}", report.choice, report.note.empty() ? "" : ": ", report.note);
}

}  // namespace apportion
