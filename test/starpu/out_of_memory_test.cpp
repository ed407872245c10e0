// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Memory that runs out at any moment of a run: it ends with an error, or with the right result; nothing is lost, hangs
// or ends the program, and the next submission computes everything.
#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "policies/starpu/apportion.h"
#include "test/catch.hpp"

namespace {

constexpr long kNone = -1'000'000;
std::atomic<long> allocations_left = kNone;  ///< the ones behind them fail; kNone: none does
std::atomic<long> failing = 1;               ///< so many

/// IPOPT 3.14 itself dies where it has no memory for a category of its options: SetRegisteringCategory leaves a null
/// pointer behind, which the destructor of RegisteredOptions follows.
bool for_a_category_of_ipopt() {
    void* callers[32];
    return std::any_of(callers, callers + backtrace(callers, 32), [](void* caller) {
        Dl_info function;
        return dladdr(caller, &function) != 0 && function.dli_sname &&
               std::string_view(function.dli_sname).find("SetRegisteringCategory") != std::string_view::npos;
    });
}

bool fails() {
    if (allocations_left <= kNone) return false;
    const long left = allocations_left.fetch_sub(1);
    return left <= 0 && left > -failing && !for_a_category_of_ipopt();
}

}  // namespace

void* operator new(std::size_t bytes) {
    void* const memory = fails() ? nullptr : std::malloc(bytes);
    if (!memory) throw std::bad_alloc();
    return memory;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return fails() ? nullptr : std::malloc(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

struct Work {
    std::vector<int> y = std::vector<int>(200);
    starpu_codelet codelet;
    starpu_data_handle_t used = nullptr;
    int in_use = 0;
    apportion_use use{};
    int keep = 0;  ///< APPORTION_KEEP, or not

    Work() {
        starpu_codelet_init(&codelet);
        codelet.cpu_funcs[0] = [](void* buffers[], void*) {
            auto* y = reinterpret_cast<int*>(STARPU_VECTOR_GET_PTR(buffers[0]));
            for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); ++i) ++y[i];
        };
        codelet.nbuffers = 1;
        codelet.modes[0] = STARPU_RW;
        starpu_vector_data_register(&used, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(&in_use), 1, sizeof in_use);
        use = {used, STARPU_RW};
    }
    ~Work() { starpu_data_unregister(used); }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

    static int fill(starpu_task* task, apportion_block* block, void* arg) {
        auto& self = *static_cast<Work*>(arg);
        task->handles[0] =
            apportion_block_vector(block, STARPU_RW | self.keep, &self.y[block->first], block->units, sizeof(int));
        return 0;
    }
    apportion_load_options make_options() {
        apportion_load_options options;
        apportion_load_options_init(&options);
        options.name = "a load whose name is longer than what a string keeps without memory of its own";
        options.units = y.size();
        options.initial_block = 40;
        options.codelet = &codelet;
        options.fill = fill;
        options.arg = this;
        options.uses = &use;
        options.uses_count = 1;
        return options;
    }
    /// After so many allocations memory runs out for a while. 0: it ran without an error.
    int run_short_of_memory(apportion_load* load, long allocations) {
        allocations_left = allocations;
        const int submitted = apportion_load_submit(load);
        starpu_data_acquire(used, STARPU_RW);  // it is over
        starpu_data_release(used);
        ran_short = allocations_left.exchange(kNone) < 0;
        const int waited = apportion_load_wait(load);
        return submitted != 0 ? submitted : waited;
    }
    bool ran_short = true;
    bool all(int value) const {
        return std::ranges::all_of(y, [=](int v) { return v == value; });
    }
};

}  // namespace

TEST_CASE("a run in which memory runs out ends with an error or the right result, and the next one is complete") {
    Work work;
    const apportion_load_options options = work.make_options();
    int failed = 0;
    failing = GENERATE(1, 2, 3, 8);
    for (long allocations = 0; work.ran_short; allocations += 1 + allocations / 200) {
        INFO("after " << allocations << " allocations " << failing << " fail");
        apportion_load* const load = apportion_load_create(&options);
        REQUIRE(load);
        std::ranges::fill(work.y, 0);
        if (work.run_short_of_memory(load, allocations) != 0)
            ++failed;
        else
            CHECK(work.all(1));
        std::ranges::fill(work.y, 0);
        CHECK(apportion_load_submit(load) == 0);
        CHECK(apportion_load_wait(load) == 0);
        CHECK(work.all(1));
        apportion_load_destroy(load);
    }
    CHECK(failed > 20);
}

TEST_CASE("so does a run that finds data of the run before, which go home where the blocks are others") {
    Work work;
    work.keep = APPORTION_KEEP;
    const apportion_load_options options = work.make_options();
    failing = 1;
    for (long allocations = 0; work.ran_short; allocations += 1 + allocations / 200) {
        INFO("after " << allocations << " allocations one fails");
        apportion_load* const load = apportion_load_create(&options);
        REQUIRE(load);
        std::ranges::fill(work.y, 0);
        setenv("APPORTION_BLOCKS", "5", 1);  // as StarPU's schedulers get them
        CHECK(apportion_load_submit(load) == 0);
        CHECK(apportion_load_wait(load) == 0);
        CHECK(work.all(1));
        setenv("APPORTION_BLOCKS", "7", 1);
        if (work.run_short_of_memory(load, allocations) == 0) CHECK(work.all(2));
        std::ranges::fill(work.y, 0);
        CHECK(apportion_load_submit(load) == 0);
        CHECK(apportion_load_wait(load) == 0);
        CHECK(work.all(1));
        apportion_load_destroy(load);
    }
    unsetenv("APPORTION_BLOCKS");
}

TEST_CASE("a run without memory for its report ends with an error, and with the report once there is some") {
    Work work;
    const apportion_load_options options = work.make_options();
    failing = 1'000'000'000;
    int failed = 0;
    for (long allocations = 0, waited = -1; waited != 0; allocations += 1 + allocations / 50) {
        INFO("after " << allocations << " allocations all fail");
        apportion_load* const load = apportion_load_create(&options);
        REQUIRE(load);
        std::ranges::fill(work.y, 0);
        REQUIRE(apportion_load_submit(load) == 0);
        starpu_data_acquire(work.used, STARPU_RW);  // it is over
        starpu_data_release(work.used);
        allocations_left = allocations;
        waited = apportion_load_wait(load);
        allocations_left = kNone;
        if (waited != 0) {
            ++failed;
            CHECK(waited == -ENOMEM);
            CHECK(std::string(apportion_error()) == "out of memory");
        }
        CHECK(apportion_load_wait(load) == 0);
        CHECK(std::string(apportion_load_report(load)).find("makespan_seconds") != std::string::npos);
        CHECK(work.all(1));
        apportion_load_destroy(load);
    }
    CHECK(failed > 20);
}

TEST_CASE("a load is destroyed also where memory runs out meanwhile") {
    Work work;
    const apportion_load_options options = work.make_options();
    failing = 3;
    for (long allocations = 0; allocations < 500; allocations = 2 * allocations + 1) {
        apportion_load* const load = apportion_load_create(&options);
        REQUIRE(load);
        std::ranges::fill(work.y, 0);
        REQUIRE(apportion_load_submit(load) == 0);
        starpu_data_acquire(work.used, STARPU_RW);
        starpu_data_release(work.used);
        allocations_left = allocations;
        apportion_load_destroy(load);
        allocations_left = kNone;
        CHECK(work.all(1));
    }
}

TEST_CASE("while a run needs memory that there is not, nobody waits for it who could free some") {
    Work work;
    apportion_load_options options = work.make_options();
    options.uses_count = 0;
    failing = 1'000'000'000;
    int failed = 0;
    for (long allocations = 1; allocations < 200; allocations += 1 + allocations / 10) {
        apportion_load* const load = apportion_load_create(&options);
        REQUIRE(load);
        std::atomic<bool> begun = false;
        std::thread frees([&] {
            while (!begun) std::this_thread::yield();
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            apportion_load_seconds(load);  // asks the run
            allocations_left = kNone;
        });
        allocations_left = allocations;
        begun = true;
        const int submitted = apportion_load_submit(load);
        frees.join();
        if (apportion_load_wait(load) != 0 || submitted != 0) ++failed;
        apportion_load_destroy(load);
    }
    CHECK(failed > 0);
}
