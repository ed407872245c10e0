// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/profile_parts.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>

#include "codelets/common/child_process.hpp"
#include "models/io/shown.hpp"
#include "policies/starpu/machine.hpp"
#include "policies/starpu/profile_store.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/machine_load.hpp"
#include "tools/apportion/machines.hpp"
#include "tools/apportion/profile_measure.hpp"

namespace apportion {

namespace {

volatile std::sig_atomic_t interrupted = 0;  ///< by this signal

bool is_interrupted() { return interrupted != 0; }

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

ProfileRecord::Mode mode(const ProfileSubject& subject, const ProfileOptions& options) {
    const auto processors = subject.processors();
    return {
        options.measure.alone ? "one processor at a time" : fmt::format("together: {}", fmt::join(processors, ", ")),
        {processors.begin(), processors.end()}};
}

Notes identity(const ProfileSubject& subject, const ProfileOptions& options) {
    return {{"kernel", subject.kernel()},
            {kLoadNote, subject.load()},
            {kMachineNote, this_machine().description},
            {"size", options.size},
            {"unit", subject.unit()},
            {"precision", fmt::format("{} at 95 % confidence", options.measure.samples.precision)}};
}

Units whole_problem(const ProfileSubject& subject, Units size) {
    return subject.most_units() == kNoLimit ? size : subject.most_units();
}

/// Sixteenths of the problem, and all of it.
std::vector<Units> default_sizes(const ProfileSubject& subject, Units size) {
    constexpr Units kSizes = 16;
    const Units granules = std::max<Units>(whole_problem(subject, size) / subject.granularity(), 1);
    const Units step = std::max<Units>(granules / kSizes, 1);
    std::vector<Units> sizes;
    for (Units i = step; i < granules && std::ssize(sizes) < kSizes - 1; i += step)
        sizes.push_back(i * subject.granularity());
    sizes.push_back(granules * subject.granularity());
    return sizes;
}

/// Notes of a new file that may differ when it is continued.
Notes remarks(double load) {
    return {{"date", fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(std::time(nullptr)))},
            {"load per CPU before", fmt::format("{:.2f}", load)}};
}

/// "cluster.csv" of rank 1 is "cluster-1.csv".
std::string file_of_rank(const std::string& file, int rank) {
    const std::filesystem::path path = file;
    return path.parent_path() / fmt::format("{}-{}{}", path.stem().string(), rank, path.extension().string());
}

/// This machine's part of the measurement, ready to run.
class Here {
  public:
    Here(const ProfileOptions& options, const Machines& machines);
    /// Returns the exit status; where it is 0, all was measured.
    int run();
    std::size_t processors() const { return subject_->processors().size(); }
    /// As machine_instance(), of a processor's equal share among `processors`.
    std::string instance(std::size_t processors);

  private:
    MeasurementCourse course(std::size_t points) const { return {*subject_, *record_, points, is_interrupted}; }

    const ProfileOptions& options_;
    std::string out_;
    std::unique_ptr<ProfileSubject> subject_;
    std::vector<Units> sizes_;
    Units units_ = 0;  ///< of the whole problem
    std::unique_ptr<ProfileRecord> record_;
};

Here::Here(const ProfileOptions& options, const Machines& machines) : options_(options), out_(options.out) {
    check(options);
    const std::vector<std::int64_t> size = parse_numbers(options.size, "--size");
    if (options.app.empty() && size.size() > 1)
        throw UserError(fmt::format("--size {}: a kernel's size is one number", options.size));
    if (!options.app.empty())
        subject_ = workload_subject(options.app, size, options.processors);
    else
        subject_ = library_subject(options.kernel, static_cast<std::uint64_t>(size.front()), options.processors);
    units_ = whole_problem(*subject_, size.front());
    if (!options.instance.empty()) check_instance(machines.rank() == 0 ? options.instance : "", *subject_);
    if (out_.empty())
        out_ = default_file(subject_->load(), this_machine());
    else if (machines.size() > 1)
        out_ = file_of_rank(out_, machines.rank());
    sizes_ = options.sizes.empty() ? default_sizes(*subject_, size.front()) : parse_sizes(options.sizes);
    const double load = load_per_cpu();
    record_ =
        std::make_unique<ProfileRecord>(out_, identity(*subject_, options), remarks(load), mode(*subject_, options));
    warn_of_load(load);
}

int Here::run() {
    std::size_t points = 0;
    for (const std::string& processor : subject_->processors())
        points += std::ranges::count_if(sizes_, [&](Units units) { return !record_->has(processor, units); });
    MeasurementCourse course = this->course(points);
    const bool complete = measure_profile(*subject_, sizes_, options_.measure, course.watcher());
    course.finish(out_, options_.measure.samples, complete);
    return complete ? 0 : Interrupted(interrupted).status();
}

std::string Here::instance(std::size_t processors) {
    std::vector<std::map<Units, double>> times;
    for (const std::string& processor : subject_->processors()) times.push_back(record_->times(processor));
    return machine_instance(*subject_, times, units_ / static_cast<Units>(processors), options_.measure.samples,
                            is_interrupted);
}

/// Throws AgreedError where all ranks are told other things to do.
void require_same(const ProfileOptions& options, Machines& machines) {
    const std::vector<std::string> asked = machines.gather(fmt::format(
        "--app {} --kernel {} --size {} --instance {}", options.app, options.kernel, options.size, options.instance));
    const std::string& own = asked[static_cast<std::size_t>(machines.rank())];
    machines.agreed([&] {
        if (own != asked.front())
            throw UserError(fmt::format("the command line is that of '{}', and '{}' on rank 0; start all ranks alike",
                                        own, asked.front()));
        if (!options.instance.empty() && machines.by_mpirun() && machines.size() == 1)
            throw UserError(
                "--instance: mpirun started one process, and transfers are those between machines; start one on each, "
                "or leave out mpirun for this machine alone");
        return 0;
    });
}

/// Writes it on rank 0. Returns the exit status.
int write_instance(std::unique_ptr<Here> here, Machines& machines, const ProfileOptions& options) {
    std::size_t processors = 0;
    for (const std::string& its : machines.gather(std::to_string(here->processors()))) processors += std::stoul(its);
    std::string own;
    machines.agreed([&] {
        own = here->instance(processors);
        return 0;
    });
    here.reset();  // no worker of StarPU runs while messages do
    const auto names = machines.gather(fmt::format("rank {} ({})", machines.rank(), host_name()));
    const auto instances = machines.gather(own);
    const auto links = machines.measure_links(options.measure.samples, is_interrupted);
    const auto interruption = [] { return is_interrupted() ? Interrupted(interrupted).status() : 0; };
    if (const int status = machines.agreed(interruption); status != 0) {
        if (machines.rank() == 0)
            std::cerr << fmt::format("apportion profile: interrupted; {} is not written\n", shown(options.instance));
        return status;
    }
    return machines.agreed([&] {
        if (machines.rank() == 0)
            fmt::print("{}", save_instance(options.instance,
                                           machines.by_mpirun() ? cluster_instance(instances, names, links) : own));
        return 0;
    });
}

int measure(const ProfileOptions& options, Machines& machines) {
    const Interruptible interruptible;
    require_same(options, machines);
    std::unique_ptr<Here> here;
    machines.agreed([&] {
        here = std::make_unique<Here>(options, machines);
        return 0;
    });
    if (const int status = machines.agreed([&] { return here->run(); }); status != 0) return status;
    return options.instance.empty() ? 0 : write_instance(std::move(here), machines, options);
}

}  // namespace

void check(const ProfileOptions& options) {
    if (const std::string problem = options.measure.samples.invalid(); !problem.empty()) throw UserError(problem);
    if (std::set(options.processors.begin(), options.processors.end()).size() != options.processors.size())
        throw UserError("--processors: a processor is given twice; give each once");
    if (!options.sizes.empty()) parse_sizes(options.sizes);
}

void warn_of_load(double load) {
    constexpr double kQuiet = 0.3;
    if (load > kQuiet)
        std::cerr << fmt::format(
            "apportion profile: other programs keep this machine busy ({:.1f} per CPU in the last minute), and what "
            "they take is in the times; measure on a quiet machine\n",
            load);
}

int profile_machines(ProfileOptions options) {
    options.measure.samples.least = std::min(options.measure.samples.least, options.measure.samples.most);
    Machines& machines = Machines::here();
    constexpr int kUserHasToChange = 2;
    int status = kUserHasToChange;
    try {
        status = measure(options, machines);
    } catch (const AgreedError& error) {
        // Before the others end: mpirun kills the rest of a job with the first rank that fails.
        if (machines.rank() == 0) std::cerr << fmt::format("apportion: {}\n", shown(error.what()));
    }
    machines.finish();
    return status;
}

}  // namespace apportion
