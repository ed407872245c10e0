// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The kernels of the Jacobi codelets, in float and double, as StarPU calls them and as functions of plain pointers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codelets/jacobi/jacobi_rows.hpp"

namespace apportion {

/// Some rows of a dense system, all pointers at the first of them but x, which is whole.
template <class T>
struct DenseRows {
    const T* a;  ///< row i at a + i * ld
    std::size_t ld;
    std::size_t rows;
    std::size_t n;
    const JacobiTerms<T>* terms;
    const T* x;
    const T* x_old;  ///< the rows' part of x
    T* x_new;        ///< and of the next x
    JacobiChange<T>* change;
};

/// Some rows of a sparse system: row i has the entries start[i] - start[0] ... start[i + 1] - start[0] - 1.
struct SparseRows {
    const std::int64_t* start;
    const std::int32_t* columns;
    const double* values;
    std::size_t rows;
    const JacobiTerms<double>* terms;
    const double* x;
    const double* x_old;
    double* x_new;
    JacobiChange<double>* change;
};

/// Some systems of n unknowns, each solved from x = 0 by a number of iterations. System s has its matrix, by rows, at
/// a + s * n * a_ld, and its vectors at b + s * b_ld and x + s * x_ld.
template <class T>
struct BatchSystems {
    const T* a;
    std::size_t a_ld;
    const T* b;
    std::size_t b_ld;
    T* x;
    std::size_t x_ld;
    std::size_t n;
    std::size_t systems;
    std::uint64_t iterations;
};

/// One iteration of these rows.
void jacobi_dense(const DenseRows<float>& rows);
void jacobi_dense(const DenseRows<double>& rows);
void jacobi_sparse(const SparseRows& rows);
void jacobi_batch(const BatchSystems<float>& systems);
void jacobi_batch(const BatchSystems<double>& systems);

/// Codelet functions. Buffers of the dense kernel: rows of A, their terms, x, the rows of x, the rows of the next x, a
/// JacobiChange; of the sparse one: starts, columns, values, then the same. Of the batch: matrices, b, x; cl_arg is a
/// pointer to the number of iterations (uint64_t).
void jacobi_dense_cpu(void* buffers[], void* arg);
void jacobi_sparse_cpu(void* buffers[], void* arg);
void jacobi_batch_cpu(void* buffers[], void* arg);

#ifdef APPORTION_CUDA
/// The same, asynchronous on the worker's stream.
void jacobi_dense_cuda(void* buffers[], void* arg);
void jacobi_sparse_cuda(void* buffers[], void* arg);
void jacobi_batch_cuda(void* buffers[], void* arg);
#endif

}  // namespace apportion
