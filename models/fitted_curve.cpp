// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/fitted_curve.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

namespace apportion {

namespace {

constexpr std::size_t kBasis = FittedCurve::kBasisSize;
constexpr int kLargestSubset = 3;  // basis functions used together
constexpr unsigned kConstant = 1u << 0;
constexpr unsigned kLinear = 1u << 2;

/// Basis function `i`, or its first or second derivative, at u > 0.
double basis(std::size_t i, double u, int order) {
    switch (i) {
        case 0:
            return order == 0 ? 1 : 0;
        case 1:
            return order == 0 ? std::log(u) : order == 1 ? 1 / u : -1 / (u * u);
        case 2:
            return order == 0 ? u : order == 1 ? 1 : 0;
        case 3:
            return order == 0 ? u * u : order == 1 ? 2 * u : 2;
        case 4:
            return order == 0 ? u * u * u : order == 1 ? 3 * u * u : 6 * u;
        case 5:
            return std::exp(u);
        case 6:
            return (u + order) * std::exp(u);
        default:
            return order == 0 ? u * std::log(u) : order == 1 ? std::log(u) + 1 : 1 / u;
    }
}

/// All of them, at u > 0.
std::array<double, kBasis> basis(double u) {
    const double logarithm = std::log(u), exponential = std::exp(u);
    return {1, logarithm, u, u * u, u * u * u, exponential, u * exponential, u * logarithm};
}

constexpr const char* kBasisText[kBasis] = {"", " ln u", " u", " u^2", " u^3", " e^u", " u e^u", " u ln u"};

constexpr int kRows = static_cast<int>(kBasis) + 1;  // of what is left of the samples: the functions and the right side

/// A matrix of at most so many rows and columns, without memory from the heap.
template <int rows, int columns>
using Small = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor, rows, columns>;

struct Solution {
    Small<kLargestSubset, 1> coefficients;
    double relative_rss = std::numeric_limits<double>::infinity();
};

/// Least squares on the relative residuals, over any few of the basis functions. The samples are reduced once, by an
/// orthogonal transformation of all functions beside the right side (ones), which leaves a triangle of kRows rows: its
/// columns have the same least squares as the samples', whichever are chosen.
class RelativeLeastSquares {
  public:
    RelativeLeastSquares(const std::vector<BlockTime>& samples, double scale, std::size_t functions) {
        Eigen::MatrixXd all(static_cast<Eigen::Index>(samples.size()), static_cast<Eigen::Index>(functions) + 1);
        for (Eigen::Index r = 0; r < all.rows(); ++r) {
            const BlockTime& sample = samples[static_cast<std::size_t>(r)];
            const std::array<double, kBasis> values = basis(sample.units / scale);
            for (std::size_t i = 0; i < functions; ++i)
                all(r, static_cast<Eigen::Index>(i)) = values[i] / sample.seconds;
        }
        all.rightCols<1>().setOnes();
        const Eigen::HouseholderQR<Eigen::Ref<Eigen::MatrixXd>> in_place(all);
        triangle_ = all.topRows(std::min(all.rows(), all.cols())).triangularView<Eigen::Upper>();
    }

    Solution solve(unsigned subset) const {
        Small<kRows, kLargestSubset> chosen(triangle_.rows(), std::popcount(subset));
        Eigen::Index column = 0;
        for (std::size_t i = 0; i < kBasis; ++i)
            if (subset >> i & 1) chosen.col(column++) = triangle_.col(static_cast<Eigen::Index>(i));
        Solution solution;
        solution.coefficients = chosen.colPivHouseholderQr().solve(triangle_.rightCols<1>());
        if (solution.coefficients.allFinite())
            solution.relative_rss = (triangle_.rightCols<1>() - chosen * solution.coefficients).squaredNorm();
        return solution;
    }

    /// Calls `found` with every subset of 1 to `most` functions and what its least squares leave, at a fraction of what
    /// solve() costs: each function is made orthogonal to those before it, once for all subsets that begin with them.
    template <class Found>
    void for_each_residual(int most, Found&& found) const {
        extend(0, 0, most, triangle_, triangle_.rightCols<1>(), found);
    }

  private:
    using Columns = Small<kRows, kRows>;
    using Column = Small<kRows, 1>;

    /// `columns` and `rest` (of the right side) are orthogonal to the functions in `subset`.
    template <class Found>
    void extend(unsigned subset, Eigen::Index from, int more, const Columns& columns, const Column& rest,
                Found& found) const {
        constexpr double kDependent = 1e-10;  // what is left of a function that those before it contain
        const Eigen::Index functions = columns.cols() - 1;
        for (Eigen::Index i = from; i < functions; ++i) {
            const double length = columns.col(i).norm();
            if (!(length > kDependent * triangle_.col(i).norm())) continue;
            const Column direction = columns.col(i) / length;
            const Column left = rest - direction * direction.col(0).dot(rest.col(0));
            const unsigned extended = subset | 1u << i;
            found(extended, left.squaredNorm());
            if (more == 1) continue;
            Columns orthogonal = columns;
            for (Eigen::Index j = i + 1; j < functions; ++j)
                orthogonal.col(j) -= direction * direction.col(0).dot(columns.col(j));
            extend(extended, i + 1, more - 1, orthogonal, left, found);
        }
    }

    Columns triangle_;
};

/// Corrected Akaike criterion. Residuals below a thousandth are no better than residuals of a thousandth: clocks and
/// caches are not that exact, and without the floor noise-free data would buy any number of parameters.
double criterion(double relative_rss, std::size_t samples, int parameters) {
    constexpr double kFloor = 1e-6;
    const double n = static_cast<double>(samples);
    const double k = parameters + 1;  // the variance is estimated as well
    return n * std::log(relative_rss / n + kFloor) + 2 * k + 2 * k * (k + 1) / std::max(n - k - 1, 1.0);
}

/// Sizes that differ enough to tell a slope from noise.
std::size_t distinct_sizes(const std::vector<BlockTime>& samples) {
    std::vector<double> sizes;
    for (const BlockTime& sample : samples) sizes.push_back(sample.units);
    std::ranges::sort(sizes);
    std::size_t distinct = 1;
    double last = sizes.front();
    for (double size : sizes)
        if (size >= kClearlyLarger * last) {
            ++distinct;
            last = size;
        }
    return distinct;
}

double coefficient_of_determination(const FittedCurve& curve, const std::vector<BlockTime>& samples) {
    double mean = 0, residual = 0, total = 0;
    for (const BlockTime& sample : samples) mean += sample.seconds / static_cast<double>(samples.size());
    for (const BlockTime& sample : samples) {
        residual += std::pow(sample.seconds - curve.seconds(sample.units), 2);
        total += std::pow(sample.seconds - mean, 2);
    }
    return total > 0 ? 1 - residual / total : residual > 0 ? 0 : 1;
}

}  // namespace

std::optional<FittedCurve> FittedCurve::fit(std::span<const BlockTime> samples, const FitOptions& options) {
    std::vector<BlockTime> valid;
    for (const BlockTime& sample : samples)
        if (sample.units > 0 && sample.seconds > 0 && std::isfinite(sample.units) && std::isfinite(sample.seconds))
            valid.push_back(sample);
    if (valid.empty()) return std::nullopt;

    FittedCurve shape;
    auto by_units = [](const BlockTime& a, const BlockTime& b) { return a.units < b.units; };
    shape.smallest_ = std::ranges::min_element(valid, by_units)->units;
    shape.scale_ = std::ranges::max_element(valid, by_units)->units;
    shape.trusted_until_ = shape.scale_ * kTrustedGrowth;
    shape.samples_ = static_cast<int>(valid.size());

    std::optional<FittedCurve> best;
    const std::size_t sizes = distinct_sizes(valid);
    const RelativeLeastSquares least_squares(valid, shape.scale_, sizes >= 4 ? kBasis : 3);
    /// Takes it as the best, unless it falls or is not positive somewhere, or is a line through a few that begins below
    /// 0.
    auto take = [&](unsigned subset, const Solution& solution) {
        if (!std::isfinite(solution.relative_rss)) return false;
        FittedCurve curve = shape;
        Eigen::Index column = 0;
        for (std::size_t i = 0; i < kBasis; ++i)
            curve.coefficients_[i] = subset >> i & 1 ? solution.coefficients(column++, 0) : 0;
        if (subset == (kConstant | kLinear) && valid.size() <= 3 && (curve.coefficients_[0] < 0)) return false;
        curve.error_ = std::sqrt(solution.relative_rss / static_cast<double>(valid.size()));
        curve.extend_by_lines();
        if (!curve.increases()) return false;
        best = curve;
        return true;
    };

    const Solution straight = sizes >= 2 ? least_squares.solve(kConstant | kLinear) : Solution();
    if (sizes >= 2) take(kConstant | kLinear, straight);
    if (best) shape.line_slope_ = best->raw(best->scale_, 1);
    constexpr std::size_t kFewSizes = 6;
    constexpr double kGoodLine = 0.1;  // with few sizes, only what no line explains is worth a bent curve
    if (sizes >= kFewSizes || (sizes >= 4 && !(options.line_first && best && best->error_ < kGoodLine))) {
        const double line =
            best ? criterion(best->error_ * best->error_ * static_cast<double>(valid.size()), valid.size(), 2)
                 : std::numeric_limits<double>::infinity();
        // At least one size must be left over to judge by.
        const int most = std::min(kLargestSubset, static_cast<int>(sizes) - 2);
        std::vector<std::pair<double, unsigned>> better;
        least_squares.for_each_residual(most, [&](unsigned subset, double relative_rss) {
            const double value = criterion(relative_rss, valid.size(), std::popcount(subset));
            if (value < line) better.emplace_back(value, subset);
        });
        std::ranges::sort(better);
        double least = line;  // solved with pivots: what depends on the others almost counts less there
        for (const auto& [screened, subset] : better) {
            if (screened >= least) break;
            const Solution solution = least_squares.solve(subset);
            const double value = criterion(solution.relative_rss, valid.size(), std::popcount(subset));
            if (value < least && take(subset, solution)) least = value;
        }
    }
    if (!best && sizes >= 2 && straight.coefficients(1, 0) > 0) {
        // A line that would begin below 0: larger blocks take longer than in proportion, and the largest tell by how
        // much.
        std::vector<BlockTime> largest;
        std::ranges::copy_if(valid, std::back_inserter(largest),
                             [&](const BlockTime& sample) { return sample.units * kClearlyLarger > shape.scale_; });
        Solution line = RelativeLeastSquares(largest, shape.scale_, 3).solve(kLinear);
        line.relative_rss = 0;
        for (const BlockTime& sample : valid)
            line.relative_rss +=
                std::pow(std::log(line.coefficients(0, 0) * sample.units / shape.scale_ / sample.seconds), 2);
        take(kLinear, line);
    }
    if (!best) {
        // One size, or a line that would fall: in proportion or level, the better one.
        const Solution line = least_squares.solve(kLinear);
        take(kLinear, line);
        if (sizes >= 2) {
            // That larger blocks cost nothing, no block has shown: beyond, their speed does not grow.
            for (const BlockTime& sample : valid)
                if (sample.units == shape.scale_)
                    shape.line_slope_ = std::max(shape.line_slope_, sample.seconds / sample.units);
            const Solution level = least_squares.solve(kConstant);
            if (!best || level.relative_rss < line.relative_rss) take(kConstant, level);
        }
    }
    if (best) best->r2_ = coefficient_of_determination(*best, valid);
    return best;
}

double FittedCurve::raw(double units, int order) const {
    double sum = 0;
    for (std::size_t i = 0; i < kBasis; ++i)
        if (coefficients_[i] != 0) sum += coefficients_[i] * basis(i, units / scale_, order);
    return order == 0 ? sum : order == 1 ? sum / scale_ : sum / (scale_ * scale_);
}

void FittedCurve::extend_by_lines() {
    low_value_ = raw(smallest_, 0);
    low_slope_ = std::min(raw(smallest_, 1), low_value_ / smallest_);  // F(0) >= 0
    high_value_ = raw(trusted_until_, 0);
    const double hidden_slope = scale_ > smallest_ ? error_ * raw(scale_, 0) / (scale_ - smallest_) : 0;
    high_slope_ = std::max({raw(trusted_until_, 1), line_slope_, hidden_slope});
}

bool FittedCurve::increases() const {
    constexpr int kPoints = 32;
    const auto at = [&](double x) { return raw(x, 0) > 0 && raw(x, 1) >= 0; };
    for (int i = 0; i <= kPoints; ++i) {
        const double part = static_cast<double>(i) / kPoints;
        if (!at(smallest_ + (trusted_until_ - smallest_) * part)) return false;
        if (!at(smallest_ * std::pow(trusted_until_ / smallest_, part))) return false;  // sizes may span decades
    }
    return true;
}

double FittedCurve::seconds(double units) const {
    if (units < smallest_) return low_value_ + low_slope_ * (units - smallest_);
    if (units > trusted_until_) return high_value_ + high_slope_ * (units - trusted_until_);
    return raw(units, 0);
}

double FittedCurve::derivative(double units) const {
    if (units < smallest_) return low_slope_;
    if (units > trusted_until_) return high_slope_;
    return raw(units, 1);
}

double FittedCurve::second_derivative(double units) const {
    return units < smallest_ || units > trusted_until_ ? 0 : raw(units, 2);
}

std::string FittedCurve::formula() const {
    std::string text;
    bool scaled = false;
    for (std::size_t i = 0; i < kBasis; ++i) {
        double c = coefficients_[i];
        if (c == 0) continue;
        const char* name = kBasisText[i];
        if (i == 2) {
            c /= scale_;  // a line reads best in units
            name = " x";
        } else if (i > 0) {
            scaled = true;
        }
        if (text.empty()) {
            text = fmt::format("{:.4g}{}", c, name);
        } else {
            text += fmt::format(" {} {:.4g}{}", c < 0 ? '-' : '+', std::abs(c), name);
        }
    }
    if (scaled) text += fmt::format(", u = x / {:.0f}", scale_);
    return text;
}

}  // namespace apportion
