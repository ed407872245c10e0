// SPDX-License-Identifier: LGPL-2.1-or-later
#include <cblas.h>
#include <starpu.h>

#include <algorithm>
#include <vector>

#include "codelets/common/handicap.hpp"
#include "codelets/matmul/matmul.hpp"
#include "codelets/matmul/matmul_kernels.hpp"

namespace apportion {

namespace {

void gemm(int m, int n, int k, const float* a, int lda, const float* b, int ldb, float* c, int ldc) {
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, lda, b, ldb, 0, c, ldc);
}

void gemm(int m, int n, int k, const double* a, int lda, const double* b, int ldb, double* c, int ldc) {
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, lda, b, ldb, 0, c, ldc);
}

/// BLAS adds partial sums up in C itself. Another worker that computes the block at the same time, or has done
/// so, must not see them.
template <class T>
void multiply_and_store_once(int m, int n, int k, const T* a, int lda, const T* b, int ldb, T* c, int ldc) {
    // At a time: many, because BLAS packs A again in each call, but 2^22 elements (16 or 32 MiB a worker) where that is
    // enough of them.
    constexpr int kElements = 1 << 22, kFewest = 128;
    const int most = std::max(kElements / m, kFewest);
    std::vector<T> products;
    for (int first = 0; first < n; first += most) {
        const int columns = std::min(most, n - first);
        const auto rows = static_cast<std::size_t>(m);
        products.resize(std::max(products.size(), rows * static_cast<std::size_t>(columns)));
        for (int repetition = repetitions(); repetition > 0; --repetition)
            gemm(m, columns, k, a, lda, b + static_cast<std::size_t>(first) * ldb, ldb, products.data(), m);
        for (int j = 0; j < columns; ++j)
            std::copy_n(products.data() + j * rows, rows, c + static_cast<std::size_t>(first + j) * ldc);
    }
}

template <class T>
void multiply_block(void* a_buffer, void* b_buffer, void* c_buffer) {
    const int m = STARPU_MATRIX_GET_NX(c_buffer), n = STARPU_MATRIX_GET_NY(c_buffer),
              k = STARPU_MATRIX_GET_NX(b_buffer);
    const auto *a = reinterpret_cast<const T*>(STARPU_MATRIX_GET_PTR(a_buffer)),
               *b = reinterpret_cast<const T*>(STARPU_MATRIX_GET_PTR(b_buffer));
    auto* c = reinterpret_cast<T*>(STARPU_MATRIX_GET_PTR(c_buffer));
    const int lda = STARPU_MATRIX_GET_LD(a_buffer), ldb = STARPU_MATRIX_GET_LD(b_buffer),
              ldc = STARPU_MATRIX_GET_LD(c_buffer);
    if (matmul_stores_once(k)) {
        multiply_and_store_once(m, n, k, a, lda, b, ldb, c, ldc);
        return;
    }
    for (int repetition = repetitions(); repetition > 0; --repetition) gemm(m, n, k, a, lda, b, ldb, c, ldc);
}

template <class T>
void multiply_whole(MatmulProblem& p) {
    gemm(p.c.rows(), p.c.columns(), p.b.rows(), static_cast<const T*>(p.a.at(0, 0)), p.a.ld(),
         static_cast<const T*>(p.b.at(0, 0)), p.b.ld(), static_cast<T*>(p.c.at(0, 0)), p.c.ld());
}

}  // namespace

void matmul_cpu(void* buffers[], void*) {
    by_real_size(STARPU_MATRIX_GET_ELEMSIZE(buffers[0]),
                 [&]<class T>() { multiply_block<T>(buffers[0], buffers[1], buffers[2]); });
}

void use_one_blas_thread() { openblas_set_num_threads(1); }

void matmul_by_one_call(MatmulProblem& problem, int threads) {
    openblas_set_num_threads(threads);
    by_real_type(problem.c.type(), [&]<class T>() { multiply_whole<T>(problem); });
    use_one_blas_thread();
}

}  // namespace apportion
