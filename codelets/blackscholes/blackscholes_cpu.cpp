// SPDX-License-Identifier: LGPL-2.1-or-later
#include <starpu.h>

#include "codelets/blackscholes/blackscholes.hpp"
#include "codelets/blackscholes/blackscholes_buffers.hpp"
#include "codelets/common/handicap.hpp"

namespace apportion {

namespace {

void price(const OptionBlock<float>& block, const BlackScholesParameters& parameters) {
    best_blackscholes_kernels().price_float(block, parameters);
}
void price(const OptionBlock<double>& block, const BlackScholesParameters& parameters) {
    best_blackscholes_kernels().price_double(block, parameters);
}

template <class T>
void price_all(BlackScholesProblem& p) {
    price(OptionBlock<T>{static_cast<const T*>(p.options.at(0, 0)), p.options.ld(), static_cast<T*>(p.results.at(0, 0)),
                         p.results.ld(), p.options.rows(), 0},
          p.parameters);
}

}  // namespace

void blackscholes_cpu(void* buffers[], void* arg) {
    const auto& argument = *static_cast<const KernelArgument*>(arg);
    for (int repetition = repetitions(); repetition > 0; --repetition)
        by_real_size(STARPU_MATRIX_GET_ELEMSIZE(buffers[0]),
                     [&]<class T>() { price(option_block<T>(buffers, argument), blackscholes_parameters(argument)); });
}

void price_by_one_call(BlackScholesProblem& problem) {
    by_real_type(problem.options.type(), [&]<class T>() { price_all<T>(problem); });
}

}  // namespace apportion
