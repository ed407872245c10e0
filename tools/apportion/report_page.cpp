// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/report_page.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string_view>

#include "models/io/shown.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/explanation.hpp"
#include "tools/apportion/page_parts.hpp"
#include "tools/apportion/run_report.hpp"
#include "tools/apportion/timeline.hpp"

namespace apportion {

namespace {

using Json = nlohmann::json;
using Data = nlohmann::ordered_json;

std::string text_of(const Json& value) { return shown(value.get<std::string>()); }

/// "65536 x 65536", "8", or nothing.
std::string size_text(const Json& size) {
    if (size.is_null()) return "";
    if (size.is_string()) return ", size " + shown(size.get<std::string>());
    std::string text;
    for (const Json& n : size.is_array() ? size : Json::array({size})) text += (text.empty() ? "" : " x ") + n.dump();
    return ", size " + text;
}

Data policy_data(const Json& entry, const Json& runs) {
    const std::string policy = entry.at("policy");
    const auto of = [&](const char* flag, const Json& value) {
        return std::ranges::find_if(
            runs, [&](const Json& run) { return run.at("policy") == policy && run.at(flag) == value; });
    };
    const auto best = of("best", true), first = of("choice", "default");
    if (best == runs.end()) throw UserError(fmt::format("policy {} has no best run", in_quotes(policy)));
    const Json& makespan = best->at("makespan_seconds");
    Data raw = Data::array(), shares = Data::object(), faster = Data::array();
    for (const Json& run : best->at("raw")) raw.push_back(run.at("seconds").get<double>());
    for (const auto& [name, percent] : best->at("share_percent").items()) shares[shown(name)] = percent.get<double>();
    for (const Json& slower : entry.at("faster_than")) faster.push_back(text_of(slower));
    const bool other_default = first != runs.end() && first != best;
    return {{"name", shown(policy)},
            {"rank", entry.at("rank").get<int>()},
            {"faster_than", std::move(faster)},
            {"blocks", best->at("blocks").get<std::int64_t>()},
            {"median", makespan.at("median").get<double>()},
            {"low", makespan.at("low").get<double>()},
            {"high", makespan.at("high").get<double>()},
            {"default_median",
             other_default ? Data(first->at("makespan_seconds").at("median").get<double>()) : Data(nullptr)},
            {"idle", best->at("idle_percent").get<double>()},
            {"raw", std::move(raw)},
            {"shares", std::move(shares)}};
}

Data comparison_data_of(const Json& comparison, const std::string& source) {
    const Json& platform = comparison.at("platform");
    std::vector<Data> policies;
    Data sentences = Data::array();
    double confidence = 1;
    for (const Json& entry : comparison.at("order")) policies.push_back(policy_data(entry, comparison.at("runs")));
    std::ranges::stable_sort(policies, {}, [](const Data& policy) {
        return std::pair(policy.at("rank").get<int>(), policy.at("median").get<double>());
    });
    for (const Json& run : comparison.at("runs"))
        if (run.at("best").get<bool>())
            confidence = std::min(confidence, run.at("makespan_seconds").at("confidence").get<double>());
    for (const Json& sentence : comparison.at("conclusions")) sentences.push_back(text_of(sentence));
    const Json bound = comparison.at("lower_bound_seconds");
    return {{"source", shown(source)},
            {"title", text_of(comparison.at("app")) + size_text(comparison.at("size")) +
                          (platform.is_null() ? ", on " + text_of(comparison.at("provenance").at("host"))
                                              : ", on simulated platform " + text_of(platform))},
            {"bound", bound.is_null() ? Data(nullptr) : Data(bound.get<double>())},
            {"bound_kind", text_of(comparison.at("lower_bound_kind"))},
            {"confidence", confidence},
            {"several_loads", comparison.at("runs").at(0).at("loads").size() > 1},
            {"policies", policies},
            {"sentences", std::move(sentences)}};
}

/// null: no report has blocks.
Data timeline_data(const std::vector<RunReport>& reports) {
    std::vector<RunReport> traced;
    std::ranges::copy_if(reports, std::back_inserter(traced),
                         [](const RunReport& report) { return !report.trace.empty(); });
    if (traced.empty()) return nullptr;
    const Timeline timeline = timeline_of(traced);
    Data processors = Data::array(), blocks = Data::array(), runs = Data::array(), decisions = Data::array();
    for (const std::string& name : timeline.processors) processors.push_back(shown(name));
    for (const TimelineBlock& block : timeline.blocks)
        blocks.push_back({{"p", block.processor},
                          {"load", shown(block.load)},
                          {"first", block.first},
                          {"units", block.units},
                          {"given", block.given_s},
                          {"start", block.start_s},
                          {"end", block.end_s},
                          {"home", block.home_s},
                          {"back", block.given_back}});
    for (const TimelineRun& run : timeline.runs)
        runs.push_back({{"load", shown(run.load)},
                        {"policy", shown(run.policy)},
                        {"run", run.run},
                        {"begin", run.begin_s},
                        {"end", run.end_s}});
    for (const TimelineDecision& decision : timeline.decisions)
        decisions.push_back({{"at", decision.at_s},
                             {"reason", shown(decision.reason)},
                             {"shares", shown(decision.shares)},
                             {"predicted", decision.predicted_s < 0 ? Data(nullptr) : Data(decision.predicted_s)}});
    return {{"processors", std::move(processors)},
            {"blocks", std::move(blocks)},
            {"runs", std::move(runs)},
            {"decisions", std::move(decisions)}};
}

Data explained_data(const RunReport& report) {
    Data explanation = explanation_json(report), sentences = Data::array(), processors = Data::array();
    for (const std::string& sentence : explanation_sentences(report)) sentences.push_back(shown(sentence));
    for (Data& processor : explanation.at("processors")) {
        processor["name"] = text_of(processor.at("name"));
        processors.push_back(std::move(processor));
    }
    return {{"load", shown(report.load)},
            {"policy", shown(report.policy)},
            {"run", report.run},
            {"makespan", explanation.at("makespan_seconds")},
            {"sentences", std::move(sentences)},
            {"processors", std::move(processors)},
            {"predicted", explanation.at("predicted_seconds")}};
}

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text)
        out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : std::string(1, c);
    return out;
}

/// As content of a script element, which only "</script" would end, and only "<!--" would change.
std::string script_of(std::string_view code) {
    std::string out;
    for (std::size_t k = 0; k < code.size(); ++k) {
        const bool ends = code.substr(k).starts_with("</script") || code.substr(k).starts_with("<!--");
        out += ends ? std::string("\\x3c") : std::string(1, code[k]);
    }
    return out;
}

/// JSON in a script element: no '<' is left, so that nothing in it begins or ends an element.
std::string json_text(const Data& data) {
    std::string out;
    for (const char c : data.dump(-1, ' ', true, Data::error_handler_t::replace))
        out += c == '<' ? std::string("\\u003c") : std::string(1, c);
    return out;
}

}  // namespace

bool is_comparison(const Json& value) {
    return value.is_object() && value.contains("runs") && value.contains("order") && value.contains("app");
}

Data comparison_data(const Json& comparison, const std::string& source) {
    try {
        return comparison_data_of(comparison, source);
    } catch (const Json::exception& error) {
        const std::string what = error.what();
        throw UserError(fmt::format("{}: it is no comparison of this version of Apportion: {}", source,
                                    shown(what.substr(what.find("] ") + 2))));
    }
}

Data program_data(const std::vector<RunReport>& reports, const std::string& source) {
    Data loads = Data::array(), explained = Data::array();
    for (const LoadRuns& load : loads_of(reports)) {
        loads.push_back({{"name", shown(load.name)},
                         {"policy", shown(load.last().policy)},
                         {"units", load.last().units},
                         {"runs", load.reports.size()},
                         {"first", load.reports.front()->makespan_s},
                         {"last", load.last().makespan_s},
                         {"together", load.seconds()}});
        explained.push_back(explained_data(load.last()));
    }
    return {{"source", shown(source)},
            {"loads", std::move(loads)},
            {"timeline", timeline_data(reports)},
            {"explained", std::move(explained)}};
}

std::string html_page(const Data& data, const std::string& title) {
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
        "style-src 'unsafe-inline'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n"
        "<style>\n{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n"
        "<noscript><p>The tables and charts of this page are made by its script, which this browser does not "
        "run.</p></noscript>\n<main></main>\n"
        "<footer>Made by apportion " APPORTION_VERSION
        " on {2:%Y-%m-%d}. Charts: Chart.js.</footer>\n"
        "<script id=\"data\" type=\"application/json\">{3}</script>\n<!--\n{4}-->\n<script>\n{5}</script>\n"
        "<script>\n{6}</script>\n</body>\n</html>\n",
        escaped(shown(title)), page_style, fmt::gmtime(std::time(nullptr)), json_text(data), chart_licence,
        script_of(chart_code), script_of(page_code));
}

}  // namespace apportion
