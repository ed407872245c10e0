// SPDX-License-Identifier: LGPL-2.1-or-later
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "codelets/jacobi/jacobi_rows.hpp"
#include "codelets/jacobi_batch/jacobi_batch.hpp"

namespace apportion {

namespace {

constexpr std::size_t kSampledSystems = 3;

/// What one system's residual tells; see make_jacobi_batch().
struct Residual {
    double at_zero = 0;   ///< max |D^-1 b|
    double at_x = 0;      ///< max |D^-1 (b - A x)|
    double quotient = 0;  ///< q
    double x_size = 0;
};

template <class T>
Residual residual_of(const JacobiBatch& batch, std::size_t system) {
    const std::size_t n = batch.n();
    const T* const b = batch.b.column<T>(system);
    const T* const x = batch.x.column<T>(system);
    Residual r;
    for (std::size_t i = 0; i < n; ++i) {
        const T* const row = batch.a.column<T>(system * n + i);
        double product = 0, others = 0;
        for (std::size_t j = 0; j < n; ++j) {
            product += double{row[j]} * double{x[j]};
            if (j != i) others += std::abs(double{row[j]});
        }
        const double diagonal = row[i];
        r.at_zero = std::max(r.at_zero, std::abs(b[i] / diagonal));
        r.at_x = larger(r.at_x, std::abs((b[i] - product) / diagonal));
        r.quotient = std::max(r.quotient, others / std::abs(diagonal));
        r.x_size = larger(r.x_size, std::abs(double{x[i]}));
    }
    return r;
}

/// The residual's excess over what the iterations leave, relative to max |x|.
double excess(const Residual& r, std::uint64_t iterations) {
    if (!std::isfinite(r.at_x)) return std::numeric_limits<double>::infinity();
    const double left = r.at_zero * std::pow(r.quotient, static_cast<double>(iterations));
    const double more = r.at_x - left;
    return more <= 0 ? 0 : more / std::max(r.x_size, r.at_zero);
}

/// The system by plain loops, in the type of the batch; the largest difference from its x, relative to max |x|.
template <class T>
double distance_from_plain(const JacobiBatch& batch, std::size_t system) {
    const std::size_t n = batch.n();
    const T* const b = batch.b.column<T>(system);
    const T* const result = batch.x.column<T>(system);
    std::vector<T> x(n), x_new(n);
    for (std::uint64_t iteration = 0; iteration < batch.iterations; ++iteration) {
        for (std::size_t i = 0; i < n; ++i) {
            const T* const row = batch.a.column<T>(system * n + i);
            T sum = 0;
            for (std::size_t j = 0; j < n; ++j) sum += j == i ? T(0) : row[j] * x[j];
            x_new[i] = (b[i] - sum) / row[i];
        }
        x.swap(x_new);
    }
    double worst = 0, size = 0;
    for (std::size_t i = 0; i < n; ++i) {
        worst = larger(worst, std::abs(double{result[i]} - double{x[i]}));
        size = larger(size, std::abs(double{x[i]}));
    }
    return worst == 0 ? 0 : std::isfinite(worst) ? worst / size : std::numeric_limits<double>::infinity();
}

template <class T>
Verification verify_batch(const JacobiBatch& batch) {
    constexpr double kSlack = 16;
    double worst = 0, quotient = 0;
    for (std::size_t system = 0; system < batch.systems(); ++system) {
        const Residual r = residual_of<T>(batch, system);
        if (r.quotient < 1) {
            worst = std::max(worst, excess(r, batch.iterations));
            quotient = std::max(quotient, r.quotient);
        } else if (!std::isfinite(r.at_x)) {
            worst = std::numeric_limits<double>::infinity();
        }
    }
    std::set<std::size_t> sampled;
    for (std::size_t s = 0; s < kSampledSystems; ++s) sampled.insert(s * (batch.systems() - 1) / (kSampledSystems - 1));
    for (const std::size_t system : sampled) worst = std::max(worst, distance_from_plain<T>(batch, system));
    const double rounding = (std::sqrt(static_cast<double>(batch.n())) + kSlack) * std::numeric_limits<T>::epsilon();
    return {worst, rounding / (1 - quotient)};
}

}  // namespace

Verification verify_jacobi_batch(const JacobiBatch& batch) {
    return by_real_type(batch.a.type(), [&]<class T>() { return verify_batch<T>(batch); });
}

BatchProgress batch_progress(const JacobiBatch& batch) {
    BatchProgress progress;
    for (std::size_t system = 0; system < batch.systems(); ++system) {
        const Residual r = by_real_type(batch.a.type(), [&]<class T>() { return residual_of<T>(batch, system); });
        if (r.at_x == 0) continue;
        const double residual = std::isfinite(r.at_x) ? r.at_x / r.at_zero : std::numeric_limits<double>::infinity();
        progress.residual = std::max(progress.residual, residual);
        // Where it is dominant, every iteration makes the residual smaller, or something else is wrong.
        if (!progress.failure.empty() || r.quotient < 1 || residual < 1) continue;
        progress.failure = fmt::format(
            "{}: system {} (from 1) {} {} iterations: its matrix is not diagonally dominant", batch.name, system + 1,
            std::isfinite(residual) ? "has come no closer to a solution in" : "diverged within", batch.iterations);
    }
    return progress;
}

}  // namespace apportion
