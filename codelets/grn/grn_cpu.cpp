// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/common/handicap.hpp"
#include "codelets/grn/grn.hpp"
#include "codelets/grn/grn_buffers.hpp"

namespace apportion {

void grn_cpu(void* buffers[], void* arg) {
    const auto& parameters = *static_cast<const GrnParameters*>(arg);
    for (int repetition = repetitions(); repetition > 0; --repetition)
        best_grn_kernels().search(grn_block(buffers, parameters), parameters);
}

void search_by_one_call(GrnProblem& p) {
    best_grn_kernels().search({p.candidates.data(), p.targets.data(), score_rule(p.parameters, p.nlogn.data()),
                               p.target_count(), p.results.data()},
                              p.parameters);
}

}  // namespace apportion
