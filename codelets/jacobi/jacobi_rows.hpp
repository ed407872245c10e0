// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The arithmetic of the Jacobi method that CPU and GPU share, for one row: x' = x + (b - a x) / d, where a is the row
// and d its diagonal element. Equal to the usual D^-1 (b - R x), and tells the change x' - x at the same time.
//
// The product a x is summed by lanes: lane l adds up elements l, l + lanes, ... On a GPU the lanes are the threads of a
// warp, on a CPU the elements of vectors. A row's result does not depend on the block it is in.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define APPORTION_BOTH __host__ __device__
#else
#define APPORTION_BOTH
#endif

namespace apportion {

/// The larger number; not-a-number, once seen, stays.
template <class T>
APPORTION_BOTH inline T larger(T maximum, T value) {
    return value > maximum || value != value ? value : maximum;
}

/// max |x' - x| and max |x'| of some rows: what tells convergence.
template <class T>
struct JacobiChange {
    T step = 0;
    T size = 0;

    APPORTION_BOTH void include(T x_new, T difference) {
        step = larger(step, difference < 0 ? -difference : difference);
        size = larger(size, x_new < 0 ? -x_new : x_new);
    }
    APPORTION_BOTH void include(const JacobiChange& other) {
        step = larger(step, other.step);
        size = larger(size, other.size);
    }
};

/// What the method needs of a row besides its elements.
template <class T>
struct JacobiTerms {
    T b;
    T diagonal;
};

/// x' - x of a row.
template <class T>
APPORTION_BOTH inline T jacobi_step(const JacobiTerms<T>& terms, T product) {
    return (terms.b - product) / terms.diagonal;
}

/// One lane's part of a dense row's product with x.
template <class T>
APPORTION_BOTH inline T dense_lane(const T* row, const T* x, std::size_t n, unsigned lane, unsigned lanes) {
    T sum = 0;
    for (std::size_t j = lane; j < n; j += lanes) sum += row[j] * x[j];
    return sum;
}

/// One lane's part of a sparse row's: `count` values in the given columns.
template <class T>
APPORTION_BOTH inline T sparse_lane(const T* values, const std::int32_t* columns, std::size_t count, const T* x,
                                    unsigned lane, unsigned lanes) {
    T sum = 0;
    for (std::size_t k = lane; k < count; k += lanes) sum += values[k] * x[columns[k]];
    return sum;
}

}  // namespace apportion
