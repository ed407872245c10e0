// SPDX-License-Identifier: LGPL-2.1-or-later
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "codelets/jacobi/linear_system.hpp"

namespace apportion {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kSlack = 8;  ///< in epsilons, where rows are short

VectorXd in_double(const Matrix& vector) {
    VectorXd result(static_cast<Eigen::Index>(vector.rows()));
    for (Eigen::Index i = 0; i < result.size(); ++i) result[i] = element(vector, static_cast<std::size_t>(i), 0);
    return result;
}

template <class Body>
void for_each_entry_in_double(const LinearSystem& system, std::size_t row, Body&& body) {
    by_real_type(system.type(), [&]<class T>() {
        for_each_entry<T>(system, row, [&](std::size_t j, T value) { body(j, double{value}); });
    });
}

/// Row i of the matrix times x, and the sum of the products' absolute values.
struct RowProduct {
    double product = 0, magnitude = 0, row_sum = 0, diagonal = 0;
};

RowProduct row_product(const LinearSystem& system, std::size_t i, const VectorXd& x) {
    RowProduct result;
    for_each_entry_in_double(system, i, [&](std::size_t j, double value) {
        const double product = value * x[static_cast<Eigen::Index>(j)];
        result.product += product;
        result.magnitude += std::abs(product);
        result.row_sum += std::abs(value);
        if (j == i) result.diagonal = value;
    });
    return result;
}

MatrixXd whole_matrix(const LinearSystem& system) {
    const auto n = static_cast<Eigen::Index>(system.n());
    MatrixXd a = MatrixXd::Zero(n, n);
    for (std::size_t i = 0; i < system.n(); ++i)
        for_each_entry_in_double(system, i, [&](std::size_t j, double value) {
            a(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = value;
        });
    return a;
}

/// |x - x*| / |x*| / condition of A, in maximum norms, with Eigen's solution x*.
double distance_from_direct_solution(const LinearSystem& system, const VectorXd& x) {
    // Eigen estimates the condition in the norm of column sums; that of the transposed matrix is the one wanted here.
    // The estimate may be too small, by less than this in practice.
    constexpr double kEstimate = 4;
    const Eigen::PartialPivLU<MatrixXd> lu(whole_matrix(system).transpose());
    const VectorXd direct = lu.transpose().solve(in_double(system.b));
    const double size = direct.lpNorm<Eigen::Infinity>();
    const double distance = (x - direct).lpNorm<Eigen::Infinity>();
    return distance == 0 ? 0 : distance / size * lu.rcond() / kEstimate;
}

double rounding(const LinearSystem& system) {
    return (std::sqrt(static_cast<double>(system.n())) + kSlack) * epsilon(system.type());
}

}  // namespace

Verification verify_iteration(const LinearSystem& system, const Matrix& x, const Matrix& x_new) {
    const VectorXd from = in_double(x), to = in_double(x_new), b = in_double(system.b);
    double worst = 0;
    for (std::size_t i = 0; i < system.n(); ++i) {
        const auto row = static_cast<Eigen::Index>(i);
        const RowProduct p = row_product(system, i, from);
        const double should = from[row] + (b[row] - p.product) / p.diagonal;
        const double magnitude = std::abs(from[row]) + (std::abs(b[row]) + p.magnitude) / std::abs(p.diagonal);
        const double error = std::abs(to[row] - should);
        worst = worse(worst, error == 0 ? 0 : error / magnitude);
    }
    return {worst, rounding(system)};
}

Verification verify_solution(const LinearSystem& system, const Matrix& x, double tolerance) {
    const VectorXd solution = in_double(x), b = in_double(system.b);
    double residual = 0, norm = 0;
    for (std::size_t i = 0; i < system.n(); ++i) {
        const RowProduct p = row_product(system, i, solution);
        residual = worse(residual, std::abs(b[static_cast<Eigen::Index>(i)] - p.product));
        norm = std::max(norm, p.row_sum);
    }
    const double size = norm * solution.lpNorm<Eigen::Infinity>() + b.lpNorm<Eigen::Infinity>();
    double error = residual == 0 ? 0 : residual / size;
    if (system.n() <= kDirectlySolved) error = worse(error, distance_from_direct_solution(system, solution));
    return {error, 2 * tolerance + rounding(system)};
}

}  // namespace apportion
