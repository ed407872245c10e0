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

#include "policies/starpu/apportion.hpp"
#include "test/catch.hpp"
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
    options.granularity = kUnits / 3;  // a block for each worker
    setenv("APPORTION_STALL_FACTOR", "2", 1);
    work.slowdown_of_0 = work.slowdown_of_others = 50;  // late only after the first alarm would have been
    const apportion::Load load(options);
    unsetenv("APPORTION_STALL_FACTOR");
    const auto run = [&] {
        work.forget_results();
        REQUIRE(apportion_load_submit(load.get()) == 0);
        REQUIRE(apportion_load_wait(load.get()) == 0);
        CHECK(work.wrong() == 0);
    };
    run();  // teaches how long blocks take
    work.stall_s = 10;
    do {  // until the worker gets a block
        work.stalls = Sabotage{.worker = 1};
        starpu_sleep(2);  // the thread of the run before has ended
        threads_refused = 1;
        run();
    } while (work.stalled == 0 && work.blocks[1] == 0);
    CHECK(threads_refused == 0);
    CHECK(work.stalled == 1);
    const auto report = nlohmann::json::parse(apportion_load_report(load.get()));
    CHECK(report.at("note").get<std::string>().find("no thread could be had for the watch") != std::string::npos);
    work.release();
}
