// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The Jacobi method on a GPU. Dense rows are summed by the 32 threads of a warp, sparse ones by 8; a system of the
// batch is one thread block's, with x and the next x in shared memory and a warp for every row.
#include <starpu.h>
#include <starpu_cuda.h>

#include <algorithm>

#include "codelets/jacobi_buffers.hpp"

namespace apportion {

namespace {

constexpr unsigned kWarp = 32, kSparseLanes = 8;
constexpr unsigned kThreads = 256, kBatchThreads = 512;
constexpr std::size_t kMostBlocks = 1 << 16;  // more rows are taken one after the other
constexpr std::size_t kSharedMemory_bytes = 48 * 1024;
constexpr unsigned kAll = 0xffffffffu;

/// The sum over groups of `kLanes` neighbouring threads, in the first of each.
template <unsigned kLanes, class T>
__device__ T sum_of_lanes(T part) {
    for (unsigned half = kLanes / 2; half > 0; half /= 2) part += __shfl_down_sync(kAll, part, half, kLanes);
    return part;
}

/// Numbers >= 0 are ordered as their bits are, and not-a-number is above them.
__device__ void raise(float* maximum, float value) {
    atomicMax(reinterpret_cast<unsigned*>(maximum), __float_as_uint(value));
}
__device__ void raise(double* maximum, double value) {
    atomicMax(reinterpret_cast<unsigned long long*>(maximum),
              static_cast<unsigned long long>(__double_as_longlong(value)));
}

template <class Rows, class T>
__device__ void finish_row(const Rows& r, std::size_t row, T product) {
    const T step = jacobi_step(r.terms[row], product);
    r.x_new[row] = r.x_old[row] + step;
    JacobiChange<T> change;
    change.include(r.x_new[row], step);
    raise(&r.change->step, change.step);
    raise(&r.change->size, change.size);
}

template <class T>
__global__ void dense_kernel(DenseRows<T> r) {
    const unsigned lane = threadIdx.x % kWarp;
    const std::size_t warps = std::size_t{gridDim.x} * blockDim.x / kWarp;
    for (std::size_t row = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp; row < r.rows; row += warps) {
        const T product = sum_of_lanes<kWarp>(dense_lane(r.a + row * r.ld, r.x, r.n, lane, kWarp));
        if (lane == 0) finish_row(r, row, product);
    }
}

__global__ void sparse_kernel(SparseRows r) {
    const unsigned lane = threadIdx.x % kSparseLanes;
    const std::size_t groups = std::size_t{gridDim.x} * blockDim.x / kSparseLanes;
    const std::size_t group = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / kSparseLanes;
    const std::size_t first_of_warp = group - group % (kWarp / kSparseLanes);
    // A warp's groups go on together, because they exchange their sums.
    for (std::size_t done = 0; first_of_warp + done < r.rows; done += groups) {
        const std::size_t row = group + done;
        double part = 0;
        if (row < r.rows) {
            const std::size_t begin = r.start[row] - r.start[0], count = r.start[row + 1] - r.start[row];
            part = sparse_lane(r.values + begin, r.columns + begin, count, r.x, lane, kSparseLanes);
        }
        const double product = sum_of_lanes<kSparseLanes>(part);
        if (lane == 0 && row < r.rows) finish_row(r, row, product);
    }
}

template <class T>
__global__ void batch_kernel(BatchSystems<T> s) {
    extern __shared__ double shared_memory[];
    const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
    for (std::size_t system = blockIdx.x; system < s.systems; system += gridDim.x) {
        const T* const a = s.a + system * s.n * s.a_ld;
        const T* const b = s.b + system * s.b_ld;
        T* x = reinterpret_cast<T*>(shared_memory);
        T* x_new = x + s.n;
        for (std::size_t i = threadIdx.x; i < s.n; i += blockDim.x) x[i] = 0;
        __syncthreads();
        for (std::uint64_t iteration = 0; iteration < s.iterations; ++iteration) {
            for (std::size_t i = warp; i < s.n; i += warps) {
                const T* const row = a + i * s.a_ld;
                const T product = sum_of_lanes<kWarp>(dense_lane(row, x, s.n, lane, kWarp));
                if (lane == 0) x_new[i] = x[i] + jacobi_step({b[i], row[i]}, product);
            }
            __syncthreads();
            T* const previous = x;
            x = x_new;
            x_new = previous;
        }
        for (std::size_t i = threadIdx.x; i < s.n; i += blockDim.x) s.x[system * s.x_ld + i] = x[i];
        __syncthreads();
    }
}

unsigned blocks_for(std::size_t threads) {
    return static_cast<unsigned>(std::min((threads + kThreads - 1) / kThreads, kMostBlocks));
}

void check(cudaError_t error) {
    if (error != cudaSuccess) STARPU_CUDA_REPORT_ERROR(error);
}

template <class T>
void start_dense(const DenseRows<T>& rows) {
    const cudaStream_t stream = starpu_cuda_get_local_stream();
    check(cudaMemsetAsync(rows.change, 0, sizeof *rows.change, stream));
    dense_kernel<<<blocks_for(rows.rows * kWarp), kThreads, 0, stream>>>(rows);
    check(cudaGetLastError());
}

template <class T>
void start_batch(const BatchSystems<T>& systems) {
    const auto blocks = static_cast<unsigned>(std::min(systems.systems, kMostBlocks));
    batch_kernel<<<blocks, kBatchThreads, 2 * systems.n * sizeof(T), starpu_cuda_get_local_stream()>>>(systems);
    check(cudaGetLastError());
}

}  // namespace

void jacobi_dense_cuda(void* buffers[], void*) {
    if (STARPU_MATRIX_GET_ELEMSIZE(buffers[0]) == sizeof(float))
        start_dense(dense_rows<float>(buffers));
    else
        start_dense(dense_rows<double>(buffers));
}

void jacobi_sparse_cuda(void* buffers[], void*) {
    const SparseRows rows = sparse_rows(buffers);
    const cudaStream_t stream = starpu_cuda_get_local_stream();
    check(cudaMemsetAsync(rows.change, 0, sizeof *rows.change, stream));
    sparse_kernel<<<blocks_for(rows.rows * kSparseLanes), kThreads, 0, stream>>>(rows);
    check(cudaGetLastError());
}

void jacobi_batch_cuda(void* buffers[], void* arg) {
    if (STARPU_MATRIX_GET_ELEMSIZE(buffers[0]) == sizeof(float))
        start_batch(batch_systems<float>(buffers, arg));
    else
        start_batch(batch_systems<double>(buffers, arg));
}

std::size_t jacobi_batch_cuda_most_unknowns(std::size_t element_bytes) {
    return kSharedMemory_bytes / (2 * element_bytes);
}

}  // namespace apportion
