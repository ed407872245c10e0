// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/jacobi/linear_system.hpp"

#include <fmt/format.h>

#include <cmath>

#include "codelets/common/flavour.hpp"
#include "models/io/user_error.hpp"

namespace apportion {

double LinearSystem::entries() const {
    const double size = static_cast<double>(n());
    return dense ? size * size : static_cast<double>(sparse->values.size());
}

void make_dominant(Matrix& rows) {
    if (kSimulated) return;
    constexpr double kDominance = 1.1;
    by_real_type(rows.type(), [&]<class T>() {
        rows.for_each_column<T>([&](T* row, std::size_t column) {
            const std::size_t i = column % rows.rows();
            double sum = 0;
            for (std::size_t j = 0; j < rows.rows(); ++j) {
                row[j] = -std::abs(row[j]);
                if (j != i) sum += std::abs(double{row[j]});
            }
            row[i] = static_cast<T>(sum > 0 ? kDominance * sum : 1);
        });
    });
}

LinearSystem random_system(ElementType type, std::size_t n, std::uint64_t seed) {
    require_free_memory(matrix_bytes(type, n, n), "the matrix and the vectors");
    LinearSystem system{"the generated system", Matrix(type, n, n), {}, Matrix(type, n, 1)};
    fill_random(*system.dense, seed);
    fill_random(system.b, seed + 1);
    make_dominant(*system.dense);
    return system;
}

void set_solution_of_ones(LinearSystem& system) {
    by_real_type(system.type(), [&]<class T>() {
        for (std::size_t i = 0; i < system.n(); ++i) {
            double sum = 0;
            for_each_entry<T>(system, i, [&](std::size_t, T value) { sum += double{value}; });
            *static_cast<T*>(system.b.at(i, 0)) = static_cast<T>(sum);
        }
    });
}

void check_solvable(const LinearSystem& system) {
    by_real_type(system.type(), [&]<class T>() {
        for (std::size_t i = 0; i < system.n(); ++i) {
            T diagonal = 0;
            for_each_entry<T>(system, i, [&](std::size_t j, T value) {
                if (!std::isfinite(value))
                    throw UserError("{}: the element in row {}, column {} (from 1) is not finite", system.name, i + 1,
                                    j + 1);
                if (j == i) diagonal = value;
            });
            if (diagonal == 0)
                throw UserError(
                    "{}: there is a zero on the diagonal of row {} (from 1), by which the Jacobi method would divide; "
                    "put the equations into another order",
                    system.name, i + 1);
            if (!std::isfinite(system.b.column<T>()[i]))
                throw UserError("{}: element {} (from 1) of the right-hand side is not finite", system.name, i + 1);
        }
    });
}

std::string describe_dominance(const LinearSystem& system) {
    return by_real_type(system.type(), [&]<class T>() -> std::string {
        for (std::size_t i = 0; i < system.n(); ++i) {
            double diagonal = 0, others = 0;
            for_each_entry<T>(system, i,
                              [&](std::size_t j, T value) { (j == i ? diagonal : others) += std::abs(double{value}); });
            if (!(diagonal > others))
                return fmt::format("row {} (from 1) is not diagonally dominant: {:.4g} on the diagonal, {:.4g} beside",
                                   i + 1, diagonal, others);
        }
        return "every row is diagonally dominant";
    });
}

Matrix diagonal_of(const LinearSystem& system) {
    Matrix diagonal(system.type(), system.n(), 1);
    if (kSimulated) return diagonal;
    by_real_type(system.type(), [&]<class T>() {
        for (std::size_t i = 0; i < system.n(); ++i)
            if (system.dense)
                *static_cast<T*>(diagonal.at(i, 0)) = system.dense->column<T>(i)[i];
            else
                for_each_entry<T>(system, i, [&](std::size_t j, T value) {
                    if (j == i) *static_cast<T*>(diagonal.at(i, 0)) = value;
                });
    });
    return diagonal;
}

}  // namespace apportion
