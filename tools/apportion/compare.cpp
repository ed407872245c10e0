// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `apportion compare`: the same program under several policies, on this machine or on a simulated platform.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "codelets/io/command_line.hpp"
#include "codelets/io/gnuplot.hpp"
#include "codelets/simulated/platform_file.hpp"
#include "models/io/nearest_name.hpp"
#include "models/io/text.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/comparison.hpp"
#include "tools/apportion/interruption.hpp"
#include "tools/apportion/profile_measure.hpp"
#include "tools/apportion/profile_parts.hpp"
#include "tools/apportion/text_table.hpp"

namespace apportion {

namespace {

constexpr int kMostRounds = 30;
constexpr double kLimit_s = 120;

struct CompareOptions {
    std::string app, size, platform, launch, plot, timeline;
    std::string blocks = "auto";
    std::vector<std::string> policies;
    bool policies_given = false;
    int repetitions = 0;              ///< 0: not given
    std::optional<double> limit_s{};  ///< nothing: not given
    std::optional<std::uint64_t> seed{};
    bool json = false;
};

/// Of `--launch`, quotes as a shell reads them.
std::vector<std::string> launcher_words(const CompareOptions& options) {
    std::vector<std::string> words = CLI::detail::split_up(options.launch);
    for (std::string& word : words) CLI::detail::remove_quotes(word);
    if (words.empty()) throw UserError("--launch: name the command that starts the program on several nodes");
    if (!options.platform.empty()) throw UserError("--launch: runs on a simulated platform need none; leave it out");
    if (options.blocks != "auto")
        throw UserError("--launch: policies choose their grants to nodes themselves; leave --blocks out");
    return words;
}

/// A comparison over nodes is one of policies that grant units to nodes. Those of this machine get no profile for it.
void keep_policies_for_nodes(CompareOptions& options) {
    const bool profiles = options.launch.empty();
    std::erase_if(options.policies, [&](const std::string& policy) {
        const PolicyEntry* entry = find_policy(policy);
        if (options.policies_given && !entry)
            throw UserError(
                "--policies: {} is no policy of Apportion, and cannot grant units to nodes; inside of them, "
                "STARPU_SCHED chooses it",
                policy);
        return !options.policies_given && (!entry || (entry->reads_profile() && !profiles));
    });
}

ProgramCommand command_of(const CompareOptions& options) {
    const std::vector<std::string>& program = program_arguments();
    if (options.app.empty() && program.empty())
        throw UserError("name what to compare: -- PROGRAM ARGUMENTS..., or a bundled application by --app and --size");
    if (options.app.empty() && !options.size.empty())
        throw UserError("--size {}: it is that of --app; write the size of your program behind --", options.size);
    if (options.app.empty()) return program_command(program);
    if (options.size.empty()) throw UserError("--app {} requires --size", options.app);
    parse_numbers(options.size, "--size");
    return bundled_command(options.app, options.size, program);
}

bool is_cluster(const std::optional<simulated::Platform>& platform) { return platform && !platform->nodes.empty(); }

ComparisonPlan make_plan(const CompareOptions& options, const ProgramCommand& command,
                         const std::optional<simulated::Platform>& platform) {
    ComparisonPlan plan;
    plan.policies = options.policies;
    for (const std::string& policy : plan.policies) {
        check_policy(policy);
        if (std::ranges::count(plan.policies, policy) > 1)
            throw UserError("--policies: {} appears twice; name it once", policy);
    }
    plan.sweep = options.launch.empty() && !is_cluster(platform);
    if (options.blocks != "auto") plan.blocks = parse_numbers(options.blocks, "--blocks");
    // Without noise, which only bundled applications have, a simulated run always takes the same time.
    plan.exact = platform && (platform->noise == 0 || !command.bundled);
    plan.all_rounds = options.repetitions > 0;
    plan.rounds = plan.all_rounds ? options.repetitions : plan.exact ? 1 : kMostRounds;
    if (!plan.all_rounds && !plan.exact) plan.limit_s = kLimit_s;
    if (options.limit_s) plan.limit_s = *options.limit_s;
    plan.seed = options.seed ? *options.seed : std::random_device{}();
    // Virtual time does not mind neighbours.
    if (platform) plan.jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    return plan;
}

/// The exit status of one that was interrupted, after a sentence.
int tell_interruption(const Comparison& comparison, bool without_plot) {
    const Interrupted interrupted(comparison.signal);
    std::cerr << fmt::format("apportion compare: {}; what was measured until then is shown{}\n", interrupted.what(),
                             without_plot ? ", and no picture is drawn" : "");
    return interrupted.status();
}

int compare_command(CompareOptions options) {
    const EndChildrenOnSignal end_children_on_signal;
    std::optional<simulated::Platform> platform;
    if (!options.platform.empty()) platform = simulated::load_platform(options.platform);
    if (is_cluster(platform) && options.blocks != "auto")
        throw UserError("--blocks: policies choose their grants to nodes themselves; leave it out");
    if (!options.launch.empty() || is_cluster(platform)) keep_policies_for_nodes(options);
    ProgramCommand command = command_of(options);
    if (!options.launch.empty()) command.launcher = launcher_words(options);
    ComparisonPlan plan = make_plan(options, command, platform);
    if (platform && !options.app.empty()) require_kernel(*platform, options.platform, options.app);
    if (!options.plot.empty()) check_plot(options.plot);
    if (!options.timeline.empty() && options.timeline != "all" &&
        std::ranges::find(plan.policies, options.timeline) == plan.policies.end())
        throw UserError("--timeline {}: it is none of the policies that are compared{}", options.timeline,
                        did_you_mean(options.timeline, plan.policies));
    ProgramRunner runner(std::move(command), platform, !options.plot.empty());

    const std::vector<std::string> left_out = prepare_profile(runner, plan, options.policies_given);
    Comparison comparison = compare(runner, plan);
    std::ranges::copy(left_out, std::back_inserter(comparison.notes));
    if (is_cluster(platform))
        comparison.notes.push_back(fmt::format("policies grant units to {}; inside of them is {}",
                                               counted(platform->node_count(), "node"), inner_policy()));
    if (!options.launch.empty())
        comparison.notes.push_back(fmt::format("policies grant units to nodes, which '{}' starts", options.launch));
    const bool interrupted = comparison.ending == Ending::signal;
    if (!options.plot.empty() && !interrupted) plot_comparison(comparison, options.plot, options.timeline);
    if (options.json)
        std::cout << json_text(comparison_json(comparison));
    else
        std::cout << comparison_table(comparison);
    return interrupted ? tell_interruption(comparison, !options.plot.empty()) : 0;
}

}  // namespace

void add_compare(CLI::App& app, std::function<int()>& run) {
    CLI::App* sub = app.add_subcommand("compare", "Run a program under several policies and compare");
    auto options = std::make_shared<CompareOptions>();
    options->policies = default_policies();
    sub->footer(
        "Any program that submits loads is compared by\n"
        "  apportion compare [OPTIONS] -- ./program ARGUMENTS...\n"
        "A bundled application may stand there by its short name.");
    sub->add_option("--app", options->app, "a bundled application, such as matmul; options for it stand behind --")
        ->type_name("APP");
    sub->add_option("--size", options->size, "its --size")->type_name("N[,N...]");
    sub->add_option("--platform", options->platform,
                    "simulate this platform (see apportion platform --list); else the runs are real")
        ->type_name("NAME|FILE");
    sub->add_option("--launch", options->launch,
                    "start the program on several nodes by this command, such as 'mpirun -np 4', and compare the "
                    "policies that grant units to them")
        ->type_name("COMMAND");
    auto* policies = sub->add_option("--policies", options->policies, "policies of Apportion and schedulers of StarPU")
                         ->delimiter(',')
                         ->type_name("P,P...")
                         ->capture_default_str();
    sub->add_option("--blocks", options->blocks,
                    "numbers of blocks to try under greedy and under StarPU's schedulers; auto: powers of two")
        ->type_name("auto|K,K...")
        ->capture_default_str();
    sub->add_option("--repeat", options->repetitions,
                    fmt::format("exactly R rounds, each of one run of everything (default: until the order is "
                                "settled, at most {}; 1 where simulated runs have no noise)",
                                kMostRounds))
        ->check(CLI::Range(1, 10'000))
        ->type_name("R");
    sub->add_option("--max-seconds", options->limit_s,
                    fmt::format("begin no round that would end later, after the first (default: {}, or no limit with "
                                "--repeat)",
                                kLimit_s))
        ->check(numbers_above_zero())
        ->type_name("S");
    sub->add_option("--seed", options->seed, "of the order within rounds (default: another one each time)")
        ->check(seeds())
        ->type_name("SEED");
    sub->add_flag("--json", options->json, "print one JSON object on standard output and nothing else there");
    auto* plot = sub->add_option("--plot", options->plot, "draw the comparison into this PNG, SVG or PDF file")
                     ->type_name("FILE.png|svg|pdf");
    sub->add_option("--timeline", options->timeline,
                    "draw the blocks of this policy over time, or all policies' (default: the best one's)")
        ->type_name("POLICY|all")
        ->needs(plot);
    sub->callback([options, policies, &run] {
        options->policies_given = policies->count() > 0;
        run = [options] { return compare_command(*options); };
    });
}

}  // namespace apportion
