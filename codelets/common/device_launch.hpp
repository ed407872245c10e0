// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Launches of kernels on the worker's stream, for files that nvcc compiles. A launch that is refused is known at once:
// from its own status, not from cudaGetLastError, which may hold what others left.
#pragma once

#include <starpu.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "codelets/common/device_status.hpp"

namespace apportion {

/// The largest grid that kernels are given along x, enough to fill every GPU; they take what is left one after the
/// other. Along y and z CUDA has no larger one than kMostAcross.
inline constexpr std::size_t kMostBlocks = 1 << 16, kMostAcross = 65535;

/// Thread blocks for so many threads.
constexpr unsigned blocks_for(std::size_t threads, unsigned threads_per_block) {
    return static_cast<unsigned>(
        std::min(threads / threads_per_block + (threads % threads_per_block > 0), kMostBlocks));
}

/// `what` names the launch in messages. Throws DeviceFailure.
template <class... Expected, class... Actual>
void launch(const char* what, void (*kernel)(Expected...), dim3 blocks, dim3 threads, Actual&&... arguments) {
    cudaLaunchConfig_t config{};
    config.gridDim = blocks;
    config.blockDim = threads;
    config.stream = starpu_cuda_get_local_stream();
    require(cudaLaunchKernelEx(&config, kernel, std::forward<Actual>(arguments)...), what);
}

}  // namespace apportion
