// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What StarPU looks for in the library that STARPU_SCHED_LIB names. Each registered policy is one StarPU scheduler; all
// of them schedule ordinary tasks alike and differ in how the load engine sizes the blocks of a load, which it looks up
// by the scheduler's name.
//
// StarPU closes the library after each look-up and keeps pointers into it: it is linked with -Wl,-z,nodelete.
#include "policies/starpu/plugin.hpp"

#include <dlfcn.h>
#include <starpu.h>

#include <cerrno>
#include <cmath>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/io/shown.hpp"
#include "models/io/text.hpp"
#include "policies/planners/continuous/equal_finish_ipopt.hpp"
#include "policies/policy.hpp"
#include "policies/starpu/apportion.h"
#include "policies/starpu/error.hpp"
#include "policies/starpu/learnt_process.hpp"
#include "policies/starpu/own_schedulers.hpp"
#include "policies/starpu/run.hpp"

namespace apportion {

namespace {

// Scheduling of ordinary tasks, those that are no part of a load: by StarPU's own dmdas (earliest predicted finish
// among the workers, transfers included; by priority, then data that is there first).
//
// Why not StarPU 1.4's modular schedulers, which would do the same at a higher cost per task: modular-heft and
// modular-heft2 give all tasks without a calibrated performance model to one worker, and modular-dmdas loses a wake-up
// when such tasks fit one worker only.
//
// Tasks bound to a worker, a load's blocks among them, bypass dmdas, but StarPU reports them to it. Its counters would
// drift:
//  - push_task_notify counts a bound task in its worker's queue until the worker has called pop_task without result;
//    dmdas distributes tasks without a performance model by these counts;
//  - the expected transfer time that it adds is never subtracted;
//  - in the other contexts of the worker its expected time is never subtracted, because pre_exec_hook and
//    post_exec_hook are called in the task's own context only.
// So only ordinary bound tasks with a known time are reported to dmdas, in their own context.

/// StarPU's table of dmdas itself. Throws if this StarPU has none.
const starpu_sched_policy& dmdas() {
    static const starpu_sched_policy* const found = find_starpu_scheduler("dmdas");
    if (!found)
        throw std::runtime_error("this StarPU has no scheduler 'dmdas', to which Apportion gives ordinary tasks");
    return *found;
}

// A thread that waits for a task's tag and submits the task again may come before StarPU has cleared the mark that the
// last run's data were asked for, and dmdas would ask again, which StarPU takes for an error and aborts.
int task_pushed(starpu_task* task) {
    task->prefetched = 0;
    return dmdas().push_task(task);
}

// StarPU announces a task that is bound to a worker to every context of that worker, but reports its begin and end only
// to the task's own context (to all of them if that context has no scheduler).
bool ends_here(const starpu_task& task, unsigned sched_ctx) {
    return task.sched_ctx == sched_ctx || !starpu_sched_get_sched_policy_in_ctx(task.sched_ctx);
}

void bound_task_pushed(starpu_task* task, int worker, int model_worker, unsigned sched_ctx) {
    if (Run::is_block_task(*task) || !ends_here(*task, sched_ctx)) return;
    // Without a model it is 0, and not a number before the model is calibrated.
    const double expected_us = starpu_task_worker_expected_length(task, static_cast<unsigned>(model_worker), sched_ctx,
                                                                  starpu_task_get_implementation(task));
    if (expected_us > 0) dmdas().push_task_notify(task, worker, model_worker, sched_ctx);
}

bool known_to_dmdas(const starpu_task& task) {
    if (Run::is_block_task(task)) return false;
    return !task.execute_on_a_specific_worker || std::isgreater(task.predicted, 0.0);  // NaN until dmdas is told
}

void task_begins(starpu_task* task, unsigned sched_ctx) {
    if (Run::is_block_task(*task)) Run::task_begins(*task);
    if (known_to_dmdas(*task)) dmdas().pre_exec_hook(task, sched_ctx);
}

void task_ended(starpu_task* task, unsigned sched_ctx) {
    Run::task_of_worker_ended(*task);
    if (known_to_dmdas(*task)) dmdas().post_exec_hook(task, sched_ctx);
}

/// The same for policies of Apportion, whose names it lacks.
starpu_sched_policy scheduler_of_plain_tasks() {
    starpu_sched_policy scheduler = dmdas();
    scheduler.push_task = task_pushed;
    scheduler.push_task_notify = bound_task_pushed;
    scheduler.pre_exec_hook = task_begins;
    scheduler.post_exec_hook = task_ended;
    return scheduler;
}

void begins(unsigned sched_ctx) {
    EqualFinishIpopt::load();
    dmdas().init_sched(sched_ctx);
}

void ends(unsigned sched_ctx) {
    dmdas().deinit_sched(sched_ctx);
    guarded([] { learnt_in_process().scheduler_ends(); });
}

std::vector<starpu_sched_policy>& schedulers() {
    static std::vector<starpu_sched_policy>& all = *new auto([] {  // threads may outlive static objects
        std::vector<starpu_sched_policy> list;
        for (const PolicyEntry& entry : registered_policies()) {
            starpu_sched_policy& scheduler = list.emplace_back(scheduler_of_plain_tasks());
            scheduler.init_sched = begins;
            scheduler.deinit_sched = ends;
            scheduler.policy_name = entry.name;
            scheduler.policy_description = entry.description;
        }
        return list;
    }());
    return all;
}

}  // namespace

starpu_sched_policy* find_scheduler(std::string_view name) {
    for (starpu_sched_policy& scheduler : schedulers())
        if (name == scheduler.policy_name) return &scheduler;
    return nullptr;
}

std::string own_path() {
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(&own_path), &info) == 0 || !info.dli_fname)
        throw ApiError(EIO, "the path of libapportion.so cannot be found out; set STARPU_SCHED_LIB to it");
    return info.dli_fname;
}

void check_scheduler_is_own(unsigned sched_ctx) {
    const starpu_sched_policy* const running = starpu_sched_get_sched_policy_in_ctx(sched_ctx);
    const std::string name = running && running->policy_name ? running->policy_name : "";
    const std::string wanted = sched_ctx == 0 ? environment("STARPU_SCHED") : "";
    if (find_scheduler(wanted) && wanted != name)
        throw ApiError(EINVAL,
                       "STARPU_SCHED={} was asked for, but StarPU runs {}; set STARPU_SCHED_LIB to the path of "
                       "libapportion.so, or call apportion_init instead of starpu_init",
                       wanted, name.empty() ? "none" : shown(name));
    if (!find_scheduler(name) || running->init_sched == begins) return;
    Dl_info info;
    const bool found = dladdr(reinterpret_cast<void*>(running->init_sched), &info) != 0 && info.dli_fname;
    throw ApiError(EINVAL,
                   "StarPU runs the scheduler {} of {}, not of the copy of Apportion in this program, {}; set "
                   "STARPU_SCHED_LIB to the latter",
                   running->policy_name, found ? shown(info.dli_fname) : "another library", shown(own_path()));
}

}  // namespace apportion

extern "C" {

// StarPU is C: no exception may pass through it.
starpu_sched_policy* starpu_get_sched_lib_policy(const char* name) {
    starpu_sched_policy* found = nullptr;
    if (apportion::guarded([&] { found = apportion::find_scheduler(name); }) != 0)
        std::cerr << "apportion: " << apportion_error() << '\n';
    return found;
}

starpu_sched_policy** starpu_get_sched_lib_policies(void) {
    static starpu_sched_policy* none[] = {nullptr};  // StarPU walks the array up to NULL
    starpu_sched_policy** found = none;
    const int failed = apportion::guarded([&] {
        static std::vector<starpu_sched_policy*>& list = *new auto([] {
            std::vector<starpu_sched_policy*> pointers;
            for (starpu_sched_policy& scheduler : apportion::schedulers()) pointers.push_back(&scheduler);
            pointers.push_back(nullptr);
            return pointers;
        }());
        found = list.data();
    });
    if (failed != 0) std::cerr << "apportion: " << apportion_error() << '\n';
    return found;
}

}  // extern "C"
