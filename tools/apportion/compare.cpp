// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `apportion compare`: the same application under several policies, on this machine or on a simulated platform.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <thread>

#include "codelets/io/gnuplot.hpp"
#include "codelets/simulated/platform_file.hpp"
#include "models/io/shown.hpp"
#include "policies/policy.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/comparison.hpp"
#include "tools/apportion/comparison_output.hpp"
#include "tools/apportion/comparison_plot.hpp"
#include "tools/apportion/comparison_profile.hpp"
#include "tools/apportion/interruption.hpp"
#include "tools/apportion/profile_measure.hpp"

namespace apportion {

namespace {

struct CompareOptions {
    std::string app, size, platform, plot;
    std::string blocks = "auto";
    std::vector<std::string> policies;
    int repetitions = 0;  ///< 0: not given
    bool json = false;
};

/// A line on the terminal that each call replaces; nothing when standard error is no terminal.
class ProgressLine {
  public:
    explicit ProgressLine(std::string what) : what_(std::move(what)) {}
    ~ProgressLine() { show(""); }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void show(const std::string& text) const {
        if (!terminal_) return;
        constexpr const char* kStartAndClear = "\r\033[K";
        std::cerr << kStartAndClear << (text.empty() ? "" : what_ + ": " + shown(text)) << std::flush;
    }

  private:
    std::string what_;
    bool terminal_ = isatty(STDERR_FILENO) == 1;
};

ComparisonPlan make_plan(const CompareOptions& options, const std::optional<simulated::Platform>& platform) {
    constexpr int kRealRepetitions = 3;
    ComparisonPlan plan;
    plan.policies = options.policies;
    for (const std::string& policy : plan.policies) {
        check_policy(policy);
        if (std::ranges::count(plan.policies, policy) > 1)
            throw UserError(fmt::format("--policies: {} appears twice; name it once", policy));
    }
    if (options.blocks != "auto") plan.blocks = parse_numbers(options.blocks, "--blocks");
    // Without noise a simulated run always takes the same time.
    const bool exact = platform && platform->noise == 0;
    plan.repetitions = options.repetitions > 0 ? options.repetitions : exact ? 1 : kRealRepetitions;
    // Virtual time does not mind neighbours.
    if (platform) plan.jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    return plan;
}

int compare_command(const CompareOptions& options) {
    const EndingChildren ending_children;
    const std::vector<std::int64_t> size = parse_numbers(options.size, "--size");
    std::optional<simulated::Platform> platform;
    if (!options.platform.empty()) platform = simulated::load_platform(options.platform);
    const ComparisonPlan plan = make_plan(options, platform);
    if (platform && !platform->kernels.contains(options.app))
        throw UserError(
            fmt::format("--platform {}: it does not describe kernel \"{}\"; add [kernel.{}] and times of it",
                        options.platform, options.app, options.app));
    if (!options.plot.empty()) check_plot(options.plot);
    AppRunner runner(options.app, options.size, platform, !options.plot.empty());

    const ComparisonProfile profile(runner, options.app, options.size, options.platform, options.policies);
    Comparison comparison;
    {
        const ProgressLine line("apportion compare");
        comparison = compare(runner, options.app, plan, [&](const std::string& text) { line.show(text); });
    }
    comparison.asked_size = size.size() == 1 ? nlohmann::json(size.front()) : nlohmann::json(size);
    if (!options.plot.empty()) plot_comparison(comparison, options.plot);
    if (options.json)
        std::cout << comparison_json(comparison).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    else
        std::cout << comparison_table(comparison);
    return 0;
}

std::vector<std::string> default_policies() {
    std::vector<std::string> names;
    for (const PolicyEntry& entry : registered_policies())
        if (!entry.identical_processors) names.emplace_back(entry.name);
    for (const char* starpu : {"eager", "dmda", "dmdas", "lws"}) names.emplace_back(starpu);
    return names;
}

}  // namespace

void add_compare(CLI::App& app, std::function<int()>& run) {
    CLI::App* sub = app.add_subcommand("compare", "Run an application under several policies and compare");
    auto options = std::make_shared<CompareOptions>();
    options->policies = default_policies();
    sub->add_option("--app", options->app, "application, such as matmul")->required()->type_name("APP");
    sub->add_option("--size", options->size, "its --size")->required()->type_name("N[,N...]");
    sub->add_option("--platform", options->platform,
                    "simulate this platform (see apportion platform --list); else the runs are real")
        ->type_name("NAME|FILE");
    sub->add_option("--policies", options->policies, "policies of Apportion and schedulers of StarPU")
        ->delimiter(',')
        ->type_name("P,P...")
        ->capture_default_str();
    sub->add_option("--blocks", options->blocks,
                    "numbers of blocks to try under greedy and under StarPU's schedulers; auto: powers of two")
        ->type_name("auto|K,K...")
        ->capture_default_str();
    sub->add_option("--repeat", options->repetitions,
                    "runs of each, of which the median counts (default: 3, or 1 where "
                    "a simulated platform has no noise)")
        ->check(CLI::Range(1, 10'000))
        ->type_name("R");
    sub->add_flag("--json", options->json, "print one JSON object on standard output and nothing else there");
    sub->add_option("--plot", options->plot, "draw the comparison into this PNG file")->type_name("FILE.png");
    sub->callback([options, &run] { run = [options] { return compare_command(*options); }; });
}

}  // namespace apportion
