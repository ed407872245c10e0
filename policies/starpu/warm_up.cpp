// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/warm_up.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "policies/starpu/error.hpp"

namespace apportion {

#ifdef STARPU_SIMGRID
// Simulated workers have nothing to set up.
std::vector<std::string> warm_up_workers(apportion_warm_up_func_t, void*, unsigned,
                                         const std::vector<Worker>& workers) {
    return std::vector<std::string>(workers.size());
}
#else

namespace {

struct Call {
    apportion_warm_up_func_t hook = nullptr;
    void* arg = nullptr;
    std::string* problem = nullptr;
};

void call(void**, void* arg) {
    const Call& it = *static_cast<const Call*>(arg);
    try {
        if (const int status = it.hook(it.arg); status != 0)
            *it.problem = fmt::format("its warm_up returned {} ({})", status, std::strerror(std::abs(status)));
    } catch (const std::exception& error) {
        *it.problem = fmt::format("its warm_up threw an exception: {}", error.what());
    } catch (...) {
        *it.problem = "its warm_up threw an exception that is none of the standard library's";
    }
}

starpu_codelet& codelet() {
    static starpu_codelet calling = [] {
        starpu_codelet c;
        starpu_codelet_init(&c);
        c.cpu_funcs[0] = call;
        c.cuda_funcs[0] = call;
        c.hip_funcs[0] = call;
        c.opencl_funcs[0] = call;
        // StarPU waits for what the hook left on the worker's stream; otherwise it would end the program for that.
        c.cuda_flags[0] = STARPU_CUDA_ASYNC;
        c.hip_flags[0] = STARPU_HIP_ASYNC;
        c.name = "warm_up";
        return c;
    }();
    return calling;
}

}  // namespace

std::vector<std::string> warm_up_workers(apportion_warm_up_func_t hook, void* arg, unsigned sched_ctx,
                                         const std::vector<Worker>& workers) {
    if (starpu_worker_get_id() >= 0)
        throw ApiError(EDEADLK,
                       "apportion_load_create: a load with a warm_up was created on a StarPU worker, which would wait "
                       "for itself; create it on another thread");
    std::vector<std::string> problems(workers.size());
    std::vector<Call> calls(workers.size());
    std::vector<starpu_task*> tasks;
    tasks.reserve(workers.size());  // nothing throws while tasks run
    for (std::size_t k = 0; k < workers.size(); ++k) {
        calls[k] = {hook, arg, &problems[k]};
        starpu_task* const task = starpu_task_create();
        task->cl = &codelet();
        task->cl_arg = &calls[k];
        task->sched_ctx = sched_ctx;
        task->execute_on_a_specific_worker = 1;
        task->workerid = static_cast<unsigned>(workers[k].ids.front());
        task->detach = 0;
        task->destroy = 0;
        if (starpu_task_submit(task) == 0) {
            tasks.push_back(task);
        } else {
            problems[k] = "StarPU gave it no task for its warm_up";
            starpu_task_destroy(task);
        }
    }
    for (starpu_task* task : tasks) {
        STARPU_CHECK_RETURN_VALUE(starpu_task_wait(task), "starpu_task_wait");
        starpu_task_destroy(task);
    }
    return problems;
}
#endif

}  // namespace apportion
