// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/samples.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <utility>

namespace apportion {

namespace {

constexpr double kConfidence = 0.95;
constexpr double kSpikeFactor = 5;   // robust standard deviations (scaled median absolute deviation) above the median
constexpr double kSpikeShare = 0.2;  // largest part of the samples that may be left out

/// Half width of the Student-t confidence interval of the mean of `count` samples, at least 2, whose standard deviation
/// is `deviation`.
double confidence_half_width(double deviation, std::size_t count) {
    const boost::math::students_t distribution(static_cast<double>(count - 1));
    const double quantile = boost::math::quantile(boost::math::complement(distribution, (1 - kConfidence) / 2));
    return quantile * deviation / std::sqrt(static_cast<double>(count));
}

}  // namespace

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

std::string SampleOptions::invalid() const {
    if (!(precision > 0)) return "the precision must be greater than 0";
    if (least < 2) return "at least 2 repetitions are needed for a confidence interval";
    if (most < least) return "the largest number of repetitions must not be below the least";
    if (!(most_seconds > 0)) return "the time limit of a measurement must be greater than 0 s";
    return {};
}

void Samples::add(double seconds) {
    if (!(seconds > 0) || !std::isfinite(seconds)) return;
    total_s_ += seconds;
    if (!std::exchange(warm_, true)) return;
    used_.insert(std::ranges::upper_bound(used_, seconds), seconds);
    update();
}

void Samples::update() {
    const double usual = median(used_);
    std::vector<double> deviations;
    for (double t : used_) deviations.push_back(std::abs(t - usual));
    // 1.4826: the median absolute deviation of a normal distribution is its standard deviation / 1.4826. What is within
    // the precision is no spike, however alike the others are.
    const double spread = std::max(1.4826 * median(std::move(deviations)), options_.precision * usual);
    const auto first_spike = std::ranges::upper_bound(used_, usual + kSpikeFactor * spread);
    spikes_ = static_cast<int>(used_.end() - first_spike);
    if (spikes_ > kSpikeShare * static_cast<double>(used_.size())) spikes_ = 0;

    const std::size_t count = used_.size() - static_cast<std::size_t>(spikes_);
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < count; ++i) sum += used_[i];
    mean_s_ = sum / static_cast<double>(count);
    for (std::size_t i = 0; i < count; ++i) squares += (used_[i] - mean_s_) * (used_[i] - mean_s_);
    interval_s_ = count < 2 ? 0 : confidence_half_width(std::sqrt(squares / static_cast<double>(count - 1)), count);
}

bool Samples::precise() const { return repetitions() >= options_.least && interval_s_ <= options_.precision * mean_s_; }

bool Samples::enough() const {
    if (used_.empty()) return false;
    return precise() || static_cast<int>(used_.size()) >= options_.most || total_s_ >= options_.most_seconds;
}

}  // namespace apportion
