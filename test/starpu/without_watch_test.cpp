// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A run that gets no thread for its watch. [silent]: no matter of the policy.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "test/starpu/sabotaged_work.hpp"

using namespace apportion::test;

namespace {
std::atomic<int> threads_refused = 0;  ///< so many more
}

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                              void* arg) noexcept {
    static const auto create = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    if (threads_refused > 0 && threads_refused-- > 0) return EAGAIN;
    return create(thread, attributes, body, arg);
}

TEST_CASE("a run whose watch gets no thread at first sees late blocks later", "[silent]") {
    Work work;
    auto options = work.options();
    options.results_stay = 1;
    options.granularity = kUnits / 3;                   // a block for each worker
    work.slowdown_of_0 = work.slowdown_of_others = 50;  // late only after the first alarm would have been
    const apportion::Load load = create_impatient(options);
    run_right(work, load);  // teaches how long blocks take
    work.stall_s = 10;
    do {  // until the worker gets a block
        work.stalls = Sabotage{.worker = 1};
        starpu_sleep(2);  // the thread of the run before has ended
        threads_refused = 1;
        run_right(work, load);
    } while (work.stalled == 0 && work.blocks[1] == 0);
    CHECK(threads_refused == 0);
    CHECK(work.stalled == 1);
    CHECK_THAT(report_of(load).at("note").get<std::string>(),
               ContainsSubstring("no thread could be had for the watch"));
    work.release();
}
