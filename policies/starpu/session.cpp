// SPDX-License-Identifier: LGPL-2.1-or-later
//
// apportion_init: StarPU with the scheduler that was asked for, or an error. StarPU itself only warns when a plug-in
// does not load or a name is unknown, and goes on under another scheduler.
#include <dlfcn.h>
#include <fmt/format.h>
#include <starpu.h>
#include <starpu_scheduler.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <mutex>
#include <string>
#include <string_view>

#include "models/io/shown.hpp"
#include "models/io/text.hpp"
#include "policies/config.hpp"
#include "policies/starpu/apportion.h"
#include "policies/starpu/error.hpp"
#include "policies/starpu/own_schedulers.hpp"
#include "policies/starpu/plugin.hpp"
#include "policies/starpu/starpu_environment.hpp"

namespace apportion {

namespace {

std::mutex sessions_mutex;  // held while StarPU starts and ends
int sessions = 0;  // calls of apportion_init since one of them started StarPU, less those of apportion_shutdown

#ifdef STARPU_SIMGRID
/// SimGrid tells on standard error of each setting that StarPU's machine files make. It takes this before main(), where
/// StarPU starts it.
[[maybe_unused]] const bool settings_are_silent = [] {
    using Control = void (*)(const char*);
    if (auto control = reinterpret_cast<Control>(dlsym(RTLD_DEFAULT, "xbt_log_control_set")))
        control("xbt_cfg.thres:warning");
    return true;
}();
#endif

std::string all_scheduler_names() {
    std::string names;
    for (const PolicyEntry& entry : registered_policies()) names += std::string(names.empty() ? "" : ", ") + entry.name;
    names += "; StarPU's own: ";
    for (const starpu_sched_policy* own : starpu_schedulers())
        if (const std::string_view name = own->policy_name; !name.starts_with("modular-"))
            names += fmt::format("{}, ", name);
    return names + "modular-...";
}

// Whether the library that STARPU_SCHED_LIB names has that scheduler; a library that does not load is an error.
bool library_knows(const std::string& library, const std::string& name) {
    void* handle = dlopen(library.c_str(), RTLD_NOW);
    if (!handle)
        throw ApiError(ENOENT, "STARPU_SCHED_LIB={} does not load: {}; name the path of a scheduling library", library,
                       dlerror());
    using Look = starpu_sched_policy* (*)(const char*);
    auto look = reinterpret_cast<Look>(dlsym(handle, "starpu_get_sched_lib_policy"));
    const bool known = look && look(name.c_str());
    dlclose(handle);
    return known;
}

void list_schedulers() {
    std::cerr << "STARPU_SCHED can be one of\n";
    for (const PolicyEntry& entry : registered_policies())
        std::cerr << fmt::format("  {:<28} {}\n", entry.name, entry.description);
    for (const starpu_sched_policy* own : starpu_schedulers())
        std::cerr << fmt::format("  {:<28} {}\n", own->policy_name, own->policy_description);
}

void check_environment_variables() {
    if (auto problem = check_environment()) throw ApiError(EINVAL, *problem);
#ifndef STARPU_SIMGRID
    if (const std::string platform = platform_file_option(); !platform.empty())
        throw ApiError(EINVAL,
                       "APPORTION_PLATFORM={} is a simulated machine, but this program would run for real; take the "
                       "program of the simulated flavour, or unset it",
                       platform);
#endif
}

void start(starpu_conf* conf) {
    starpu_conf own;
    if (!conf) {
        if (starpu_conf_init(&own) != 0) throw ApiError(EIO, "starpu_conf_init failed");
        conf = &own;
    }
    const std::string by_user = environment("STARPU_SCHED");
    if (by_user.empty()) unsetenv("STARPU_SCHED");  // StarPU would take its default, whatever the program names
    const std::string name = by_user.empty() && conf->sched_policy_name ? conf->sched_policy_name : by_user;
    const std::string library = environment("STARPU_SCHED_LIB");
    if (name == "help") {
        list_schedulers();
        throw ApiError(ECANCELED, "STARPU_SCHED=help lists the schedulers and runs nothing");
    }
    const bool in_library = !library.empty() && library_knows(library, name);
    const bool own_policy = !name.empty() && !in_library && !find_starpu_scheduler(name);
    if (own_policy && !find_scheduler(name))
        throw ApiError(EINVAL, "{} is not a known scheduler; choose one of {}",
                       by_user.empty() ? fmt::format("the program's sched_policy_name {}", in_quotes(name))
                                       : "STARPU_SCHED=" + name,
                       all_scheduler_names());
#ifdef APPORTION_STATIC
    if (own_policy) conf->sched_policy = find_scheduler(name);
#else
    // StarPU looks policies up by name, also for contexts created later, whatever runs in the first one: let it find
    // them here.
    if (own_policy || library.empty()) setenv("STARPU_SCHED_LIB", own_path().c_str(), 1);
#endif
    const int status = starpu_init(conf);
    if (status == -ENODEV)
        throw ApiError(ENODEV,
                       "StarPU finds no worker to run on; look at STARPU_NCPU, STARPU_NCUDA, STARPU_NOPENCL, and "
                       "STARPU_MAIN_THREAD_BIND, which keeps a core for the program itself");
    if (status != 0) throw ApiError(-status, "starpu_init failed: {}", std::strerror(-status));
}

/// The one that the environment names, or the program where that names none.
void check_running_scheduler(const starpu_conf* conf) {
    const starpu_sched_policy* running = starpu_sched_get_sched_policy_in_ctx(0);
    const std::string name = running && running->policy_name ? running->policy_name : "none";
    const std::string by_user = environment("STARPU_SCHED");
    const bool by_program = by_user.empty() && conf && conf->sched_policy_name;
    const std::string wanted = by_program ? conf->sched_policy_name : by_user;
    check_scheduler_is_own(0);
    if (wanted == name || wanted.empty()) return;
    const std::string asked = (by_program ? "the program's sched_policy_name " : "STARPU_SCHED=") + shown(wanted);
    if (!find_scheduler(wanted) && !find_starpu_scheduler(wanted))
        throw ApiError(EINVAL, "{} is not a known scheduler, and StarPU runs {}; choose one of {}", asked, shown(name),
                       all_scheduler_names());
    throw ApiError(EINVAL, "{} was asked for, but StarPU runs {}; call apportion_init instead of starpu_init", asked,
                   shown(name));
}

}  // namespace
}  // namespace apportion

extern "C" {

int apportion_init(starpu_conf* conf) {
    return apportion::guarded([&] {
        const std::lock_guard lock(apportion::sessions_mutex);
        apportion::check_environment_variables();
        const bool runs = starpu_is_initialized();
        if (!runs) {
            apportion::check_starpu_environment();
            apportion::start(conf);
        }
        try {
            apportion::check_running_scheduler(conf);
        } catch (...) {
            if (!runs) starpu_shutdown();
            throw;
        }
        apportion::sessions = !runs ? 1 : apportion::sessions > 0 ? apportion::sessions + 1 : 0;
    });
}

void apportion_shutdown(void) {
    const std::lock_guard lock(apportion::sessions_mutex);
    if (apportion::sessions > 0 && --apportion::sessions == 0 && starpu_is_initialized())
        starpu_shutdown();  // the program may have done so
}

}  // extern "C"
