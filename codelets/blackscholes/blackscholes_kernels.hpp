// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The kernels of the blackscholes codelet. Buffers: the options' columns spot, strike (negative for a put), rate,
// volatility, expiry, and the results' columns price and, of Monte Carlo, standard error; both are StarPU matrices
// whose first dimension runs over the options. The element's size tells float from double, `arg` is a KernelArgument
// with BlackScholesParameters.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codelets/common/isa.hpp"

namespace apportion {

/// Paths 0: the closed form.
struct BlackScholesParameters {
    std::uint64_t paths = 0;
    std::uint64_t seed = 1;
};

/// Options number first, first + 1, ... of the load, by columns `ld` elements apart, and where their results go.
template <class T>
struct OptionBlock {
    const T* options;
    std::size_t options_ld;
    T* results;
    std::size_t results_ld;
    std::size_t count;
    std::uint64_t first;
};

/// Prices on one core.
struct BlackScholesKernels {
    void (*price_float)(const OptionBlock<float>& block, const BlackScholesParameters& parameters);
    void (*price_double)(const OptionBlock<double>& block, const BlackScholesParameters& parameters);
};

void blackscholes_cpu(void* buffers[], void* arg);

#ifdef APPORTION_CUDA
/// Asynchronous on the worker's stream.
void blackscholes_cuda(void* buffers[], void* arg);
#endif

}  // namespace apportion

APPORTION_DECLARE_KERNELS(BlackScholesKernels, blackscholes_kernels)
