// SPDX-License-Identifier: LGPL-2.1-or-later
#include <starpu.h>

#include "codelets/blackscholes.hpp"
#include "codelets/blackscholes_kernels.hpp"
#include "codelets/handicap.hpp"

namespace apportion {

namespace {

void price(const OptionBlock<float>& block, const BlackScholesParameters& parameters) {
    best_blackscholes_kernels().price_float(block, parameters);
}
void price(const OptionBlock<double>& block, const BlackScholesParameters& parameters) {
    best_blackscholes_kernels().price_double(block, parameters);
}

template <class T>
OptionBlock<T> block_of(void* buffers[], const KernelArgument& argument) {
    return {reinterpret_cast<const T*>(STARPU_MATRIX_GET_PTR(buffers[0])),
            STARPU_MATRIX_GET_LD(buffers[0]),
            reinterpret_cast<T*>(STARPU_MATRIX_GET_PTR(buffers[1])),
            STARPU_MATRIX_GET_LD(buffers[1]),
            STARPU_MATRIX_GET_NX(buffers[0]),
            argument.range.first};
}

template <class T>
void price_all(BlackScholesProblem& p) {
    price(OptionBlock<T>{static_cast<const T*>(p.options.at(0, 0)), p.options.ld(), static_cast<T*>(p.results.at(0, 0)),
                         p.results.ld(), p.options.rows(), 0},
          p.parameters);
}

const BlackScholesParameters& parameters_of(const KernelArgument& argument) {
    return *static_cast<const BlackScholesParameters*>(argument.parameters);
}

}  // namespace

void blackscholes_cpu(void* buffers[], void* arg) {
    const auto& argument = *static_cast<const KernelArgument*>(arg);
    for (int repetition = repetitions(); repetition > 0; --repetition)
        if (STARPU_MATRIX_GET_ELEMSIZE(buffers[0]) == sizeof(float))
            price(block_of<float>(buffers, argument), parameters_of(argument));
        else
            price(block_of<double>(buffers, argument), parameters_of(argument));
}

#ifdef APPORTION_CUDA
void blackscholes_cuda(void* buffers[], void* arg) {
    const auto& argument = *static_cast<const KernelArgument*>(arg);
    if (STARPU_MATRIX_GET_ELEMSIZE(buffers[0]) == sizeof(float))
        start_blackscholes(block_of<float>(buffers, argument), parameters_of(argument), starpu_cuda_get_local_stream());
    else
        start_blackscholes(block_of<double>(buffers, argument), parameters_of(argument),
                           starpu_cuda_get_local_stream());
}
#endif

void price_by_one_call(BlackScholesProblem& problem) {
    if (problem.options.type() == ElementType::float32)
        price_all<float>(problem);
    else
        price_all<double>(problem);
}

}  // namespace apportion
