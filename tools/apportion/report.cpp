// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `apportion report`: reports of runs and comparisons as a page for browsers.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "models/io/input_file.hpp"
#include "models/io/new_file.hpp"
#include "models/io/shown.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/report_page.hpp"
#include "tools/apportion/run_report.hpp"

namespace apportion {

namespace {

namespace fs = std::filesystem;

struct ReportOptions {
    std::vector<std::string> sources;
    std::string out, title = "Runs and comparisons";
};

/// Files of a folder that may be reports or comparisons, by name.
std::vector<std::string> files_in(const std::string& folder) {
    std::vector<std::string> files;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
        const fs::path& path = entry->path();
        if (entry->is_regular_file(error) && (path.extension() == ".json" || path.extension() == ".jsonl"))
            files.push_back(path.string());
    }
    if (error) throw UserError(fmt::format("{}: cannot be read: {}", folder, error.message()));
    if (files.empty()) throw UserError(fmt::format("{}: has no file that ends in .json or .jsonl", folder));
    std::ranges::sort(files);
    return files;
}

void add_file(nlohmann::ordered_json& data, const std::string& file) {
    const std::string text = read_whole_file(file);
    const nlohmann::json whole = nlohmann::json::parse(text, nullptr, false);
    if (is_comparison(whole)) {
        data["comparisons"].push_back(comparison_data(whole, file));
        return;
    }
    const std::vector<RunReport> reports = parse_reports(text, file);
    if (reports.empty()) throw UserError(fmt::format("{}: has no report and no comparison", file));
    data["programs"].push_back(program_data(reports, file));
}

int report_command(const ReportOptions& options) {
    nlohmann::ordered_json data{{"comparisons", nlohmann::json::array()}, {"programs", nlohmann::json::array()}};
    for (const std::string& source : options.sources) {
        std::error_code missing;
        if (!fs::is_directory(source, missing)) {
            add_file(data, source);
            continue;
        }
        // A folder may have other JSON as well, such as traces.
        for (const std::string& file : files_in(source)) {
            try {
                add_file(data, file);
            } catch (const UserError& error) {
                std::cerr << fmt::format("apportion report: left out: {}\n", shown(error.what()));
            }
        }
    }
    if (data["comparisons"].empty() && data["programs"].empty())
        throw UserError(fmt::format("{}: has no report and no comparison", options.sources.front()));
    replace_file(options.out, [&](std::ostream& out) { out << html_page(data, options.title); });
    return 0;
}

}  // namespace

void add_report(CLI::App& app, std::function<int()>& run) {
    CLI::App* sub = app.add_subcommand("report", "Make a page for browsers from reports and comparisons");
    auto options = std::make_shared<ReportOptions>();
    sub->footer(
        "Reports are what programs write into the file that APPORTION_REPORT names (APPORTION_TRACE=1: with their "
        "blocks), comparisons what `apportion compare --json` prints. Of a folder, files that end in .json and .jsonl "
        "are taken.");
    sub->add_option("sources", options->sources, "files of reports or a comparison, or folders of them")
        ->required()
        ->type_name("FILE|DIR...");
    sub->add_option("--out", options->out, "page to write")->required()->type_name("FILE.html");
    sub->add_option("--title", options->title, "of the page")->capture_default_str()->type_name("TEXT");
    sub->callback([options, &run] { run = [options] { return report_command(*options); }; });
}

}  // namespace apportion
