// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/piecewise_linear.hpp"

#include <algorithm>

namespace apportion {

namespace {

/// Whether b lies on or below the line from a to c.
bool below_chord(const SpeedPoint& a, const SpeedPoint& b, const SpeedPoint& c) {
    return (b.units_per_s - a.units_per_s) * (c.units - a.units) <=
           (c.units_per_s - a.units_per_s) * (b.units - a.units);
}

/// Points without those that break the shape.
std::vector<SpeedPoint> restrict_shape(const std::vector<SpeedPoint>& points) {
    const auto slower = [](const SpeedPoint& a, const SpeedPoint& b) { return a.units_per_s < b.units_per_s; };
    const auto peak = std::ranges::max_element(points, slower);
    std::vector<SpeedPoint> kept = {{0, 0}};
    for (auto point = points.begin(); point <= peak; ++point) {
        while (kept.size() >= 2 && below_chord(kept[kept.size() - 2], kept.back(), *point)) kept.pop_back();
        kept.push_back(*point);
    }
    kept.erase(kept.begin());
    const auto rising = static_cast<std::ptrdiff_t>(kept.size());
    double fastest_beyond = 0;
    for (auto point = points.end() - 1; point > peak; --point)
        if (point->units_per_s > fastest_beyond) {
            fastest_beyond = point->units_per_s;
            kept.push_back(*point);
        }
    std::reverse(kept.begin() + rising, kept.end());
    return kept;
}

}  // namespace

PiecewiseLinear::PiecewiseLinear(std::vector<SpeedPoint> points, Shape shape) : points_(std::move(points)) {
    below_ = shape == Shape::as_printed ? LineBelow{0, 1 / points_.front().units_per_s} : line_below(points_);
    soonest_s_.resize(points_.size());
    for (std::size_t k = points_.size(); k-- > 0;) {
        soonest_s_[k] = points_[k].units / points_[k].units_per_s;
        if (k + 1 < points_.size()) soonest_s_[k] = std::min(soonest_s_[k], soonest_s_[k + 1]);
    }
}

std::optional<PiecewiseLinear> PiecewiseLinear::through(std::span<const BlockTime> samples, Shape shape) {
    std::vector<SpeedPoint> points = speed_points(samples);
    if (points.empty()) return std::nullopt;
    if (shape != Shape::as_measured) points = restrict_shape(points);
    return {PiecewiseLinear(std::move(points), shape)};
}

/// Index of the first point beyond `units`.
std::size_t PiecewiseLinear::segment(double units) const {
    const auto beyond = std::ranges::upper_bound(points_, units, {}, &SpeedPoint::units);
    return static_cast<std::size_t>(beyond - points_.begin());
}

double PiecewiseLinear::speed(double units) const {
    const std::size_t k = segment(units);
    if (k == 0) return below_.speed(units);
    if (k == points_.size()) return points_.back().units_per_s;
    const SpeedPoint &a = points_[k - 1], &b = points_[k];
    return a.units_per_s + (b.units_per_s - a.units_per_s) * ((units - a.units) / (b.units - a.units));
}

double PiecewiseLinear::seconds(double units) const { return units > 0 ? units / speed(units) : 0; }

double PiecewiseLinear::units_within(double seconds) const {
    const auto later = std::ranges::upper_bound(soonest_s_, seconds);
    const auto k = static_cast<std::size_t>(later - soonest_s_.begin());
    if (k == 0) return below_.units_within(seconds);
    if (k == points_.size()) return std::max(points_.back().units, seconds * points_.back().units_per_s);
    // Point k - 1 is in time, point k and all beyond are late: x = seconds * (a + slope (x - x_a)) in between.
    const SpeedPoint &a = points_[k - 1], &b = points_[k];
    const double slope = (b.units_per_s - a.units_per_s) / (b.units - a.units);
    return std::clamp(seconds * (a.units_per_s - slope * a.units) / (1 - seconds * slope), a.units, b.units);
}

}  // namespace apportion
