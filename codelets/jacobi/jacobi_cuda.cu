// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The Jacobi method on a GPU. Dense rows are summed by the 32 threads of a warp, sparse ones by 8. Of a batch, systems
// that a multiprocessor's cache keeps are one thread block's each, with all iterations; of larger ones all rows of all
// systems go together, iteration by iteration.
//
// Limit: memory, as each element of A is used once an iteration: on an H200 (4.8 TB/s) 600 G elements/s in double, on a
// T4 (0.32 TB/s) 40 G, of which 80 % are expected for dense rows; half of 12 bytes an entry for sparse ones, whose x is
// read here and there. An iteration of a batch takes 3 us more for its launch. Cached systems: the first-level cache,
// 20 TB/s on an H200 and 3.2 on a T4, of which a third is expected. All computed, not measured.
#include <starpu.h>
#include <starpu_cuda.h>

#include "codelets/common/device_launch.hpp"
#include "codelets/common/device_worker.hpp"
#include "codelets/jacobi/jacobi_buffers.hpp"
#include "codelets/jacobi_batch/jacobi_batch_steps.hpp"

namespace apportion {

namespace {

constexpr unsigned kWarp = 32, kSparseLanes = 8;
constexpr unsigned kThreads = 256, kCachedThreads = 512;
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

template <class T>
__device__ void raise_if_larger(T* maximum, T value) {
    // Few numbers are larger than all before, and all that are not need not queue up for the one place.
    if (!(value <= *static_cast<volatile T*>(maximum))) raise(maximum, value);
}

/// By all threads of the block, each with the change of its own rows.
template <class T>
__device__ void include(JacobiChange<T>* change, JacobiChange<T> own) {
    for (unsigned half = kWarp / 2; half > 0; half /= 2) {
        own.step = larger(own.step, __shfl_down_sync(kAll, own.step, half));
        own.size = larger(own.size, __shfl_down_sync(kAll, own.size, half));
    }
    __shared__ T steps[kThreads / kWarp], sizes[kThreads / kWarp];
    if (threadIdx.x % kWarp == 0) {
        steps[threadIdx.x / kWarp] = own.step;
        sizes[threadIdx.x / kWarp] = own.size;
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (unsigned warp = 1; warp < kThreads / kWarp; ++warp) {
        own.step = larger(own.step, steps[warp]);
        own.size = larger(own.size, sizes[warp]);
    }
    raise_if_larger(&change->step, own.step);
    raise_if_larger(&change->size, own.size);
}

template <class Rows, class T>
__device__ void finish_row(const Rows& r, std::size_t row, T product, JacobiChange<T>& change) {
    const T step = jacobi_step(r.terms[row], product);
    r.x_new[row] = r.x_old[row] + step;
    change.include(r.x_new[row], step);
}

template <class T>
__global__ void dense_kernel(DenseRows<T> r) {
    const unsigned lane = threadIdx.x % kWarp;
    const std::size_t warps = std::size_t{gridDim.x} * blockDim.x / kWarp;
    JacobiChange<T> change;
    for (std::size_t row = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp; row < r.rows; row += warps) {
        const T product = sum_of_lanes<kWarp>(dense_lane(r.a + row * r.ld, r.x, r.n, lane, kWarp));
        if (lane == 0) finish_row(r, row, product, change);
    }
    include(r.change, change);
}

__global__ void sparse_kernel(SparseRows r) {
    const unsigned lane = threadIdx.x % kSparseLanes;
    const std::size_t groups = std::size_t{gridDim.x} * blockDim.x / kSparseLanes;
    const std::size_t group = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / kSparseLanes;
    const std::size_t first_of_warp = group - group % (kWarp / kSparseLanes);
    JacobiChange<double> change;
    // A warp's groups go on together, because they exchange their sums.
    for (std::size_t done = 0; first_of_warp + done < r.rows; done += groups) {
        const std::size_t row = group + done;
        double part = 0;
        if (row < r.rows) {
            const std::size_t begin = r.start[row] - r.start[0], count = r.start[row + 1] - r.start[row];
            part = sparse_lane(r.values + begin, r.columns + begin, count, r.x, lane, kSparseLanes);
        }
        const double product = sum_of_lanes<kSparseLanes>(part);
        if (lane == 0 && row < r.rows) finish_row(r, row, product, change);
    }
    include(r.change, change);
}

template <class T>
__global__ void batch_kernel(BatchIteration<T> s) {
    const unsigned lane = threadIdx.x % kWarp;
    const std::size_t warps = std::size_t{gridDim.x} * blockDim.x / kWarp, rows = s.rows();
    for (std::size_t r = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp; r < rows; r += warps) {
        const T product = sum_of_lanes<kWarp>(dense_lane(s.row(r), s.x_of(r), s.systems.n, lane, kWarp));
        if (lane == 0) s.store(r, product);
    }
}

template <class T>
__global__ void cached_batch_kernel(BatchSystems<T> s) {
    __shared__ T vectors[2][kMostCached];
    const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
    for (std::size_t system = blockIdx.x; system < s.systems; system += gridDim.x) {
        const T* const a = s.a + system * s.n * s.a_ld;
        const T* const b = s.b + system * s.b_ld;
        for (std::size_t i = threadIdx.x; i < s.n; i += blockDim.x) vectors[0][i] = 0;
        __syncthreads();
        for (std::uint64_t iteration = 0; iteration < s.iterations; ++iteration) {
            const T* const x = vectors[iteration % 2];
            T* const x_new = vectors[1 - iteration % 2];
            for (std::size_t i = warp; i < s.n; i += warps) {
                const T* const row = a + i * s.a_ld;
                const T product = sum_of_lanes<kWarp>(dense_lane(row, x, s.n, lane, kWarp));
                if (lane == 0) x_new[i] = x[i] + jacobi_step({b[i], row[i]}, product);
            }
            __syncthreads();
        }
        for (std::size_t i = threadIdx.x; i < s.n; i += blockDim.x)
            s.x[system * s.x_ld + i] = vectors[s.iterations % 2][i];
        __syncthreads();
    }
}

template <class T>
void clear(JacobiChange<T>* change) {
    require(cudaMemsetAsync(change, 0, sizeof *change, starpu_cuda_get_local_stream()), "cudaMemsetAsync");
}

template <class T>
void start_dense(const DenseRows<T>& rows) {
    clear(rows.change);
    launch("dense Jacobi iteration", dense_kernel<T>, blocks_for(rows.rows * kWarp, kThreads), kThreads, rows);
}

template <class T>
void start_batch(const BatchSystems<T>& systems) {
    if (stays_cached<T>(systems.n)) {
        launch("Jacobi iterations", cached_batch_kernel<T>, blocks_for(systems.systems, 1), kCachedThreads, systems);
        return;
    }
    const std::size_t elements = batch_systems_together<T>(systems.n) * systems.n;
    run_batch(
        systems, static_cast<T*>(this_device_worker().scratch.at_least(elements * sizeof(T))),
        [n = systems.n](T* x, std::size_t ld, std::size_t count) {
            require(cudaMemset2DAsync(x, ld * sizeof(T), 0, n * sizeof(T), count, starpu_cuda_get_local_stream()),
                    "cudaMemset2DAsync");
        },
        [](const BatchIteration<T>& iteration) {
            launch("Jacobi iteration", batch_kernel<T>, blocks_for(iteration.rows() * kWarp, kThreads), kThreads,
                   iteration);
        });
}

}  // namespace

void jacobi_dense_cuda(void* buffers[], void*) {
    on_device([&] {
        if (STARPU_MATRIX_GET_ELEMSIZE(buffers[0]) == sizeof(float))
            start_dense(dense_rows<float>(buffers));
        else
            start_dense(dense_rows<double>(buffers));
    });
}

void jacobi_sparse_cuda(void* buffers[], void*) {
    on_device([&] {
        const SparseRows rows = sparse_rows(buffers);
        clear(rows.change);
        launch("sparse Jacobi iteration", sparse_kernel, blocks_for(rows.rows * kSparseLanes, kThreads), kThreads,
               rows);
    });
}

void jacobi_batch_cuda(void* buffers[], void* arg) {
    on_device([&] {
        if (STARPU_MATRIX_GET_ELEMSIZE(buffers[0]) == sizeof(float))
            start_batch(batch_systems<float>(buffers, arg));
        else
            start_batch(batch_systems<double>(buffers, arg));
    });
}

}  // namespace apportion
