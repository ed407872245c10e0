// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/explanation.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <map>

#include "models/io/shown.hpp"
#include "tools/apportion/recorded_load.hpp"
#include "tools/apportion/reports.hpp"
#include "tools/apportion/run_account.hpp"
#include "tools/apportion/run_findings.hpp"
#include "tools/apportion/seconds_text.hpp"
#include "tools/apportion/terminal.hpp"
#include "tools/apportion/text_table.hpp"

namespace apportion {

namespace {

using Json = nlohmann::json;

/// A second of any of them is a second of the makespan.
struct Entry {
    const char* name;
    const char* title;
    double ProcessorAccount::*seconds;
};
constexpr Entry kEntries[] = {
    {"compute", "computing", &ProcessorAccount::compute_s},  {"copies", "copies", &ProcessorAccount::copies_s},
    {"transfer", "for data", &ProcessorAccount::transfer_s}, {"models", "for models", &ProcessorAccount::models_s},
    {"policy", "for a block", &ProcessorAccount::policy_s},  {"home", "results home", &ProcessorAccount::home_s},
    {"end", "at the end", &ProcessorAccount::end_s}};

std::string title(const Json& report, const RunAccount& account) {
    std::string text = fmt::format("{}: {} units under {} took {} in {} block{}", report.at("load").get<std::string>(),
                                   report.at("units").get<std::int64_t>(), report.at("policy").get<std::string>(),
                                   seconds_text(account.makespan_s), report.at("blocks").get<std::int64_t>(),
                                   report.at("blocks").get<std::int64_t>() == 1 ? "" : "s");
    if (report.at("run").get<int>() > 1) text += fmt::format(", as run {} of the load", report.at("run").get<int>());
    const double bound =
        report.value("lower_bound_seconds", Json()).is_number() ? report.at("lower_bound_seconds").get<double>() : 0;
    if (bound > 0)
        text += fmt::format(": {:.3g} times the measured bound of {}", account.makespan_s / bound, seconds_text(bound));
    return text + ".";
}

/// Which processor bound the makespan.
std::string binding_sentence(const RunAccount& account) {
    const ProcessorAccount& p = account.processors[account.binding];
    if (p.units == 0) return "No processor computed anything.";
    const auto percent = [&](double s) { return account.makespan_s > 0 ? 100 * s / account.makespan_s : 0; };
    if (!account.has_blocks)
        return fmt::format(
            "{} was busy longest: {:.0f} % of the makespan computing, {:.0f} % waiting for data. (With "
            "APPORTION_TRACE=1 a run reports its blocks, and this tells where the rest went.)",
            p.name, percent(p.compute_s), percent(p.transfer_s));
    std::string text = fmt::format("{} bound the makespan: it was done last, at {}, having computed for {:.0f} % of it",
                                   p.name, seconds_text(p.last_s), percent(p.compute_s));
    const std::pair<double, const char*> waits[] = {{p.transfer_s, "waited for its data"},
                                                    {p.models_s, "waited until there were models"},
                                                    {p.policy_s, "waited for a block"},
                                                    {p.home_s, "waited for its last results to come home"}};
    for (const auto& [seconds, what] : waits)
        if (percent(seconds) >= 1) text += fmt::format(", {} for {:.0f} %", what, percent(seconds));
    const auto first = std::ranges::min_element(account.processors, {}, [](const ProcessorAccount& q) {
        return q.units > 0 ? q.last_s : std::numeric_limits<double>::infinity();
    });
    if (first->name != p.name)
        text += fmt::format("; {} was done first, at {}", first->name, seconds_text(first->last_s));
    return text + ".";
}

std::string table(const RunAccount& account) {
    std::vector<TextTable::Column> columns{{"% of the makespan", false}, {"units", true}, {"blocks", true}};
    for (const Entry& entry : kEntries) {
        const bool any =
            std::ranges::any_of(account.processors, [&](const ProcessorAccount& p) { return p.*entry.seconds > 0; });
        columns.push_back(
            {!account.has_blocks && entry.seconds == &ProcessorAccount::end_s ? "the rest" : entry.title, true, any});
    }
    TextTable rows(columns);
    for (const ProcessorAccount& p : account.processors) {
        std::vector<std::string> cells{p.name, std::to_string(p.units), std::to_string(p.blocks)};
        for (const Entry& entry : kEntries)
            cells.push_back(
                fmt::format("{:.1f}", account.makespan_s > 0 ? 100 * (p.*entry.seconds) / account.makespan_s : 0));
        rows.add(cells);
    }
    return rows.text(terminal_columns(STDOUT_FILENO));
}

/// What one more of the fastest processor would save at best, and what its loss would cost.
std::string fastest_sentence(const RunAccount& account) {
    double sum = 0;
    std::pair<double, std::string> fastest;
    std::int64_t units = 0;
    for (const ProcessorAccount& p : account.processors) {
        units += p.units;
        if (p.compute_s <= 0) continue;
        const double speed = static_cast<double>(p.units) / p.compute_s;
        sum += speed;
        fastest = std::max(fastest, {speed, p.name});
    }
    if (sum <= 0) return "";
    const auto n = static_cast<double>(units);
    std::string text = fmt::format(
        "At the speeds of this run perfectly divided work would take {}; one more processor like {} would make it {}",
        seconds_text(n / sum), fastest.second, seconds_text(n / (sum + fastest.first)));
    if (sum > fastest.first * (1 + 1e-9))
        text += fmt::format(", and without it it would be {}", seconds_text(n / (sum - fastest.first)));
    return text + ".";
}

std::map<std::string, double> predictions(const Json& report) {
    std::map<std::string, double> predicted = predicted_makespans(report);
    const Json choice = report.value("choice", Json());
    if (!predicted.empty() || !choice.is_object()) return predicted;
    const Json of_auto = choice.value("predicted_seconds", Json::object());
    for (const auto& [policy, seconds] : of_auto.items())
        if (seconds.is_number()) predicted[policy] = seconds;
    return predicted;
}

std::string prediction_table(const Json& report) {
    const std::map<std::string, double> predicted = predictions(report);
    if (predicted.empty()) return "";
    std::vector<std::pair<double, std::string>> sorted;
    for (const auto& [policy, seconds] : predicted) sorted.emplace_back(seconds, policy);
    std::ranges::sort(sorted);
    TextTable rows({{"policy", false}, {"predicted", true}, {"x of this run", true}});
    const double makespan_s = report.at("makespan_seconds");
    for (const auto& [seconds, policy] : sorted)
        rows.add({policy, seconds_text(seconds), makespan_s > 0 ? fmt::format("{:.3f}", seconds / makespan_s) : "-"});
    return "\nBy the recorded profile, without transfers, the policies would take\n" +
           rows.text(terminal_columns(STDOUT_FILENO));
}

std::vector<std::string> first_sentences(const Json& report, const RunAccount& account) {
    std::vector<std::string> sentences{title(report, account), binding_sentence(account)};
    const std::vector<std::string> facts = suspicious_facts(report, account);
    if (facts.empty()) sentences.emplace_back("Nothing looks suspicious.");
    for (const std::string& fact : facts)
        sentences.push_back((fact == facts.front() ? "To be looked at first: " : "Also: ") + fact + ".");
    if (const std::string choice = describe_choice(report); !choice.empty()) sentences.push_back(choice + ".");
    return sentences;
}

std::vector<std::string> last_sentences(const Json& report, const RunAccount& account) {
    std::vector<std::string> sentences;
    for (std::size_t p = 0; p < account.processors.size(); ++p)
        if (account.processors[p].units == 0)
            sentences.push_back(fmt::format("{} got nothing: {}.", account.processors[p].name, why_nothing(report, p)));
    if (const std::string fastest = fastest_sentence(account); !fastest.empty()) sentences.push_back(fastest);
    const Json note = report.value("note", Json());
    if (note.is_string() && !note.get<std::string>().empty())
        sentences.push_back("Note of the run: " + note.get<std::string>());
    return sentences;
}

}  // namespace

std::string explanation_text(const Json& report) {
    const auto lines = [](const std::vector<std::string>& sentences) {
        std::string text;
        for (const std::string& sentence : sentences)
            text += wrapped(shown(sentence), terminal_columns(STDOUT_FILENO)) + "\n";
        return text;
    };
    const RunAccount account = account_of(report);
    return lines(first_sentences(report, account)) + "\n" + table(account) + "\n" +
           lines(last_sentences(report, account)) + prediction_table(report);
}

std::vector<std::string> explanation_sentences(const Json& report) {
    const RunAccount account = account_of(report);
    std::vector<std::string> sentences = first_sentences(report, account);
    std::ranges::move(last_sentences(report, account), std::back_inserter(sentences));
    return sentences;
}

nlohmann::ordered_json explanation_json(const Json& report) {
    const RunAccount account = account_of(report);
    nlohmann::ordered_json processors = nlohmann::ordered_json::array();
    for (std::size_t p = 0; p < account.processors.size(); ++p) {
        const ProcessorAccount& own = account.processors[p];
        nlohmann::ordered_json seconds;
        for (const Entry& entry : kEntries) seconds[entry.name] = own.*entry.seconds;
        nlohmann::ordered_json entry{{"name", own.name}, {"units", own.units}, {"blocks", own.blocks}};
        entry["seconds"] = std::move(seconds);
        entry["why_nothing"] = nullptr;
        if (own.units == 0) entry["why_nothing"] = why_nothing(report, p);
        processors.push_back(std::move(entry));
    }
    return {{"load", report.at("load")},
            {"policy", report.at("policy")},
            {"run", report.at("run")},
            {"makespan_seconds", account.makespan_s},
            {"has_blocks", account.has_blocks},
            {"bound_by", account.processors[account.binding].name},
            {"processors", std::move(processors)},
            {"facts", suspicious_facts(report, account)},
            {"predicted_seconds", predictions(report)}};
}

}  // namespace apportion
