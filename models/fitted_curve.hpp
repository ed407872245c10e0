// SPDX-License-Identifier: LGPL-2.1-or-later
//
// F(x): seconds that a processor computes on a block of x units, fitted to measured blocks by least squares over the
// basis functions of PLB-HeC (Sant'Ana, Camargo, Cordeiro: PLB-HeC, section III.B, eq. 1).
//
// What the paper leaves open, and what is done here: a constant belongs to the basis (x is printed twice); e^x only on
// x scaled to [0, 1] by the largest measured size; residuals are relative (weights 1/t^2), for times span decades; the
// subset of basis functions is the one of smallest corrected Akaike criterion among those that give a positive,
// non-decreasing F on the trusted range. One size gives s x, two or three give c + s x; where c would be below 0, s x
// of the largest. Outside the trusted range F goes on as a line, beyond it at least as steep as the line through all
// samples, and as the slope that their residuals could hide: a curve that bends down where it was measured must not
// promise that larger blocks cost nothing.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "models/speed_points.hpp"

namespace apportion {

struct FitOptions {
    bool line_first = true;  ///< with four or five sizes, a line that is within a tenth is kept
};

class FittedCurve {
  public:
    static constexpr std::size_t kBasisSize = 8;  ///< 1, ln x, x, x^2, x^3, e^x, x e^x, x ln x
    static constexpr double kTrustedGrowth = 2;   ///< F is a line beyond this multiple of the largest measured size

    /// The best fit to `samples` (units > 0, seconds > 0; others are skipped), or nothing when there is no valid
    /// sample. O(samples): they are reduced to nine rows, on which 92 subsets of at most three functions are compared.
    static std::optional<FittedCurve> fit(std::span<const BlockTime> samples, const FitOptions& options = {});

    /// F(x), F'(x) and F''(x) for x > 0. F'' is 0 where F is a line.
    double seconds(double units) const;
    double derivative(double units) const;
    double second_derivative(double units) const;

    bool sizes_differ() const { return scale_ >= kClearlyLarger * smallest_; }  ///< else F is merely proportional
    double r2() const { return r2_; }  ///< coefficient of determination of the seconds
    double relative_error() const {
        return error_;
    }  ///< root mean square of the relative residuals (of logarithms for s x of the largest)
    double smallest_measured() const { return smallest_; }  ///< units
    double largest_measured() const { return scale_; }      ///< units
    int samples() const { return samples_; }
    std::string formula() const;  ///< "3.44 + 0.0033 x"; in terms of u = x / scale where the basis demands it

  private:
    FittedCurve() = default;
    double raw(double units, int order) const;
    void extend_by_lines();
    bool increases() const;

    double scale_ = 1;
    double smallest_ = 1;
    double trusted_until_ = 1;
    std::array<double, kBasisSize> coefficients_{};
    double line_slope_ = 0;                   ///< of the line through all samples
    double low_value_ = 0, low_slope_ = 0;    ///< the line below the smallest measured size
    double high_value_ = 0, high_slope_ = 0;  ///< the line beyond the trusted range
    double r2_ = 0;
    double error_ = 0;
    int samples_ = 0;
};

}  // namespace apportion
