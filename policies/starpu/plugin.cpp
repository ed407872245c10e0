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
#include <iostream>
#include <string>
#include <vector>

#include "models/io/shown.hpp"
#include "policies/planners/continuous/equal_finish_ipopt.hpp"
#include "policies/policy.hpp"
#include "policies/starpu/apportion.h"
#include "policies/starpu/error.hpp"
#include "policies/starpu/learnt_process.hpp"
#include "policies/starpu/plain_tasks.hpp"

namespace apportion {

namespace {

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
    if (!running || !running->policy_name || !find_scheduler(running->policy_name) || running->init_sched == begins)
        return;
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
