// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Stands in for CUDA, cuBLAS, cuFFT and the part of StarPU that the CUDA codelets call, where there is no GPU: counts
// calls, refuses the one it is told to, and notes what no block may do. Kernels are launched and compute nothing.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace stand_in {

struct Launch {
    dim3 blocks, threads;
};

struct State {
    int calls = 0;                                    ///< that may be refused
    int refuse = 0;                                   ///< the number of the call that is refused; 0: none
    std::string refused;                              ///< the name of the function that was
    std::string words;                                ///< and how its library calls what happened
    std::size_t memory_bytes = std::size_t{4} << 30;  ///< of the device, as StarPU counts it

    std::vector<std::string> failures;  ///< given to apportion_block_failed
    std::vector<std::string> problems;  ///< a wrong stream, memory that is freed while it is used, ...
    std::vector<Launch> launches;
    std::map<void*, std::size_t> memory;
    std::set<int> plans;
    std::set<void*> blas;
    unsigned largest_grid = ~0u;  ///< in each dimension, where kernels run on the host
    bool memory_exists = false;   ///< the blocks' memory may be touched
    bool running = false;         ///< the stream may have something to do
};

State& state();
/// All as at the program's start, but what the codelets keep: forget_device_workers() before.
void reset();

/// The worker's.
cudaStream_t stream();

}  // namespace stand_in
