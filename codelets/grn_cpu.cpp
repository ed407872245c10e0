// SPDX-License-Identifier: LGPL-2.1-or-later
#include <starpu.h>

#include "codelets/grn.hpp"
#include "codelets/grn_kernels.hpp"
#include "codelets/handicap.hpp"

namespace apportion {

namespace {

ScoreRule rule_of(const GrnParameters& p, const std::int64_t* nlogn) {
    return {nlogn, p.samples, p.criterion, p.penalty};
}

const GrnParameters& parameters_of(void* arg) { return *static_cast<const GrnParameters*>(arg); }

GrnBlock block_of(void* buffers[], const GrnParameters& parameters) {
    return {reinterpret_cast<const std::uint64_t*>(STARPU_VECTOR_GET_PTR(buffers[0])),
            reinterpret_cast<const std::uint64_t*>(STARPU_VECTOR_GET_PTR(buffers[2])),
            rule_of(parameters, reinterpret_cast<const std::int64_t*>(STARPU_VECTOR_GET_PTR(buffers[1]))),
            STARPU_VECTOR_GET_NX(buffers[3]), reinterpret_cast<PredictorSet*>(STARPU_VECTOR_GET_PTR(buffers[3]))};
}

}  // namespace

void grn_cpu(void* buffers[], void* arg) {
    const GrnParameters& parameters = parameters_of(arg);
    for (int repetition = repetitions(); repetition > 0; --repetition)
        best_grn_kernels().search(block_of(buffers, parameters), parameters);
}

#ifdef APPORTION_CUDA
void grn_cuda(void* buffers[], void* arg) {
    const GrnParameters& parameters = parameters_of(arg);
    start_grn(block_of(buffers, parameters), parameters, starpu_cuda_get_local_stream());
}
#endif

void search_by_one_call(GrnProblem& p) {
    best_grn_kernels().search({p.candidates.data(), p.targets.data(), rule_of(p.parameters, p.nlogn.data()),
                               p.target_count(), p.results.data()},
                              p.parameters);
}

}  // namespace apportion
