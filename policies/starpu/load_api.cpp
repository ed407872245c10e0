// SPDX-License-Identifier: LGPL-2.1-or-later
//
// apportion.h's functions: no exception leaves them, and they refuse callers that would wait for themselves.
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "policies/starpu/error.hpp"
#include "policies/starpu/load.hpp"
#include "policies/starpu/load_options.hpp"

using namespace apportion;

namespace {

/// A load that was not created is an error of the caller, and no crash.
apportion_load& existing(apportion_load* load, const char* function) {
    if (!load) throw ApiError(EINVAL, "{}: the load is NULL; was it created?", function);
    return *load;
}

}  // namespace

void apportion_load::refuse_while_filling(const char* function) const {
    if (Run::filling(setup_))
        throw ApiError(EDEADLK, "{}: called from the fill function of load '{}' itself", function, setup_.name);
}

void apportion_load::refuse_waiting_worker(const char* function) const {
    refuse_while_filling(function);
    const Lock lock(mutex_);
    if (starpu_worker_get_id() >= 0 && !finished_ && run_->on())
        throw ApiError(EDEADLK,
                       "{}: called on a StarPU worker while load '{}' runs, which may need that worker; call "
                       "it in a thread of the program's own",
                       function, setup_.name);
}

void apportion_load::refuse_worker(const char* function) const {
    refuse_while_filling(function);
    if (starpu_worker_get_id() >= 0 && has_data())
        throw ApiError(
            EDEADLK,
            "{}: called on a StarPU worker, where StarPU unregisters no data; call it in a thread of the program's own",
            function);
}

extern "C" {

int apportion_load_options_init_size(apportion_load_options* options, std::size_t size) {
    return guarded([&] {
        if (!options) throw ApiError(EINVAL, "apportion_load_options_init: options is NULL");
        if (const std::string why = why_no_size(size); !why.empty())
            throw ApiError(EINVAL, "apportion_load_options_init: " + why);
        std::memset(options, 0, size);
        options->size = size;
        if (size > offsetof(apportion_load_options, sched_ctx)) options->sched_ctx = -1;
    });
}

apportion_load* apportion_load_create(const apportion_load_options* options) {
    apportion_load* load = nullptr;
    if (const int error = guarded([&] { load = new apportion_load(options); })) errno = -error;
    return load;
}

int apportion_load_submit(apportion_load* load) {
    return guarded([&] { existing(load, "apportion_load_submit").submit(); });
}

int apportion_load_add(apportion_load* load, uint64_t first, uint64_t units) {
    return guarded([&] { existing(load, "apportion_load_add").add(first, units); });
}

int apportion_load_withdraw(apportion_load* load, uint64_t first, uint64_t units, uint64_t* withdrawn) {
    return guarded([&] {
        if (!withdrawn) throw ApiError(EINVAL, "apportion_load_withdraw: withdrawn is NULL");
        *withdrawn = existing(load, "apportion_load_withdraw").withdraw(first, units);
    });
}

int apportion_load_close(apportion_load* load) {
    return guarded([&] { existing(load, "apportion_load_close").close(); });
}

int apportion_load_wait(apportion_load* load) {
    int status = 0;
    const int failed = guarded([&] {
        existing(load, "apportion_load_wait").refuse_waiting_worker("apportion_load_wait");
        status = load->wait();
    });
    return failed ? failed : status;
}

int apportion_load_release(apportion_load* load) {
    return guarded([&] {
        existing(load, "apportion_load_release").refuse_worker("apportion_load_release");
        load->release_kept();
    });
}

void apportion_load_destroy(apportion_load* load) {
    guarded([&] {
        if (load) load->refuse_worker("apportion_load_destroy");
        delete load;
    });
}

const char* apportion_load_report(apportion_load* load) {
    const char* json = "{}";
    guarded([&] { json = existing(load, "apportion_load_report").report(); });
    return json;
}

int apportion_block_failed(const char* why) {
    return guarded([&] { Run::current_block_failed(why); });
}

double apportion_load_seconds(apportion_load* load) {
    double seconds = 0;
    guarded([&] { seconds = existing(load, "apportion_load_seconds").seconds(); });
    return seconds;
}

const char* apportion_load_policy(apportion_load* load) {
    const char* name = "none";
    guarded([&] { name = existing(load, "apportion_load_policy").policy_name(); });
    return name;
}

}  // extern "C"
