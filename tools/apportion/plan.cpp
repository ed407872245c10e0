// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `apportion plan`: the distribution of n units over processors with a recorded profile, or of n packets of a data
// assignment instance, by one planner or by all of them in comparison; or what a profile leaves to gain.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include "codelets/io/command_line.hpp"
#include "codelets/io/gnuplot.hpp"
#include "models/io/text.hpp"
#include "policies/planners/assignment/instance_file.hpp"
#include "policies/planners/discrete_problem.hpp"
#include "policies/planners/planner_table.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/plan_parts.hpp"
#include "tools/apportion/profile_measure.hpp"

namespace apportion {

namespace {

struct PlanOptions {
    std::string profiles, instance, algorithm, maxima, network = "serial", plot;
    std::vector<Units> references;
    double work_power = 1;
    Units matrix_side = 0;  ///< 0: not given
    std::string numbers;    ///< --units as given
    Units units = 0, granularity = 1;
    double time_limit_s = 30;
    bool json = false;
    std::vector<std::string> policies;

    Form form() const { return json ? Form::json : Form::table; }
};

/// "proc=units,proc=units": one number per processor. Names may contain ',' and '='.
std::vector<Units> parse_maxima(std::string_view text, const std::vector<std::string>& processors) {
    std::vector<Units> result(processors.size(), kNoLimit);
    std::vector<bool> given(processors.size(), false);
    for (bool more = !text.empty(); more;) {
        std::size_t found = processors.size();  // the longest name, for one may begin like another
        for (std::size_t i = 0; i < processors.size(); ++i)
            if (text.starts_with(processors[i] + "=") &&
                (found == processors.size() || processors[i].size() > processors[found].size()))
                found = i;
        if (found == processors.size())
            throw UserError("--max: '{}' does not begin with PROCESSOR=UNITS; the processors are: {}", text,
                            fmt::join(processors, ", "));
        if (given[found]) throw UserError("--max: '{}' appears twice; remove one", processors[found]);
        given[found] = true;
        text.remove_prefix(processors[found].size() + 1);
        const std::string_view number = text.substr(0, text.find(','));
        result[found] = parse_number<Units>(number).value_or(-1);
        if (result[found] < 0)
            throw UserError("--max: '{}' is no number of units for processor '{}'; give a whole number, at least 0",
                            number, processors[found]);
        more = number.size() < text.size();  // a comma follows
        text.remove_prefix(number.size() + (more ? 1 : 0));
    }
    return result;
}

template <typename Entry>
std::string names(std::span<const Entry> entries) {
    std::string names;
    for (const Entry& entry : entries) names += entry.name + std::string(", ");
    return names + "all";
}

/// Runs the planners that the option names, or the default one, and prints their plans, which it returns.
template <typename Entry, typename Run>
std::vector<Plan> plan_and_print(const PlanOptions& options, std::span<const Entry> entries, const char* usual,
                                 const PlanSubject& subject, Run run) {
    const std::string algorithm = options.algorithm.empty() ? usual : options.algorithm;
    std::vector<Plan> plans;
    for (const Entry& entry : entries)
        if (algorithm == "all" || algorithm == entry.name) plans.push_back(run(entry));
    if (plans.empty())
        throw UserError("--algorithm: '{}' is not a planner here; use one of {}", algorithm, names(entries));
    if (std::ranges::none_of(plans, [](const Plan& plan) { return plan.failure.empty(); }))
        throw std::runtime_error(fmt::format("{}: no solution: {}", plans[0].algorithm, plans[0].failure));
    std::cout << (algorithm == "all" ? plans_text(subject, plans, options.form())
                                     : plan_text(subject, plans[0], options.form()));
    return plans;
}

PlanProblem profile_problem(const PlanOptions& options, const Profile& profile) {
    PlanProblem problem;
    problem.units = options.units;
    problem.granularity = options.granularity;
    problem.work_power = options.work_power;
    std::vector<std::string> names;
    for (const ProcessorProfile& processor : profile.processors) {
        names.push_back(processor.name);
        DiscreteTimes& times = problem.processors.emplace_back();
        times.processor = processor.name;
        for (const ProfilePoint& point : processor.points) {
            times.points.push_back(point.units);
            times.seconds.push_back(point.seconds);
        }
    }
    if (!options.maxima.empty()) problem.maximum_units = parse_maxima(options.maxima, names);
    return problem;
}

int plan_profile(const PlanOptions& options) {
    const Profile profile = read_profile(options.profiles);
    const PlanProblem problem = profile_problem(options, profile);
    PlanSubject subject;
    subject.units = options.units;
    subject.profile = &problem;
    subject.matrix_side = options.matrix_side;
    for (const ProcessorProfile& processor : profile.processors) subject.processors.push_back(processor.name);
    if (!options.plot.empty()) check_plot(options.plot);
    const std::vector<Plan> plans =
        plan_and_print(options, registered_planners(), "hpopta", subject,
                       [&](const PlannerEntry& planner) { return run_planner(planner, problem); });
    if (!options.plot.empty()) plot_models(profile, plans, options.work_power, options.plot);
    return 0;
}

int show_condition(const PlanOptions& options) {
    const std::vector<Units> numbers =
        options.numbers.empty() ? std::vector<Units>{} : parse_sizes(options.numbers, "--units");
    const PlanProblem problem = profile_problem(options, read_profile(options.profiles));
    std::cout << condition_text(problem, numbers, options.references, options.form());
    return 0;
}

int show_policies(const PlanOptions& options) {
    const Profile profile = read_profile(options.profiles);
    const PlanProblem problem = profile_problem(options, profile);
    if (const std::string reason = why_invalid(problem); !reason.empty())
        throw UserError("{}: {}", options.profiles, reason);
    constexpr Units kMostBlocks = 1000000;  // each is simulated
    Units largest = 1;
    for (const DiscreteTimes& times : problem.processors)
        if (!times.points.empty()) largest = std::max(largest, times.points.back());
    if (problem.units / largest > kMostBlocks)
        throw UserError(
            "--units {}: more than a million blocks of the largest size in {}, {}; record larger ones, or plan fewer "
            "units",
            problem.units, options.profiles, largest);
    const LoadDescription load = load_of_profile(profile, options.units, options.granularity);
    std::cout << policies_text(load, options.policies, options.form());
    return 0;
}

int plan_instance(const PlanOptions& options) {
    DataAssignment problem = read_instance(options.instance);
    PlanSubject subject;
    subject.units = problem.packets = options.units;
    problem.granularity = options.granularity;
    problem.network = options.network == "parallel" ? Network::parallel : Network::serial;
    for (const AssignmentUnit& unit : problem.units) subject.processors.push_back(unit.name);
    if (!options.maxima.empty()) {
        const std::vector<Units> maxima = parse_maxima(options.maxima, subject.processors);
        for (std::size_t j = 0; j < maxima.size(); ++j) problem.units[j].maximum_packets = maxima[j];
    }
    plan_and_print(
        options, registered_assignment_planners(), "ilp", subject,
        [&](const AssignmentPlannerEntry& planner) { return run_planner(planner, problem, options.time_limit_s); });
    return 0;
}

}  // namespace

void add_plan(CLI::App& app, std::function<int()>& run) {
    CLI::App* plan =
        app.add_subcommand("plan", "Distribute units over processors from a recorded profile or an instance");
    auto options = std::make_shared<PlanOptions>();
    CLI::Option* profiles = plan->add_option("--profiles", options->profiles,
                                             "CSV file: processor,units,seconds[,ci,repetitions[,in,out[,both]]]");
    CLI::Option* instance =
        plan->add_option("--instance", options->instance, "JSON file: a data assignment instance")->excludes(profiles);
    CLI::Option* units = plan->add_option("--units", options->numbers,
                                          "Number of units (packets) to distribute; with --condition from:to:step");
    CLI::Option* algorithm =
        plan->add_option("--algorithm", options->algorithm,
                         fmt::format("With --profiles (default hpopta): {}. With --instance (default ilp): {}",
                                     names(registered_planners()), names(registered_assignment_planners())));
    CLI::Option* matrix =
        plan->add_option("--matrix", options->matrix_side,
                         "Distribute the blocks of a matrix of N x N blocks, in the shape that communicates least")
            ->check(CLI::Range(Units{1}, Units{1} << 25))
            ->type_name("N")
            ->needs(profiles);
    plan->add_option("--granularity", options->granularity, "Every share is a multiple of it")
        ->check(CLI::Range(Units{1}, kMostUnits))
        ->type_name("UNITS")
        ->capture_default_str();
    CLI::Option* maxima =
        plan->add_option("--max", options->maxima, "Largest shares: PROCESSOR=UNITS,PROCESSOR=UNITS,...");
    plan->add_option("--network", options->network, "Transfers to the nodes: one after the other, or at once")
        ->check(CLI::IsMember({"serial", "parallel"}))
        ->type_name("serial|parallel")
        ->needs(instance)
        ->capture_default_str();
    plan->add_option("--time-limit", options->time_limit_s, "Seconds after which ilp-milp takes its best solution")
        ->needs(instance)
        ->capture_default_str();
    plan->add_flag("--json", options->json, "Print JSON");
    CLI::Option* plot =
        plan->add_option("--plot", options->plot,
                         "Draw the models over the measured speeds, with the shares, into this PNG, SVG or PDF file")
            ->needs(profiles);
    CLI::Option* condition =
        plan->add_flag("--condition")
            ->description(
                "Tell whether balancing is optimal on this profile, and what hpopta gains over equal, cpm and fpm")
            ->needs(profiles)
            ->disable_flag_override();
    CLI::Option* policies =
        plan->add_option("--policies", options->policies,
                         "Tell how long the load takes under these policies, with their blocks and the profile's "
                         "transfers")
            ->delimiter(',')
            ->type_name("P,P...|all")
            ->needs(profiles)
            ->needs(units);
    // Each is another question than what the plan of a number of units is.
    CLI::Option* const questions[] = {matrix, condition, policies};
    for (CLI::Option* question : questions) {
        for (CLI::Option* other : questions)
            if (other != question) question->excludes(other);
        if (question != matrix) question->excludes(algorithm)->excludes(plot);
    }
    matrix->excludes(units);
    policies->excludes(maxima);  // they size blocks, and know of no largest share
    plan->add_option("--references", options->references, "With --condition: sizes at which cpm knows the speeds")
        ->delimiter(',')
        ->check(numbers_above_zero())
        ->type_name("UNITS,...")
        ->needs(condition);
    plan->add_option("--work-power", options->work_power,
                     "With --condition, --plot and smooth-fpm: the work of x units is x to this power, 3 where a unit "
                     "is a row of an x by x product")
        ->check(numbers_between(1, 4))
        ->needs(profiles)
        ->capture_default_str();
    plan->callback([=, &run] {
        if (profiles->empty() && instance->empty()) throw CLI::RequiredError("--profiles or --instance");
        if (constexpr double kMost_s = 1e9; !(options->time_limit_s > 0 && options->time_limit_s <= kMost_s))
            throw CLI::ValidationError("--time-limit", "give a number of seconds greater than 0, and at most 1e9");
        int (*answer)(const PlanOptions&) = profiles->empty() ? plan_instance : plan_profile;
        if (!condition->empty()) answer = show_condition;
        if (!policies->empty()) answer = show_policies;
        if (!matrix->empty()) options->units = options->matrix_side * options->matrix_side;
        if (matrix->empty() && condition->empty()) {
            if (units->empty()) throw CLI::RequiredError("--units");
            const std::optional<Units> number = parse_number<Units>(options->numbers);
            if (!number || *number < 0 || *number > kMostUnits)
                throw CLI::ValidationError(
                    "--units", fmt::format("'{}' is not usable; give a whole number from 0 to 2^50", options->numbers));
            options->units = *number;
        }
        run = [options, answer] { return answer(*options); };
    });
}

}  // namespace apportion
