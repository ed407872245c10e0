// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the kernels of Jacobi's method have to compute.
#pragma once

#include <cstddef>

#include "codelets/jacobi/linear_system.hpp"

namespace apportion {

/// One iteration in plain loops: x_new from x, both n x 1.
inline void plain_jacobi_iteration(const LinearSystem& system, const Matrix& x, Matrix& x_new) {
    by_real_type(system.type(), [&]<class T>() {
        const T* const from = x.column<T>();
        for (std::size_t i = 0; i < system.n(); ++i) {
            T sum = 0, diagonal = 0;
            for_each_entry<T>(system, i, [&](std::size_t j, T value) {
                if (j == i)
                    diagonal = value;
                else
                    sum += value * from[j];
            });
            *static_cast<T*>(x_new.at(i, 0)) = (system.b.column<T>()[i] - sum) / diagonal;
        }
    });
}

}  // namespace apportion
