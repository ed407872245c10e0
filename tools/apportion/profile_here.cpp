// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/profile_parts.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <iostream>
#include <map>
#include <optional>
#include <set>

#include "codelets/common/child_process.hpp"
#include "codelets/io/progress.hpp"
#include "models/io/shown.hpp"
#include "models/io/text.hpp"
#include "policies/starpu/machine.hpp"
#include "policies/starpu/profile_store.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/machine_load.hpp"
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

Notes identity(const ProfileSubject& subject, const ProfileOptions& options) {
    return {{"kernel", subject.kernel()},
            {kLoadNote, subject.load()},
            {kMachineNote, this_machine().description},
            {"size", options.size},
            {"precision", fmt::format("{} at 95 % confidence", options.measure.samples.precision)}};
}

/// Sixteenths of the problem, and all of it.
std::vector<Units> default_sizes(const ProfileSubject& subject) {
    constexpr Units kSizes = 16;
    const Units granules = std::max<Units>(subject.most_units() / subject.granularity(), 1);
    const Units step = std::max<Units>(granules / kSizes, 1);
    std::vector<Units> sizes;
    for (Units i = step; i < granules && std::ssize(sizes) < kSizes - 1; i += step)
        sizes.push_back(i * subject.granularity());
    sizes.push_back(granules * subject.granularity());
    return sizes;
}

/// Notes of a new file that may differ when it is continued.
Notes remarks() { return {{"date", fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(std::time(nullptr)))}}; }

/// How a measurement is going: points on their way into the file, the progress line and the last sentence.
class MeasurementCourse {
  public:
    /// `points`: at most, to be measured.
    MeasurementCourse(ProfileSubject& subject, ProfileRecord& record, const MeasureOptions& options, std::size_t points)
        : subject_(subject), record_(record), samples_(options.samples), progress_(std::in_place, "apportion profile") {
        progress_->expect(points);
        if (const std::optional<Transfers> transfers = subject.transfers(); transfers && points > 0) {
            memories_ = transfers->memories;
            transfers_ = measure_transfers(*transfers, is_interrupted);
        }
    }

    MeasureWatcher watcher() {
        return {.known = [this](std::size_t p, Units units) { return record_.has(subject_.processors()[p], units); },
                .finished = [this](const MeasuredPoint& point) { finished(point); },
                .repeated = [this](Units units) { progress_->begin(fmt::format("{} units", units)); },
                .stop = is_interrupted};
    }

    void finish(const std::string& out, bool complete) {
        progress_.reset();
        fmt::print("{}: {} measured{}\n", shown(out), counted(measured_, "point"),
                   record_.found() > 0 ? fmt::format(", {} were there before", record_.found()) : "");
        std::vector<std::string> intervals;
        if (imprecise_ > without_interval_)
            intervals.push_back(fmt::format("widest interval: {:.1f} %", 100 * widest_));
        if (without_interval_ > 0)
            intervals.push_back(fmt::format("{} have fewer than the {} repetitions that tell an interval",
                                            without_interval_, samples_.least));
        if (imprecise_ > 0)
            fmt::print(
                "{} of them did not reach the precision of {} % ({}) within --max-repetitions {} and --max-seconds "
                "{}\n",
                imprecise_, 100 * samples_.precision, fmt::join(intervals, "; "), samples_.most, samples_.most_seconds);
        if (!complete) std::cerr << "apportion profile: interrupted; the same command continues\n";
    }

  private:
    void finished(const MeasuredPoint& measured) {
        progress_->done();
        ProfilePoint point = measured.point;
        if (measured.processor < memories_.size())
            if (const auto its = transfers_.find(memories_[measured.processor]); its != transfers_.end())
                its->second.add_to(point);
        record_.add(subject_.processors()[measured.processor], point);
        ++measured_;
        if (measured.precise) return;
        ++imprecise_;
        if (point.repetitions < samples_.least)
            ++without_interval_;
        else
            widest_ = std::max(widest_, point.ci_s / point.seconds);
    }

    ProfileSubject& subject_;
    ProfileRecord& record_;
    const SampleOptions& samples_;
    std::vector<unsigned> memories_;  ///< of each processor, where known
    std::map<unsigned, TransferTimes> transfers_;
    std::optional<ProgressLine> progress_;
    int measured_ = 0, imprecise_ = 0, without_interval_ = 0;
    double widest_ = 0;  ///< interval relative to its mean
};

/// Returns the exit status.
int measure(ProfileSubject& subject, ProfileRecord& record, const ProfileOptions& options, const std::string& out) {
    const std::vector<Units> sizes = options.sizes.empty() ? default_sizes(subject) : parse_sizes(options.sizes);
    std::size_t points = 0;
    for (const std::string& processor : subject.processors())
        points += std::ranges::count_if(sizes, [&](Units units) { return !record.has(processor, units); });
    MeasurementCourse course(subject, record, options.measure, points);
    course.finish(out, measure_profile(subject, sizes, options.measure, course.watcher()));
    return is_interrupted() ? Interrupted(interrupted).status() : 0;
}

}  // namespace

void check(const ProfileOptions& options) {
    if (const std::string problem = options.measure.samples.invalid(); !problem.empty()) throw UserError(problem);
    if (std::set(options.processors.begin(), options.processors.end()).size() != options.processors.size())
        throw UserError("--processors: a processor is given twice; give each once");
    if (!options.sizes.empty()) parse_sizes(options.sizes);
}

void warn_of_load(const MachineLoad& load) {
    if (const std::string disturbed = disturbance(load.cpus_of_others()); !disturbed.empty())
        std::cerr << fmt::format("apportion profile: {}\n", disturbed);
}

int profile_here(ProfileOptions options) {
    options.measure.samples.least = std::min(options.measure.samples.least, options.measure.samples.most);
    const Interruptible interruptible;
    check(options);
    const auto subject = workload_subject(options.app, parse_numbers(options.size, "--size"), options.processors);
    const std::string out = options.out.empty() ? default_file(subject->load(), this_machine()) : options.out;
    ProfileRecord record(out, identity(*subject, options), remarks(),
                         fmt::format("together: {}", fmt::join(subject->processors(), ", ")));
    const MachineLoad load;
    const int status = measure(*subject, record, options, out);
    warn_of_load(load);
    return status;
}

}  // namespace apportion
