// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "codelets/io/terminal.hpp"
#include "models/io/shown.hpp"
#include "models/io/text.hpp"
#include "tools/apportion/run_report.hpp"
#include "tools/apportion/text_table.hpp"

namespace apportion {

namespace {

/// A second of any of them is a second of the makespan.
struct Entry {
    const char* name;
    const char* title;  ///< of its column
    double ProcessorAccount::*seconds;
};
constexpr Entry kEntries[] = {
    {"compute", ">computing", &ProcessorAccount::compute_s},  {"copies", ">copies", &ProcessorAccount::copies_s},
    {"transfer", ">for data", &ProcessorAccount::transfer_s}, {"models", ">for models", &ProcessorAccount::models_s},
    {"policy", ">for a block", &ProcessorAccount::policy_s},  {"home", ">results home", &ProcessorAccount::home_s},
    {"end", ">at the end", &ProcessorAccount::end_s}};

std::string title(const RunReport& report, const RunAccount& account) {
    std::string text = fmt::format("{}: {} under {} took {} in {}", report.load, counted(report.units, "unit"),
                                   report.policy, seconds_text(account.makespan_s), counted(report.blocks, "block"));
    if (report.run > 1) text += fmt::format(", as run {} of the load", report.run);
    if (const double bound = report.lower_bound_s.value_or(0); has_bound(report))
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
    std::vector<TextTable::Column> columns{"% of the makespan", ">units", ">blocks"};
    for (const Entry& entry : kEntries) {
        const bool any =
            std::ranges::any_of(account.processors, [&](const ProcessorAccount& p) { return p.*entry.seconds > 0; });
        columns.emplace_back(
            !account.has_blocks && entry.seconds == &ProcessorAccount::end_s ? ">the rest" : entry.title, any);
    }
    TextTable rows(columns);
    for (const ProcessorAccount& p : account.processors) {
        std::vector<std::string> cells{p.name, std::to_string(p.units), std::to_string(p.blocks)};
        for (const Entry& entry : kEntries)
            cells.push_back(
                fmt::format("{:.1f}", account.makespan_s > 0 ? 100 * (p.*entry.seconds) / account.makespan_s : 0));
        rows.add(cells);
    }
    return rows.text();
}

/// What one more of the fastest processor would save at best, and what its loss would cost. Speeds include the waiting
/// for data: where a link is slow, no other split makes it faster.
std::string fastest_sentence(const RunAccount& account) {
    const auto speed = [](const ProcessorAccount& p) {
        return p.compute_s > 0 ? static_cast<double>(p.units) / (p.compute_s + p.transfer_s + p.home_s) : 0;
    };
    double sum = 0, n = 0;
    bool all = true;
    for (const ProcessorAccount& p : account.processors) {
        n += static_cast<double>(p.units);
        sum += speed(p);
        all = all && p.units > 0;
    }
    if (sum <= 0) return "";
    const ProcessorAccount& fastest = *std::ranges::max_element(account.processors, {}, speed);
    const bool has_link = fastest.kind != kInMainMemory;
    std::string text = fmt::format(
        "At the speeds of this run a perfect split{} would take {}, plus {} for each further unit; with one more "
        "processor like {}{} it would take {}",
        all ? "" : " among those that computed", seconds_text(n / sum), seconds_text(1 / sum), fastest.name,
        has_link ? ", on a link of its own," : "", seconds_text(n / (sum + speed(fastest))));
    if (sum > speed(fastest) * (1 + 1e-9))
        text += fmt::format(", and without {} {}", fastest.name, seconds_text(n / (sum - speed(fastest))));
    return text + ".";
}

/// Empty where it is not known.
std::string cost_text(double cost_s, double makespan_s) {
    if (!std::isfinite(cost_s) || cost_s <= 0 || makespan_s <= 0) return "";
    return fmt::format(" (at most {} of the makespan, {})", seconds_text(cost_s),
                       percent_text(100 * cost_s / makespan_s));
}

std::vector<std::string> first_sentences(const RunReport& report, const RunAccount& account) {
    std::vector<std::string> sentences{title(report, account), binding_sentence(account)};
    const std::vector<Finding> found = findings(report, account);
    if (found.empty()) sentences.emplace_back("Nothing looks suspicious.");
    for (const Finding& finding : found)
        sentences.push_back((&finding == &found.front() ? "To be looked at first: " : "Also: ") + finding.sentence +
                            cost_text(finding.cost_s, account.makespan_s) + ".");
    if (const std::string choice = describe_choice(report); !choice.empty()) sentences.push_back(choice + ".");
    return sentences;
}

std::vector<std::string> last_sentences(const RunReport& report, const RunAccount& account) {
    std::vector<std::string> sentences;
    for (std::size_t p = 0; p < account.processors.size(); ++p)
        if (account.processors[p].units == 0)
            sentences.push_back(fmt::format("{} got nothing: {}.", account.processors[p].name, why_nothing(report, p)));
    if (const std::string fastest = fastest_sentence(account); !fastest.empty() && unlike_cores(report).empty())
        sentences.push_back(fastest);
    if (!report.note.empty()) sentences.push_back("Note of the run: " + report.note);
    return sentences;
}

}  // namespace

std::string explanation_text(const RunReport& report) {
    const auto lines = [](const std::vector<std::string>& sentences) {
        std::string text;
        for (const std::string& sentence : sentences) text += output_line(shown(sentence));
        return text;
    };
    const RunAccount account = account_of(report);
    return lines(first_sentences(report, account)) + "\n" + table(account) + "\n" +
           lines(last_sentences(report, account));
}

nlohmann::ordered_json explanation_json(const RunReport& report) {
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
    nlohmann::ordered_json facts = nlohmann::ordered_json::array();
    for (const Finding& finding : findings(report, account)) {
        const bool known = std::isfinite(finding.cost_s) && finding.cost_s > 0;
        facts.push_back({{"sentence", finding.sentence},
                         {"seconds", known ? nlohmann::ordered_json(finding.cost_s) : nlohmann::ordered_json()}});
    }
    return {{"load", report.load},
            {"policy", report.policy},
            {"run", report.run},
            {"makespan_seconds", account.makespan_s},
            {"has_blocks", account.has_blocks},
            {"bound_by", account.processors[account.binding].name},
            {"processors", std::move(processors)},
            {"facts", std::move(facts)}};
}

}  // namespace apportion
