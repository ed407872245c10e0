// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/profile_measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "models/io/shown.hpp"

namespace apportion {

MeasurementCourse::MeasurementCourse(ProfileSubject& subject, ProfileRecord& record, std::size_t points,
                                     std::function<bool()> stop)
    : subject_(subject), record_(record), stop_(std::move(stop)), progress_(std::in_place, "apportion profile") {
    progress_->expect(points);
}

MeasureWatcher MeasurementCourse::watcher() {
    return {.known = [this](std::size_t p, Units units) { return record_.has(subject_.processors()[p], units); },
            .finished = [this](const MeasuredPoint& point) { finished(point); },
            .repeated = [this](Units units) { progress_->begin(fmt::format("{} {}s", units, subject_.unit())); },
            .stop = stop_};
}

void MeasurementCourse::finished(const MeasuredPoint& measured) {
    progress_->done();
    if (!measured.does_not_fit.empty()) {
        progress_->say(fmt::format("apportion profile: {}; this size is left out", shown(measured.does_not_fit)));
        return;
    }
    const ProfilePoint& point = measured.point;
    record_.add(subject_.processors()[measured.processor], point);
    ++measured_;
    if (measured.precise) return;
    ++imprecise_;
    widest_ = std::max(widest_, point.ci_s / point.seconds);
}

void MeasurementCourse::finish(const std::string& out, const SampleOptions& samples, bool complete) {
    progress_.reset();
    fmt::print("{}: {} points measured{}\n", shown(out), measured_,
               record_.found() > 0 ? fmt::format(", {} were there before", record_.found()) : "");
    if (imprecise_ > 0)
        fmt::print(
            "{} of them did not reach the precision of {} % (widest interval: {:.1f} %) within --max-repetitions {} "
            "and --max-seconds {}\n",
            imprecise_, 100 * samples.precision, 100 * widest_, samples.most, samples.most_seconds);
    if (!complete) std::cerr << "apportion profile: interrupted; the same command continues\n";
}

}  // namespace apportion
