// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Lets a C++ compiler take a .cu file that launches kernels by cudaLaunchKernelEx: kernels then run on the host, thread
// block by thread block. A block's threads are contexts of one thread that take turns where they wait for each other.
// Included before the file, as the macros would break the libraries' headers. Only what the project's kernels use.
#pragma once

// CUDA's header would declare threadIdx and the others as constants.
#define __DEVICE_LAUNCH_PARAMETERS_H__
#include <cuda_runtime.h>
#include <starpu.h>
#include <ucontext.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "test/codelets/cuda/stand_in.hpp"

inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;

namespace on_host {

constexpr unsigned kWarp = 32;

/// Where a number of threads wait for each other; those that have ended are not waited for.
struct Barrier {
    unsigned threads = 0, arrived = 0, turn = 0;

    void release_if_complete() {
        if (arrived < threads) return;
        arrived = 0;
        ++turn;
    }
};

struct Thread {
    ucontext_t context;
    std::unique_ptr<char[]> stack = std::make_unique<char[]>(kStack_bytes);
    bool ended;
    std::uint64_t value;  ///< given to others of the warp

    static constexpr std::size_t kStack_bytes = 128 << 10;
};

struct Block {
    std::vector<Thread> threads;
    unsigned current = 0;
    Barrier all;
    std::vector<Barrier> warps;
    ucontext_t scheduler;
    std::function<void()> kernel;
};

inline Block block;

inline void wait_at(Barrier& barrier) {
    const unsigned turn = barrier.turn;
    ++barrier.arrived;
    barrier.release_if_complete();
    while (barrier.turn == turn) swapcontext(&block.threads[block.current].context, &block.scheduler);
}

inline void run_thread() {
    block.kernel();
    block.threads[block.current].ended = true;
    for (Barrier* barrier : {&block.all, &block.warps[block.current / kWarp]}) {
        --barrier->threads;
        if (barrier->threads > 0) barrier->release_if_complete();
    }
}

inline void run_block(unsigned count) {
    if (block.threads.size() < count) block.threads.resize(count);
    block.all = {count};
    block.warps.assign((count + kWarp - 1) / kWarp, {});
    for (unsigned t = 0; t < count; ++t) {
        ++block.warps[t / kWarp].threads;
        Thread& thread = block.threads[t];
        thread.ended = false;
        getcontext(&thread.context);
        thread.context.uc_stack.ss_sp = thread.stack.get();
        thread.context.uc_stack.ss_size = Thread::kStack_bytes;
        thread.context.uc_link = &block.scheduler;
        makecontext(&thread.context, run_thread, 0);
    }
    while (block.all.threads > 0)
        for (unsigned t = 0; t < count; ++t) {
            if (block.threads[t].ended) continue;
            block.current = t;
            threadIdx = {t % blockDim.x, t / blockDim.x % blockDim.y, t / blockDim.x / blockDim.y};
            swapcontext(&block.scheduler, &block.threads[t].context);
        }
}

template <class... Expected, class... Actual>
cudaError_t launch_kernel(const cudaLaunchConfig_t* config, void (*kernel)(Expected...), Actual&&... arguments) {
    if (const cudaError_t error = cudaLaunchKernelExC(config, nullptr, nullptr); error != cudaSuccess) return error;
    blockDim = config->blockDim;
    const auto most = [](unsigned blocks) { return std::min(blocks, stand_in::state().largest_grid); };
    gridDim = {most(config->gridDim.x), most(config->gridDim.y), most(config->gridDim.z)};
    block.kernel = [&] { kernel(arguments...); };
    for (unsigned z = 0; z < gridDim.z; ++z)
        for (unsigned y = 0; y < gridDim.y; ++y)
            for (unsigned x = 0; x < gridDim.x; ++x) {
                blockIdx = {x, y, z};
                run_block(blockDim.x * blockDim.y * blockDim.z);
            }
    return cudaSuccess;
}

}  // namespace on_host

template <class T>
T __shfl_down_sync(unsigned, T value, unsigned delta, unsigned width = on_host::kWarp) {
    on_host::Block& block = on_host::block;
    on_host::Barrier& warp = block.warps[block.current / on_host::kWarp];
    std::memcpy(&block.threads[block.current].value, &value, sizeof value);
    on_host::wait_at(warp);
    if (block.current % width + delta < width)
        std::memcpy(&value, &block.threads[block.current + delta].value, sizeof value);
    on_host::wait_at(warp);
    return value;
}

inline void __syncthreads() { on_host::wait_at(on_host::block.all); }

template <class T>
void atomicMax(T* maximum, T value) {
    if (value > *maximum) *maximum = value;
}
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline long long __double_as_longlong(double value) { return std::bit_cast<long long>(value); }

#undef __shared__
#define __shared__ static
#define cudaLaunchKernelEx on_host::launch_kernel
