// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `apportion profile`: measures the time functions of a bundled application's or a user's own kernel on the processors
// of this machine into a profile file, or takes them from runs of a program; shows what is kept.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "codelets/common/child_process.hpp"
#include "codelets/io/progress.hpp"
#include "codelets/simulated/platform_file.hpp"
#include "models/io/shown.hpp"
#include "policies/starpu/machine.hpp"
#include "policies/starpu/profile_store.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/interruption.hpp"
#include "tools/apportion/profile_balance.hpp"
#include "tools/apportion/profile_course.hpp"
#include "tools/apportion/profile_instance.hpp"
#include "tools/apportion/profile_kept.hpp"
#include "tools/apportion/profile_library.hpp"
#include "tools/apportion/profile_measure.hpp"
#include "tools/apportion/profile_platform.hpp"
#include "tools/apportion/profile_program.hpp"
#include "tools/apportion/profile_record.hpp"
#include "tools/apportion/profile_workload.hpp"

namespace apportion {

namespace {

struct ProfileOptions {
    std::string app, kernel, show, forget;  ///< one of them, or
    bool list = false;
    bool json = false;
    bool square = false;
    std::string sizes, out, platform, instance;
    std::string size = "1024";
    bool size_given = false;
    int repetitions = 2;
    double balance = 0;  ///< how close times have to be; 0: sizes are given
    bool subject_given = false;
    std::vector<unsigned> processors;
    MeasureOptions measure;
};

volatile std::sig_atomic_t interrupted = 0;  ///< by this signal

/// Takes Ctrl-C and an end by the batch system or with the terminal as the wish to stop behind the current repetition.
class Interruptible {
  public:
    Interruptible() {
        for (std::size_t i = 0; i < std::size(kSignals); ++i) {
            before_[i] = std::signal(kSignals[i], [](int signal) { interrupted = signal; });
            if (before_[i] == SIG_IGN) std::signal(kSignals[i], SIG_IGN);  // nohup
        }
    }
    ~Interruptible() {
        for (std::size_t i = 0; i < std::size(kSignals); ++i) std::signal(kSignals[i], before_[i]);
    }
    Interruptible(const Interruptible&) = delete;
    Interruptible& operator=(const Interruptible&) = delete;

  private:
    static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
    void (*before_[std::size(kSignals)])(int);
};

Notes identity(const ProfileSubject& subject, const ProfileOptions& options) {
    const std::string together = fmt::format("together: {}", fmt::join(subject.processors(), ", "));
    return {{"kernel", subject.kernel()},
            {kLoadNote, subject.load()},
            {kMachineNote, this_machine().description},
            {"size", options.size},
            {"unit", subject.unit()},
            {"mode", options.measure.alone ? "one processor at a time" : together},
            {"precision", fmt::format("{} at 95 % confidence", options.measure.samples.precision)}};
}

Units whole_problem(const ProfileSubject& subject, Units size) {
    return subject.most_units() == kNoLimit ? size : subject.most_units();
}

/// Sixteenths of the problem.
std::vector<Units> default_sizes(const ProfileSubject& subject, Units size) {
    constexpr Units kSizes = 16;
    const Units granules = std::max<Units>(whole_problem(subject, size) / subject.granularity(), 1);
    const Units step = std::max<Units>(granules / kSizes, 1);
    std::vector<Units> sizes;
    for (Units i = step; i <= granules && std::ssize(sizes) < kSizes; i += step)
        sizes.push_back(i * subject.granularity());
    return sizes;
}

void check(const ProfileOptions& options) {
    if (const std::string problem = options.measure.samples.invalid(); !problem.empty()) throw UserError(problem);
    if (std::set(options.processors.begin(), options.processors.end()).size() != options.processors.size())
        throw UserError("--processors: a processor is given twice; give each once");
    if (!options.sizes.empty()) parse_sizes(options.sizes);
}

/// Notes of a new file that may differ when it is continued.
Notes remarks(double load) {
    return {{"date", fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(std::time(nullptr)))},
            {"load per CPU before", fmt::format("{:.2f}", load)}};
}

void warn_of_load(double load) {
    constexpr double kQuiet = 0.3;
    if (load > kQuiet)
        std::cerr << fmt::format(
            "apportion profile: other programs keep this machine busy ({:.1f} per CPU in the last minute), and what "
            "they "
            "take is in the times; measure on a quiet machine\n",
            load);
}

/// Programs that ran or waited for a CPU during the last minute, on average, for each CPU; 0 where the system does not
/// tell. Near 0 on a machine that is free for measurements.
double load_per_cpu() {
    double load = 0;
    const unsigned cpus = std::thread::hardware_concurrency();
    return getloadavg(&load, 1) == 1 && cpus > 0 ? load / cpus : 0;
}

/// Points of some distributions, the last of which is balanced.
int balance(const ProfileOptions& options, ProfileSubject& subject, ProfileRecord& record, Units units) {
    std::vector<PartialTimes> known;
    for (const std::string& processor : subject.processors()) known.push_back(record.times(processor));
    MeasurementCourse course(subject, record, subject.processors().size(), [] { return interrupted != 0; });
    const Balance found =
        balance_profile(subject, units, options.balance, options.measure, course.watcher(), std::move(known));
    course.finish(options.out, options.measure.samples, found.complete);
    if (found.shares.empty()) return Interrupted(interrupted).status();
    std::vector<std::string> shares;
    for (std::size_t p = 0; p < found.shares.size(); ++p)
        shares.push_back(fmt::format("{} {}", shown(subject.processors()[p]), found.shares[p]));
    fmt::print("{}: {}; times differ by {:.1f} %, after {} distribution{}\n",
               found.difference <= options.balance ? "balanced" : "not balanced", fmt::join(shares, ", "),
               100 * found.difference, found.distributions, found.distributions == 1 ? "" : "s");
    return found.complete ? 0 : Interrupted(interrupted).status();
}

/// As `balance` or the sizes left it.
void write_instance(const ProfileOptions& options, ProfileSubject& subject, ProfileRecord& record, Units units) {
    if (options.instance.empty()) return;
    std::vector<std::map<Units, double>> times;
    for (const std::string& processor : subject.processors()) times.push_back(record.times(processor));
    fmt::print("{}", write_instance(options.instance, subject, times, units, options.measure.samples));
}

int measure(ProfileOptions options) {
    SampleOptions& samples = options.measure.samples;
    samples.least = std::min(samples.least, samples.most);
    check(options);
    const std::vector<std::int64_t> size = parse_numbers(options.size, "--size");
    if (options.app.empty() && size.size() > 1)
        throw UserError(fmt::format("--size {}: a kernel's size is one number", options.size));
    const std::unique_ptr<ProfileSubject> subject =
        options.app.empty()
            ? library_subject(options.kernel, static_cast<std::uint64_t>(size.front()), options.processors)
            : workload_subject(options.app, size, options.processors);
    if (!options.instance.empty()) check_instance(options.instance, *subject);
    if (options.out.empty()) options.out = default_file(subject->load(), this_machine());
    const std::vector<Units> sizes =
        options.sizes.empty() ? default_sizes(*subject, size.front()) : parse_sizes(options.sizes);
    const Interruptible interruptible;
    const double load = load_per_cpu();
    ProfileRecord record(options.out, identity(*subject, options), remarks(load));
    warn_of_load(load);
    const Units units = whole_problem(*subject, size.front());
    if (options.balance > 0) {
        const int status = balance(options, *subject, record, units);
        if (status == 0) write_instance(options, *subject, record, units);
        return status;
    }
    std::size_t points = 0;
    for (const std::string& processor : subject->processors())
        points += std::ranges::count_if(sizes, [&](Units units) { return !record.has(processor, units); });
    MeasurementCourse course(*subject, record, points, [] { return interrupted != 0; });
    const bool complete = measure_profile(*subject, sizes, options.measure, course.watcher());
    course.finish(options.out, options.measure.samples, complete);
    if (complete) write_instance(options, *subject, record, units);
    return complete ? 0 : Interrupted(interrupted).status();
}

int record_square(const ProfileOptions& options) {
    if (options.sizes.empty() || options.out.empty()) throw UserError("--square: give --sizes and --out as well");
    const std::vector<Units> sizes = parse_sizes(options.sizes);
    const Profile profile = square_profile(options.app, options.platform, sizes);
    save_profile(options.out, profile);
    fmt::print("{}: {} points of {} processors\n", shown(options.out), points_in(profile), profile.processors.size());
    return 0;
}

int record_platform(const ProfileOptions& options) {
    if (options.app.empty()) throw UserError("--platform: give the application by --app NAME");
    check(options);
    if (options.square) return record_square(options);
    PlatformProfile profile = platform_profile(
        options.app, options.size, options.platform,
        options.sizes.empty() ? std::vector<Units>{} : parse_sizes(options.sizes), options.measure.samples);
    const std::string out = options.out.empty() ? default_file(profile.load, profile.machine) : options.out;
    save_profile(out, profile.profile);
    fmt::print("{}: {} points of {} processors\n", shown(out), points_in(profile.profile),
               profile.profile.processors.size());
    return 0;
}

/// A profile for each load of the program.
int learn(const ProfileOptions& options) {
    const EndingChildren ending_children;
    std::optional<simulated::Platform> platform;
    if (!options.platform.empty()) platform = simulated::load_machine(options.platform);
    const ProgramRunner runner(program_command(program_arguments(), options.size_given ? options.size : ""), platform,
                               false);
    if (options.out.empty()) default_file("", runner.machine());  // before long work
    const double load = platform ? 0 : load_per_cpu();
    std::vector<LoadProfile> profiles;
    {
        ProgressLine progress("apportion profile");
        profiles = learn_profiles(runner, options.repetitions, progress);
    }
    warn_of_load(load);
    if (!options.out.empty() && profiles.size() > 1)
        throw UserError(
            fmt::format("--out {}: the program has {} loads, whose profiles are that many files; without "
                        "--out they land where programs look for them",
                        options.out, profiles.size()));
    int status = 0;
    for (const LoadProfile& profile : profiles) {
        if (!profile.problem.empty()) {
            std::cerr << fmt::format("apportion profile: {}\n", shown(profile.problem));
            status = 1;
            continue;
        }
        const std::string out = options.out.empty() ? default_file(profile.load, runner.machine()) : options.out;
        save_profile(out, profile.profile);
        fmt::print("{}: {} points of {} processors, learnt from {} runs\n", shown(out), points_in(profile.profile),
                   profile.profile.processors.size(), 3 * options.repetitions);
        for (const auto& [key, value] : profile.profile.notes)
            if (key == "note") std::cerr << fmt::format("apportion profile: {}\n", shown(value));
    }
    return status;
}

int act(const ProfileOptions& options) {
    const bool program = !program_arguments().empty();
    if (program && options.subject_given)
        throw UserError(
            fmt::format("-- {}: a program is measured by its own runs; leave out --app, --kernel and the like",
                        shown(program_arguments().front())));
    if (program) return learn(options);
    if (!options.subject_given)
        throw UserError(
            "name what to measure: -- PROGRAM ARGUMENTS..., or --app or --kernel; see apportion profile --help");
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
    return options.platform.empty() ? measure(options) : record_platform(options);
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
    subject->add_option("--kernel", options->kernel, "Your own kernel, a shared library; see apportion_kernel.h")
        ->type_name("LIB.so");
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
        ->add_flag("--square", options->square,
                   "Of problems of x by x, x from --sizes, instead of x units of one problem")
        ->needs(platform);
    profile
        ->add_option("--out", options->out,
                     "The profile (default: where programs look for it, see APPORTION_PROFILES); one that was "
                     "interrupted is continued")
        ->type_name("FILE.csv");
    auto* size = profile
                     ->add_option("--size", options->size,
                                  "Size of the problem, as the application or kernel takes it, or what {size} in a "
                                  "program's arguments stands for")
                     ->type_name("N[,N...]")
                     ->capture_default_str();
    profile->add_option("--repeat", options->repetitions, "Runs of a program under each of three policies")
        ->check(CLI::Range(1, 10'000))
        ->type_name("R")
        ->capture_default_str();
    profile->add_option("--sizes", options->sizes, "Units to measure (default: sixteenths of the problem)")
        ->type_name("FROM:TO:STEP");
    profile
        ->add_option(
            "--balance", options->balance,
            "Measure the shares of distributions of the whole problem until their times differ by at most this "
            "part, instead of --sizes")
        ->check(CLI::Range(0.001, 1.0))
        ->type_name("PART")
        ->excludes("--sizes", platform);
    profile
        ->add_option("--instance", options->instance,
                     "Measure the links to devices, too, and write the machine as an instance of the data assignment "
                     "problem, for plan --instance")
        ->type_name("FILE.json")
        ->excludes(platform);
    profile
        ->add_option("--processors", options->processors, "StarPU's workers or the kernel's processors (default: all)")
        ->delimiter(',')
        ->type_name("0,1,...");
    profile->add_flag("--alone", options->measure.alone, "Measure one processor at a time, the others idle");
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
