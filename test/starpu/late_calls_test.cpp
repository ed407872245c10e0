// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A thread of the watch that comes back late from handing tasks to StarPU.
#include <dlfcn.h>

#include <atomic>
#include <thread>

#include "test/starpu/axpy.hpp"

using namespace apportion::test;

namespace {

std::atomic<bool> late = false;  ///< who is no worker and not this thread comes back late
std::atomic<int> inside = 0;     ///< those that have not come back
const std::thread::id kMain = std::this_thread::get_id();

void sleep_10_ms_per_unit(void**, void* block) {
    starpu_sleep(0.01F * static_cast<float>(static_cast<const apportion_block*>(block)->units));
}

}  // namespace

extern "C" int starpu_task_submit(starpu_task* task) {
    static const auto submit = reinterpret_cast<decltype(&starpu_task_submit)>(dlsym(RTLD_NEXT, "starpu_task_submit"));
    if (!late || starpu_worker_get_id() >= 0 || std::this_thread::get_id() == kMain) return submit(task);
    ++inside;
    const int status = submit(task);
    starpu_sleep(0.1F);
    --inside;
    return status;
}

TEST_CASE("when a load is destroyed no thread is in a call into StarPU for it, so that StarPU may end") {
    static starpu_codelet codelet = make_codelet(sleep_10_ms_per_unit, {}, "sleeps");
    apportion::LoadOptions options("axpy", 16, codelet, [](starpu_task*, apportion_block*, void*) { return 0; });
    Load load = create(options);
    late = true;
    REQUIRE(apportion_load_submit(load.get()) == 0);
    starpu_sleep(0.02F);  // the watch goes on with what this thread has left
    CHECK(apportion_load_wait(load.get()) == 0);
    load.reset();
    CHECK(inside == 0);
    late = false;
}
