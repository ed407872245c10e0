// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "codelets/matmul/matmul.hpp"

namespace apportion {

namespace {

constexpr std::size_t kSampledColumns = 6;
constexpr double kSlack = 4;  ///< in epsilons: the random sum of M errors, where K is small

/// Not-a-number counts as infinite, so that it is never lost in a maximum; what is below `smallest`, the products that
/// the type rounds to nothing, as none.
double relative_error(double value, double reference, double norm, double smallest) {
    const double error = std::abs(value - reference);
    if (error <= smallest) return 0;
    const double relative = error / norm;
    return std::isnan(relative) ? std::numeric_limits<double>::infinity() : relative;
}

template <class T>
double norm2(const T* x, std::size_t n) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += double{x[i]} * double{x[i]};
    return std::sqrt(sum);
}

/// s^T matrix, for signs s.
template <class T>
double signed_sum(const T* x, const std::vector<signed char>& signs) {
    double sum = 0;
    for (std::size_t i = 0; i < signs.size(); ++i) sum += signs[i] * double{x[i]};
    return sum;
}

/// Of K products below the smallest normal number, each rounded once, and their sum.
template <class T>
double smallest_error(std::size_t k) {
    return static_cast<double>(k) * double{std::numeric_limits<T>::denorm_min()};
}

/// s^T C = (s^T A) B for random signs s, for every column at the cost of reading the matrices once.
template <class T>
double error_of_signed_sums(const MatmulProblem& p) {
    const std::size_t m = p.a.rows(), k = p.a.columns();
    std::vector<signed char> signs(m);
    std::uint64_t state = 88172645463325252u;  // xorshift64
    for (signed char& sign : signs) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        sign = state >> 63 ? 1 : -1;
    }
    std::vector<double> sa(k);
    double a_norm = 0;
    for (std::size_t l = 0; l < k; ++l) {
        sa[l] = signed_sum(p.a.column<T>(l), signs);
        a_norm = std::hypot(a_norm, norm2(p.a.column<T>(l), m));
    }
    const double smallest = static_cast<double>(m) * smallest_error<T>(k);
    double worst = 0;
    for (std::size_t j = 0; j < p.c.columns(); ++j) {
        const T* b = p.b.column<T>(j);
        double reference = 0;
        for (std::size_t l = 0; l < k; ++l) reference += sa[l] * double{b[l]};
        worst = std::max(
            worst, relative_error(signed_sum(p.c.column<T>(j), signs), reference, a_norm * norm2(b, k), smallest));
    }
    return worst;
}

/// Every element of some columns.
template <class T>
double error_of_columns(const MatmulProblem& p, const std::set<std::size_t>& columns) {
    const std::size_t m = p.a.rows(), k = p.a.columns();
    std::vector<std::vector<double>> references(columns.size(), std::vector<double>(m));
    std::vector<double> row_norm2(m);
    for (std::size_t l = 0; l < k; ++l) {
        const T* a = p.a.column<T>(l);
        for (std::size_t i = 0; i < m; ++i) row_norm2[i] += double{a[i]} * double{a[i]};
        auto reference = references.begin();
        for (std::size_t j : columns) {
            const double b = p.b.column<T>(j)[l];
            for (std::size_t i = 0; i < m; ++i) (*reference)[i] += double{a[i]} * b;
            ++reference;
        }
    }
    double worst = 0;
    auto reference = references.begin();
    for (std::size_t j : columns) {
        const double b_norm = norm2(p.b.column<T>(j), k);
        for (std::size_t i = 0; i < m; ++i)
            worst = std::max(worst, relative_error(p.c.column<T>(j)[i], (*reference)[i],
                                                   std::sqrt(row_norm2[i]) * b_norm, smallest_error<T>(k)));
        ++reference;
    }
    return worst;
}

template <class T>
Verification verify(const MatmulProblem& p) {
    const std::size_t n = p.c.columns();
    std::set<std::size_t> sampled;
    for (std::size_t s = 0; s < kSampledColumns; ++s) sampled.insert(s * (n - 1) / (kSampledColumns - 1));
    return {std::max(error_of_signed_sums<T>(p), error_of_columns<T>(p, sampled)),
            (static_cast<double>(p.a.columns()) + kSlack) * std::numeric_limits<T>::epsilon()};
}

}  // namespace

Verification verify_matmul(const MatmulProblem& problem) {
    return by_real_type(problem.c.type(), [&]<class T>() { return verify<T>(problem); });
}

}  // namespace apportion
