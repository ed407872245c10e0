// SPDX-License-Identifier: LGPL-2.1-or-later
// Rows are read at the speed of the memory or cache they lie in; the widest vectors that the processor has are used.
#include <starpu.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "codelets/common/handicap.hpp"
#include "codelets/common/matrix.hpp"
#include "codelets/jacobi/jacobi_buffers.hpp"

#define APPORTION_INLINE [[gnu::always_inline]] inline

namespace apportion {

namespace {

/// A vector register's worth of T anywhere in memory. Processors without registers of that size use several.
template <class T, int kBytes>
struct Register {
    typedef T Type __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
};

constexpr std::size_t kTogether = 4;  ///< rows whose elements are multiplied by the same part of x

/// The products of kRows rows with x, each by the lanes of two registers, whose sums are added at the end: the same
/// additions whatever kRows is.
template <int kBytes, std::size_t kRows, class T>
APPORTION_INLINE void dense_products(const T* a, std::size_t ld, const T* x, std::size_t n, T* products) {
    using V = typename Register<T, kBytes>::Type;
    constexpr std::size_t kWidth = kBytes / sizeof(T), kLanes = 2 * kWidth;
    V even[kRows] = {}, odd[kRows] = {};
    std::size_t j = 0;
    for (; j + kLanes <= n; j += kLanes) {
        const V x_even = *reinterpret_cast<const V*>(x + j), x_odd = *reinterpret_cast<const V*>(x + j + kWidth);
#pragma GCC unroll 4
        for (std::size_t r = 0; r < kRows; ++r) {
            even[r] += *reinterpret_cast<const V*>(a + r * ld + j) * x_even;
            odd[r] += *reinterpret_cast<const V*>(a + r * ld + j + kWidth) * x_odd;
        }
    }
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRows; ++r) {
        const V all = even[r] + odd[r];
        products[r] = 0;
        for (std::size_t l = 0; l < kWidth; ++l) products[r] += all[l];
        products[r] += dense_lane(a + r * ld + j, x + j, n - j, 0, 1);
    }
}

/// Calls body(row, product with x) for all rows.
template <int kBytes, class T, class Body>
APPORTION_INLINE void for_each_product(const T* a, std::size_t ld, std::size_t rows, const T* x, std::size_t n,
                                       Body&& body) {
    T products[kTogether];
    std::size_t i = 0;
    for (; i + kTogether <= rows; i += kTogether) {
        dense_products<kBytes, kTogether>(a + i * ld, ld, x, n, products);
        for (std::size_t r = 0; r < kTogether; ++r) body(i + r, products[r]);
    }
    for (; i < rows; ++i) {
        dense_products<kBytes, 1>(a + i * ld, ld, x, n, products);
        body(i, products[0]);
    }
}

template <int kBytes, class T>
APPORTION_INLINE void dense(const DenseRows<T>& rows) {
    JacobiChange<T> change;
    for_each_product<kBytes>(rows.a, rows.ld, rows.rows, rows.x, rows.n, [&](std::size_t i, T product) {
        const T step = jacobi_step(rows.terms[i], product);
        rows.x_new[i] = rows.x_old[i] + step;
        change.include(rows.x_new[i], step);
    });
    *rows.change = change;
}

template <int kBytes, class T>
APPORTION_INLINE void batch(const BatchSystems<T>& s) {
    std::vector<T> vectors(2 * s.n);
    for (std::size_t system = 0; system < s.systems; ++system) {
        const T* const a = s.a + system * s.n * s.a_ld;
        const T* const b = s.b + system * s.b_ld;
        T* x = vectors.data();
        T* x_new = x + s.n;
        std::fill_n(x, s.n, T(0));
        for (std::uint64_t iteration = 0; iteration < s.iterations; ++iteration) {
            for_each_product<kBytes>(a, s.a_ld, s.n, x, s.n, [&](std::size_t i, T product) {
                x_new[i] = x[i] + jacobi_step({b[i], a[i * s.a_ld + i]}, product);
            });
            std::swap(x, x_new);
        }
        std::copy_n(x, s.n, s.x + system * s.x_ld);
    }
}

template <class T>
struct Kernels {
    void (*dense)(const DenseRows<T>&);
    void (*batch)(const BatchSystems<T>&);
};

#ifdef __x86_64__
template <class T>
[[gnu::target("avx2,fma")]] void dense_avx2(const DenseRows<T>& rows) {
    dense<32>(rows);
}
template <class T>
[[gnu::target("avx2,fma")]] void batch_avx2(const BatchSystems<T>& systems) {
    batch<32>(systems);
}
template <class T>
[[gnu::target("avx512f")]] void dense_avx512(const DenseRows<T>& rows) {
    dense<64>(rows);
}
template <class T>
[[gnu::target("avx512f")]] void batch_avx512(const BatchSystems<T>& systems) {
    batch<64>(systems);
}
#endif
template <class T>
void dense_any(const DenseRows<T>& rows) {
    dense<16>(rows);
}
template <class T>
void batch_any(const BatchSystems<T>& systems) {
    batch<16>(systems);
}

template <class T>
Kernels<T> best_kernels() {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f")) return {dense_avx512<T>, batch_avx512<T>};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {dense_avx2<T>, batch_avx2<T>};
#endif
    return {dense_any<T>, batch_any<T>};
}

template <class T>
const Kernels<T>& kernels() {
    static const Kernels<T> best = best_kernels<T>();
    return best;
}

}  // namespace

void jacobi_dense(const DenseRows<float>& rows) { kernels<float>().dense(rows); }
void jacobi_dense(const DenseRows<double>& rows) { kernels<double>().dense(rows); }
void jacobi_batch(const BatchSystems<float>& systems) { kernels<float>().batch(systems); }
void jacobi_batch(const BatchSystems<double>& systems) { kernels<double>().batch(systems); }

void jacobi_sparse(const SparseRows& rows) {
    JacobiChange<double> change;
    const std::int64_t first = rows.start[0];
    for (std::size_t i = 0; i < rows.rows; ++i) {
        const std::size_t begin = rows.start[i] - first, count = rows.start[i + 1] - rows.start[i];
        const double step =
            jacobi_step(rows.terms[i], sparse_lane(rows.values + begin, rows.columns + begin, count, rows.x, 0, 1));
        rows.x_new[i] = rows.x_old[i] + step;
        change.include(rows.x_new[i], step);
    }
    *rows.change = change;
}

void jacobi_dense_cpu(void* buffers[], void*) {
    for (int repetition = repetitions(); repetition > 0; --repetition)
        by_real_size(STARPU_MATRIX_GET_ELEMSIZE(buffers[0]), [&]<class T>() { jacobi_dense(dense_rows<T>(buffers)); });
}

void jacobi_sparse_cpu(void* buffers[], void*) {
    for (int repetition = repetitions(); repetition > 0; --repetition) jacobi_sparse(sparse_rows(buffers));
}

void jacobi_batch_cpu(void* buffers[], void* arg) {
    for (int repetition = repetitions(); repetition > 0; --repetition)
        by_real_size(STARPU_MATRIX_GET_ELEMSIZE(buffers[0]),
                     [&]<class T>() { jacobi_batch(batch_systems<T>(buffers, arg)); });
}

}  // namespace apportion
