// SPDX-License-Identifier: LGPL-2.1-or-later
// Compiled by nvcc without contractions, so that results are those of the CPU, bit for bit.
//
// Limit: arithmetic, about 75 operations a path. Without contractions an H200 makes 33 T of them a second in float and
// 17 T in double: 450 G and 220 G paths/s, a T4 54 G and 1.7 G, of which half is expected (logarithms, roots and
// Philox' integers are several instructions each). The closed form has 48 bytes an option of memory and 220 operations.
// All computed, not measured.
#include "codelets/blackscholes/blackscholes_buffers.hpp"
#include "codelets/blackscholes/blackscholes_formula.hpp"
#include "codelets/common/device_launch.hpp"

namespace apportion {

namespace {

using namespace isa_generic;

constexpr unsigned kThreads = 128;

template <class T>
__device__ OptionTerms<T> terms_of(const OptionBlock<T>& b, std::size_t i) {
    const T* const o = b.options + i;
    return {o[0], o[b.options_ld], o[2 * b.options_ld], o[3 * b.options_ld], o[4 * b.options_ld]};
}

/// One thread per option.
template <class T>
__global__ void closed_form(OptionBlock<T> b) {
    for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < b.count;
         i += std::size_t{gridDim.x} * blockDim.x)
        b.results[i] = closed_form_price(terms_of(b, i));
}

/// One warp per option, whose threads are the lanes.
template <class T>
__global__ void monte_carlo(OptionBlock<T> b, BlackScholesParameters parameters) {
    static_assert(kLanes == 32, "a warp has 32 threads");
    constexpr std::uint64_t kGroup = kLanes * kPathsPerCounter;
    const unsigned lane = threadIdx.x % kLanes;
    const std::size_t warps = std::size_t{gridDim.x} * blockDim.x / kLanes;
    for (std::size_t i = (blockIdx.x * std::size_t{blockDim.x} + threadIdx.x) / kLanes; i < b.count; i += warps) {
        const PathTerms<T> terms = path_terms(terms_of(b, i));
        double sum = 0, squares = 0;
        for (std::uint64_t first = 0; first < parameters.paths; first += kGroup) {
            const RandomBits random =
                random_bits(parameters.seed, b.first + i, static_cast<std::uint32_t>(first / kGroup) * kLanes + lane);
            T payoff[kPathsPerCounter];
            for (unsigned k = 0; k < kPathsPerCounter; k += 2) {
                T one, two;
                normal_pair(random.word[k], random.word[k + 1], one, two);
                const std::uint64_t path = first + lane * kPathsPerCounter + k;
                payoff[k] = path < parameters.paths ? path_payoff(terms, one) : T(0);
                payoff[k + 1] = path + 1 < parameters.paths ? path_payoff(terms, two) : T(0);
            }
            sum += double((payoff[0] + payoff[1]) + (payoff[2] + payoff[3]));
            squares += double(multiply_add(payoff[0], payoff[0], payoff[1] * payoff[1]) +
                              multiply_add(payoff[2], payoff[2], payoff[3] * payoff[3]));
        }
        for (unsigned half = kLanes / 2; half > 0; half /= 2) {
            sum += __shfl_down_sync(0xffffffffu, sum, half);
            squares += __shfl_down_sync(0xffffffffu, squares, half);
        }
        if (lane != 0) continue;
        const Estimate<T> e = estimate(terms, sum, squares, static_cast<double>(parameters.paths));
        b.results[i] = e.price;
        b.results[i + b.results_ld] = e.standard_error;
    }
}

template <class T>
void price(void* buffers[], const KernelArgument& argument) {
    const OptionBlock<T> block = option_block<T>(buffers, argument);
    const BlackScholesParameters& parameters = blackscholes_parameters(argument);
    if (parameters.paths > 0)
        launch("Monte Carlo of options", monte_carlo<T>, blocks_for(block.count * kLanes, kThreads), kThreads, block,
               parameters);
    else
        launch("closed form of options", closed_form<T>, blocks_for(block.count, kThreads), kThreads, block);
}

}  // namespace

void blackscholes_cuda(void* buffers[], void* arg) {
    on_device([&] {
        const auto& argument = *static_cast<const KernelArgument*>(arg);
        if (STARPU_MATRIX_GET_ELEMSIZE(buffers[0]) == sizeof(float))
            price<float>(buffers, argument);
        else
            price<double>(buffers, argument);
    });
}

}  // namespace apportion
