// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `apportion profile`: measures the time function of a bundled application's kernel on the processors of this machine
// into a profile file, or takes those of a program's loads from its runs; shows what is kept.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string_view>

#include "codelets/io/progress.hpp"
#include "codelets/simulated/platform_file.hpp"
#include "models/io/files.hpp"
#include "models/io/shown.hpp"
#include "models/io/text.hpp"
#include "policies/starpu/profile_store.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/interruption.hpp"
#include "tools/apportion/machine_load.hpp"
#include "tools/apportion/profile_measure.hpp"
#include "tools/apportion/profile_parts.hpp"

namespace apportion {

namespace {

/// Notes that may differ when a profile is recorded again.
constexpr std::string_view kRemarks[] = {"program", "date", "note"};

/// Replaces nothing but a profile of the same kernel, load and machine.
void save(const std::string& out, const Profile& profile, const std::string& source = "") {
    Notes identity = profile.notes;
    std::erase_if(identity, [](const auto& note) { return std::ranges::count(kRemarks, note.first) > 0; });
    require_own(out, identity);
    save_profile(out, profile);
    fmt::print("{}: {} of {}{}\n", shown(out), counted(points_in(profile), "point"),
               counted(profile.processors.size(), "processor"), source);
}

int record_platform(const ProfileOptions& options) {
    check(options);
    const std::vector<Units> sizes = options.sizes.empty() ? std::vector<Units>{} : parse_sizes(options.sizes);
    if (options.square) {
        save(options.out, square_profile(options.app, options.platform, sizes));
        return 0;
    }
    const PlatformProfile profile =
        platform_profile(options.app, options.size, options.platform, sizes, options.measure.samples);
    save(options.out.empty() ? default_file(profile.load, profile.machine) : options.out, profile.profile);
    return 0;
}

/// A profile for each load of the program.
int learn(const ProfileOptions& options) {
    const EndChildrenOnSignal end_children_on_signal;
    std::optional<simulated::Platform> platform;
    if (!options.platform.empty()) platform = simulated::load_machine(options.platform);
    const ProgramRunner runner(program_command(program_arguments()), platform, false);
    // Before long work. Where APPORTION_PROFILES names a file, it is the one of every load.
    const std::string usual = options.out.empty() ? default_file("", runner.machine()) : options.out;
    const std::string only = options.out.empty() && usual != profiles_folder() ? "" : usual;
    if (!only.empty()) require_own(only, {{"kernel", kLearntFromRuns}, {kMachineNote, runner.machine().description}});
    const MachineLoad load;
    std::vector<LoadProfile> profiles;
    {
        ProgressLine progress("apportion profile");
        profiles = learn_profiles(runner, options.repetitions, progress, only);
    }
    if (!platform) warn_of_load(load);
    int status = 0;
    for (const LoadProfile& profile : profiles) {
        if (!profile.problem.empty()) {
            std::cerr << fmt::format("apportion profile: {}\n", shown(profile.problem));
            status = 1;
            continue;
        }
        save(only.empty() ? default_file(profile.load, runner.machine()) : only, profile.profile,
             fmt::format(", learnt from {} runs", 3 * options.repetitions));
        for (const auto& [key, value] : profile.profile.notes)
            if (key == "note") std::cerr << fmt::format("apportion profile: {}\n", shown(value));
    }
    return status;
}

int act(const ProfileOptions& options) {
    const bool program = !program_arguments().empty();
    if (program && (options.subject_given || options.size_given))
        throw UserError("-- {}: a program is measured by its own runs; leave out --app, --size and the like",
                        shown(program_arguments().front()));
    if (program) return learn(options);
    if (!options.subject_given)
        throw UserError("name what to measure: -- PROGRAM ARGUMENTS..., or --app; see apportion profile --help");
    if (options.json && !options.list && options.show.empty())
        throw UserError("--json: only --list and --show print JSON");
    if (options.list) {
        list_profiles(options.json);
        return 0;
    }
    if (!options.show.empty()) {
        show_profiles(options.show, options.json);
        return 0;
    }
    if (!options.forget.empty()) {
        forget_learnt(options.forget);
        return 0;
    }
    refuse_overwriting(options.platform, options.out);
    return options.platform.empty() ? profile_here(options) : record_platform(options);
}

}  // namespace

void add_profile(CLI::App& app, std::function<int()>& run) {
    CLI::App* profile =
        app.add_subcommand("profile", "Measure how long each processor needs for how many units, into a CSV file");
    auto options = std::make_shared<ProfileOptions>();
    SampleOptions& samples = options->measure.samples;
    auto* subject = profile->add_option_group("Subject", "what to measure or show");
    subject->add_option("--app", options->app, fmt::format("A bundled application: {}", workload_names()))
        ->type_name("NAME");
    subject->add_flag("--list", options->list, "List the recorded profiles and what runs learnt");
    subject->add_option("--show", options->show, "Show the times that are recorded or learnt of a load, or in a file")
        ->type_name("LOAD|FILE");
    subject->add_option("--forget", options->forget, "Remove what runs learnt of a load, in a file, or all of it")
        ->type_name("LOAD|FILE|all");
    subject->require_option(0, 1);
    CLI::Option* platform =
        profile
            ->add_option("--platform", options->platform, "Record the application's true times on a simulated platform")
            ->type_name("NAME|FILE");
    profile
        ->add_option("--out", options->out,
                     "The profile (default: where programs look for it, see APPORTION_PROFILES); one that was "
                     "interrupted is continued")
        ->type_name("FILE.csv");
    auto* size = profile->add_option("--size", options->size, "Size of the problem, as the application takes it")
                     ->type_name("N[,N...]")
                     ->capture_default_str();
    profile->add_option("--repeat", options->repetitions, "Runs of a program under each of three policies")
        ->check(CLI::Range(1, 10'000))
        ->type_name("R")
        ->capture_default_str();
    profile
        ->add_option("--sizes", options->sizes,
                     "Units to measure (default: sixteenths of the problem; with --platform hundreds of sizes)")
        ->type_name("FROM:TO:STEP");
    profile
        ->add_flag("--square", options->square,
                   "Of problems of x by x, x from --sizes, instead of x units of one problem")
        ->needs(platform, "--sizes", "--out")
        ->excludes("--size");
    profile->add_option("--processors", options->processors, "StarPU's workers (default: all)")
        ->delimiter(',')
        ->type_name("0,1,...");
    profile
        ->add_option("--precision", samples.precision,
                     "Half width of the 95 % confidence interval, relative to the mean")
        ->capture_default_str();
    profile->add_option("--max-repetitions", samples.most, "of one size on one processor")->capture_default_str();
    profile->add_option("--max-seconds", samples.most_seconds, "of one size on one processor")->capture_default_str();
    profile->add_flag("--json", options->json, "print JSON (--list, --show)");
    profile->footer(
        "Any program that submits loads is measured by\n"
        "  apportion profile [OPTIONS] -- ./program ARGUMENTS...\n"
        "which runs it under policies that learn, and records a profile for each of its loads.");
    profile->callback([options, size, subject, &run] {
        options->size_given = size->count() > 0;
        options->subject_given = subject->count_all() > 0;
        run = [options] { return act(*options); };
    });
}

}  // namespace apportion
