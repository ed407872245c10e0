// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How a measurement is going: points on their way into the file, the progress line and the last sentence.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "codelets/io/progress.hpp"
#include "tools/apportion/profile_measure.hpp"
#include "tools/apportion/profile_record.hpp"

namespace apportion {

class MeasurementCourse {
  public:
    /// `points`: at most, to be measured.
    MeasurementCourse(ProfileSubject& subject, ProfileRecord& record, std::size_t points, std::function<bool()> stop);

    MeasureWatcher watcher();
    void finish(const std::string& out, const SampleOptions& samples, bool complete);

  private:
    void finished(const MeasuredPoint& measured);

    ProfileSubject& subject_;
    ProfileRecord& record_;
    std::function<bool()> stop_;
    std::optional<ProgressLine> progress_;
    int measured_ = 0, imprecise_ = 0;
    double widest_ = 0;  ///< interval relative to its mean
};

}  // namespace apportion
