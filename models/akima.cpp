// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/akima.hpp"

#include <algorithm>
#include <cmath>

namespace apportion {

namespace {

/// Slopes at the points: means of the neighbouring chords' slopes, weighted by how little the far chords turn.
std::vector<double> akima_slopes(const std::vector<SpeedPoint>& points) {
    const std::size_t count = points.size();
    std::vector<double> chord(count + 3);  // two chords are continued on either side: chord[k + 2] is k to k + 1
    for (std::size_t k = 0; k + 1 < count; ++k)
        chord[k + 2] = (points[k + 1].units_per_s - points[k].units_per_s) / (points[k + 1].units - points[k].units);
    const std::size_t last = count;
    if (count == 2) {
        chord[0] = chord[1] = chord[3] = chord[4] = chord[2];
    } else {
        chord[1] = 2 * chord[2] - chord[3];
        chord[0] = 2 * chord[1] - chord[2];
        chord[last + 1] = 2 * chord[last] - chord[last - 1];
        chord[last + 2] = 2 * chord[last + 1] - chord[last];
    }
    std::vector<double> slopes(count);
    for (std::size_t k = 0; k < count; ++k) {
        const double left = std::abs(chord[k + 1] - chord[k]), right = std::abs(chord[k + 3] - chord[k + 2]);
        const double turn = left + right;
        slopes[k] = turn > 0 ? (right * chord[k + 1] + left * chord[k + 2]) / turn : (chord[k + 1] + chord[k + 2]) / 2;
    }
    return slopes;
}

}  // namespace

std::optional<Akima> Akima::through(std::span<const BlockTime> samples) {
    const std::vector<SpeedPoint> points = speed_points(samples);
    if (points.empty()) return std::nullopt;
    Akima model;
    model.below_ = line_below(points);
    const std::vector<double> slopes = points.size() > 1 ? akima_slopes(points) : std::vector<double>{0};
    for (std::size_t k = 0; k + 1 < points.size(); ++k) {
        const SpeedPoint &a = points[k], &b = points[k + 1];
        const double width = b.units - a.units;
        const double chord = (b.units_per_s - a.units_per_s) / width;
        Piece cubic = {a.units, a.units_per_s, slopes[k], (3 * chord - 2 * slopes[k] - slopes[k + 1]) / width,
                       (slopes[k] + slopes[k + 1] - 2 * chord) / (width * width)};
        // The lowest value inside is where the derivative vanishes, if it does; roots without cancellation.
        const double floor = std::min(a.units_per_s, b.units_per_s) / 2;
        const double root = std::sqrt(std::max(0.0, cubic.second * cubic.second - 3 * cubic.third * cubic.slope));
        const double q = -(cubic.second + std::copysign(root, cubic.second));
        for (const double u : {cubic.third != 0 ? q / (3 * cubic.third) : 0, q != 0 ? cubic.slope / q : 0})
            if (u > 0 && u < width && cubic.value + u * (cubic.slope + u * (cubic.second + u * cubic.third)) < floor) {
                cubic = {a.units, a.units_per_s, chord, 0, 0};
                break;
            }
        model.pieces_.push_back(cubic);
    }
    model.pieces_.push_back({points.back().units, points.back().units_per_s, 0, 0, 0});
    return model;
}

/// The piece that holds `units`, or nullptr below the first.
const Akima::Piece* Akima::piece(double units) const {
    const auto beyond = std::ranges::upper_bound(pieces_, units, {}, &Piece::units);
    return beyond == pieces_.begin() ? nullptr : &*(beyond - 1);
}

double Akima::speed(double units) const {
    const Piece* p = piece(units);
    if (p == nullptr) return below_.speed(units);
    const double u = units - p->units;
    return p->value + u * (p->slope + u * (p->second + u * p->third));
}

/// (s - x s') / s^2
double Akima::derivative(double units) const {
    const Piece* p = piece(units);
    if (p == nullptr) return below_.seconds_per_unit;
    const double u = units - p->units, s = speed(units);
    const double slope = p->slope + u * (2 * p->second + 3 * u * p->third);
    return (s - units * slope) / (s * s);
}

}  // namespace apportion
