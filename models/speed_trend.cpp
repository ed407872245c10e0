// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/speed_trend.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace apportion {

namespace {

constexpr std::size_t kMostPowers = 11;  // degree 10
constexpr std::size_t kSizesForAPower = 4;
constexpr double kSlowest = 1e-9;        // of the largest measured speed: what counts as positive
constexpr double kNegligible_sq = 1e-6;  // relative residuals of a thousandth: without them exact data buy any degree

/// Legendre's polynomials at u: by them the least squares stay well conditioned, unlike by powers.
std::array<double, kMostPowers> legendre(double u) {
    std::array<double, kMostPowers> values{1, u};
    for (std::size_t k = 2; k < kMostPowers; ++k) {
        const auto n = static_cast<double>(k);
        values[k] = ((2 * n - 1) * u * values[k - 1] - (n - 1) * values[k - 2]) / n;
    }
    return values;
}

double criterion(double rss, double samples, double parameters) {
    const double k = parameters + 1;  // the variance is estimated as well
    return samples * std::log(rss / samples) + 2 * k + 2 * k * (k + 1) / std::max(samples - k - 1, 1.0);
}

}  // namespace

double SpeedTrend::speed(double units) const {
    const std::array<double, kMostPowers> values = legendre((units - middle_) / half_width_);
    double sum = 0;
    for (std::size_t k = 0; k < coefficients_.size(); ++k) sum += coefficients_[k] * values[k];
    return sum;
}

std::optional<SpeedTrend> SpeedTrend::through(std::span<const BlockTime> samples) {
    if (samples.empty()) return {};
    const auto [least, most] = std::minmax_element(
        samples.begin(), samples.end(), [](const BlockTime& a, const BlockTime& b) { return a.units < b.units; });
    const double half_width = (most->units - least->units) / 2;
    SpeedTrend trend((least->units + most->units) / 2, half_width > 0 ? half_width : 1);

    const auto rows = static_cast<Eigen::Index>(samples.size());
    const auto powers = static_cast<Eigen::Index>(std::min(kMostPowers, 1 + samples.size() / kSizesForAPower));
    Eigen::MatrixXd matrix(rows, powers);
    Eigen::VectorXd speeds(rows);
    for (Eigen::Index r = 0; r < rows; ++r) {
        const BlockTime& sample = samples[static_cast<std::size_t>(r)];
        const std::array<double, kMostPowers> values = legendre((sample.units - trend.middle_) / trend.half_width_);
        for (Eigen::Index k = 0; k < powers; ++k) matrix(r, k) = values[static_cast<std::size_t>(k)];
        speeds(r) = sample.units / sample.seconds;
    }
    const double fastest = speeds.maxCoeff();
    if (!(fastest > 0) || !std::isfinite(fastest)) return {};
    speeds /= fastest;
    // Q^T y at once: what a degree leaves are its entries from there on.
    const Eigen::HouseholderQR<Eigen::MatrixXd> qr(matrix);
    const Eigen::VectorXd rotated = qr.householderQ().transpose() * speeds;
    const double negligible = kNegligible_sq * speeds.squaredNorm();
    double best = std::numeric_limits<double>::infinity();
    for (Eigen::Index count = 1; count <= powers; ++count) {
        const double rss = rotated.tail(rows - count).squaredNorm() + negligible;
        const double value = criterion(rss, static_cast<double>(rows), static_cast<double>(count));
        if (value >= best) continue;
        const Eigen::VectorXd solution =
            qr.matrixQR().topLeftCorner(count, count).triangularView<Eigen::Upper>().solve(rotated.head(count));
        if (!solution.allFinite() || (matrix.leftCols(count) * solution).minCoeff() <= kSlowest) continue;
        best = value;
        trend.coefficients_.clear();
        for (const double coefficient : solution) trend.coefficients_.push_back(fastest * coefficient);
    }
    return trend;
}

}  // namespace apportion
