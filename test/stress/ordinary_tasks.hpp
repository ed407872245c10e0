// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tasks that are no part of a load, beside those of the stress test.
#pragma once

#include <starpu.h>

#include <cstdlib>

#include "test/starpu/codelet.hpp"
#include "test/stress/drawing.hpp"

namespace apportion::test {

inline void ordinary(void**, void* arg) { starpu_sleep(*static_cast<float*>(arg)); }

/// Tasks that are no part of a load, bound to a worker or not.
inline void submit_ordinary_tasks(Random& random) {
    static starpu_codelet codelet = make_codelet(ordinary, {}, "ordinary");
    static starpu_perfmodel model = [] {
        starpu_perfmodel m{};
        m.type = STARPU_PER_WORKER;
        m.symbol = "ordinary";
        m.worker_cost_function = [](starpu_task* task, unsigned, unsigned) {
            return 1e6 * static_cast<double>(*static_cast<float*>(task->cl_arg));
        };
        return m;
    }();
    if (kSimulated) codelet.model = &model;
    const unsigned cpus = starpu_cpu_worker_get_count();
    for (std::uint64_t k = random.below(6); k > 0; --k) {
        starpu_task* task = starpu_task_create();
        task->cl = &codelet;
        auto* seconds = static_cast<float*>(std::malloc(sizeof(float)));
        *seconds = static_cast<float>(random.between(1e-4, 0.05));  // of less than that StarPU simulates none
        task->cl_arg = seconds;
        task->cl_arg_size = sizeof *seconds;
        task->cl_arg_free = 1;
        if (random.one_in(2) && cpus > 0) {
            task->execute_on_a_specific_worker = 1;
            task->workerid = static_cast<unsigned>(
                starpu_worker_get_by_type(STARPU_CPU_WORKER, static_cast<int>(random.below(cpus))));
        }
        if (starpu_task_submit(task) != 0) report("an ordinary task was refused");
    }
}

}  // namespace apportion::test
