// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A load inside StarPU, under whichever scheduler STARPU_SCHED names: the laws hold under all of them.
#include <fenv.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "policies/starpu/apportion.hpp"
#include "policies/starpu/default_floating_point.hpp"
#include "test/catch.hpp"
#include "test/folder.hpp"
#include "test/starpu/axpy.hpp"

using namespace apportion::test;

namespace {

int fill_without_work(starpu_task* task, apportion_block* block, void* arg) {
    const int status = Axpy::fill(task, block, arg);
    task->where = STARPU_NOWHERE;
    return status;
}

}  // namespace

TEST_CASE("a block begins before the next one is filled") {
    static std::atomic<bool> begun;
    static bool in_time;
    static int fills;
    static starpu_codelet codelet = Axpy::codelet();
    codelet.cpu_funcs[0] = [](void** buffers, void* arg) {
        begun = true;
        Axpy::cpu(buffers, arg);
    };
    begun = false;
    in_time = true;
    fills = 0;
    Axpy axpy(5000);
    auto options = axpy.options();
    options.codelet = &codelet;
    options.fill = [](starpu_task* task, apportion_block* block, void* arg) {
        constexpr double kLongest_us = 20e6;
        const double from_us = starpu_timing_now();
        for (const bool second = ++fills == 2; second && in_time && !begun; starpu_sleep(0.001f))
            in_time = starpu_timing_now() - from_us < kLongest_us;
        return Axpy::fill(task, block, arg);
    };
    Load load = create(options);
    REQUIRE(run(load.get()) == 0);
    CHECK(in_time);
}

TEST_CASE("blocks without work end within their submission, however many follow, and somebody has them") {
    Axpy axpy(20000);
    apportion_load_options options = axpy.options();
    options.fill = fill_without_work;
    options.initial_block = 1;  // where that is the policy's block: too many for calls within calls
    const apportion::Setting trace("APPORTION_TRACE", "1");
    Load load = create(options);
    for (int k = 0; k < 2; ++k) REQUIRE(run(load.get()) == 0);
    const auto report = nlohmann::json::parse(apportion_load_report(load.get()));
    std::uint64_t units = 0;
    for (const auto& processor : report.at("processors")) units += processor.at("units").get<std::uint64_t>();
    CHECK(units == axpy.y.size());
    CHECK(axpy.y == Vector(axpy.y.size(), 0.0));
    for (const auto& block : report.at("trace")) REQUIRE(block.at("processor") >= 0);
}

TEST_CASE("every unit is computed exactly once, whatever the size and the granularity") {
    for (std::size_t units : {0, 1, 3, 7, 16, 99, 1000, 100000})
        for (std::uint64_t granularity : {1, 8}) {
            Axpy axpy(units);
            auto options = axpy.options();
            options.granularity = granularity;
            if (granularity > units && units > 0) continue;
            Load load = create(options);
            CAPTURE(units, granularity);
            REQUIRE(run(load.get()) == 0);
            REQUIRE(axpy.wrong() == 0);
        }
}

TEST_CASE("the report counts every unit and names the scheduler that ran") {
    Axpy axpy(5000);
    Load load = create(axpy.options());
    REQUIRE(run(load.get()) == 0);
    auto report = nlohmann::json::parse(apportion_load_report(load.get()));
    std::int64_t units = 0;
    for (auto& processor : report["processors"]) units += processor["units"].get<std::int64_t>();
    REQUIRE(units == 5000);
    REQUIRE(report["policy"] == std::string(apportion_load_policy(load.get())));
    REQUIRE(report["policy"] == std::string(std::getenv("STARPU_SCHED")));
    REQUIRE(report["makespan_seconds"].get<double>() > 0);
    REQUIRE(report["makespan_seconds"].get<double>() == apportion_load_seconds(load.get()));
}

TEST_CASE("a block made of several tasks is complete when all of them are") {
    for (unsigned parts : {2u, 3u}) {
        Axpy axpy(1234);
        axpy.parts = parts;
        Load load = create(axpy.options());
        REQUIRE(run(load.get()) == 0);
        REQUIRE(axpy.wrong() == 0);
    }
}

TEST_CASE("a block may have fewer units than tasks: a task without work is bound to no worker") {
    for (std::size_t units : {1, 2, 5}) {
        Axpy axpy(units);
        axpy.parts = 3;
        auto options = axpy.options();
        options.initial_block = 1;
        Load load = create(options);
        REQUIRE(run(load.get()) == 0);
        REQUIRE(axpy.wrong() == 0);
        const auto report = nlohmann::json::parse(apportion_load_report(load.get()));
        for (auto& processor : report["processors"]) CHECK(processor["compute_seconds"].get<double>() >= 0);
    }
}

TEST_CASE("a fill function has no say in who waits for its task, runs it again and frees it") {
    Axpy axpy(3000);
    auto options = axpy.options();
    options.fill = [](starpu_task* task, apportion_block* block, void* arg) {
        task->synchronous = task->regenerate = 1;
        task->detach = task->destroy = 0;
        task->callback_arg_free = task->prologue_callback_pop_arg_free = 1;
        task->workerorder = 1;
        return Axpy::fill(task, block, arg);
    };
    Load load = create(options);
    for (int k = 0; k < 2; ++k) REQUIRE(run(load.get()) == 0);
    REQUIRE(axpy.wrong(2) == 0);
}

#ifndef STARPU_SIMGRID
TEST_CASE("a load runs on workers where floating-point exceptions are signals") {
    Axpy axpy(3000);
    Load load = create(axpy.options());
    const auto on_each_worker = [](void (*what)(void*)) { starpu_execute_on_each_worker(what, nullptr, STARPU_CPU); };
    on_each_worker([](void*) { feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW); });
    for (int k = 0; k < 6; ++k) REQUIRE(run(load.get()) == 0);
    static std::atomic<int> signals;
    signals = 0;
    on_each_worker([](void*) { signals += fegetexcept() == (FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW); });
    CHECK(signals == static_cast<int>(starpu_cpu_worker_get_count()));  // the application's own are as they were
    on_each_worker([](void*) { fedisableexcept(FE_ALL_EXCEPT); });
    REQUIRE(axpy.wrong(6) == 0);
}

TEST_CASE("what is decided leaves no trace in the program's floating-point environment", "[once]") {
    const volatile double zero = 0;
    for (const int rounding : {FE_TONEAREST, FE_UPWARD}) {
        fesetround(rounding);
        feclearexcept(FE_ALL_EXCEPT);
        double infinity = 0;
        int within = -1;
        {
            const apportion::DefaultFloatingPoint here;
            within = fegetround();
            infinity = 1 / zero;
        }
        const int raised = fetestexcept(FE_ALL_EXCEPT), after = fegetround();
        fesetround(FE_TONEAREST);
        CHECK(infinity > 1);
        CHECK(within == FE_TONEAREST);
        CHECK(raised == 0);
        CHECK(after == rounding);
    }
}
#endif

TEST_CASE("a codelet to whose task fill gives no argument learns its units from the block") {
    static bool names_block;
    for (const bool names : {false, true}) {
        names_block = names;
        Vector y(3000, -1.0);
        starpu_codelet numbers = Axpy::codelet();
        numbers.nbuffers = 1;
        numbers.modes[0] = STARPU_W;
        numbers.cpu_funcs[0] = [](void* buffers[], void* arg) {
            const auto& block = *static_cast<const apportion_block*>(arg);
            auto* data = reinterpret_cast<double*>(STARPU_VECTOR_GET_PTR(buffers[0]));
            std::iota(data, data + block.units, static_cast<double>(block.first));
        };
        const auto fill = [](starpu_task* task, apportion_block* block, void* data) {
            task->handles[0] = apportion_block_vector(block, STARPU_W, static_cast<double*>(data) + block->first,
                                                      block->units, sizeof(double));
            if (names_block) task->cl_arg = block;
            return 0;
        };
        Load load = create(apportion::LoadOptions("numbers", y.size(), numbers, fill, y.data()));
        REQUIRE(run(load.get()) == 0);
        for (std::size_t i = 0; i < y.size(); ++i) REQUIRE(y[i] == static_cast<double>(i));
    }
}

TEST_CASE("a load can be submitted again and keeps its data right, kept on the device or not") {
    for (int modes : {0, APPORTION_KEEP}) {
        Axpy axpy(3000);
        axpy.modes = modes;
        Load load = create(axpy.options());
        for (int k = 0; k < 5; ++k) REQUIRE(run(load.get()) == 0);
        REQUIRE(apportion_load_release(load.get()) == 0);
        REQUIRE(axpy.wrong(5) == 0);
    }
}

TEST_CASE("submitting a load hundreds of times takes no memory that the first submissions did not") {
    constexpr int kWindows = 16, kSubmissions = 40;  // per window
    for (const int modes : {0, APPORTION_KEEP}) {
        Axpy axpy(500);
        axpy.modes = modes;
        auto options = axpy.options();
        options.initial_block = 100;
        Load load = create(options);
        // The least in use after any submission of a window: how many blocks a run has varies. A leak grows in every
        // window; StarPU's caches only in those that see blocks of a new size.
        constexpr double kBytesPerSubmission = 200;
        double before = 0;
        int windows = 0;
        bool grows = true;
        for (; grows && windows < kWindows; ++windows) {
            double least = std::numeric_limits<double>::infinity();
            for (int k = 0; k < kSubmissions; ++k) {
                if (run(load.get()) != 0) FAIL(apportion_error());
                least = std::min(least, static_cast<double>(mallinfo2().uordblks));
            }
            grows = windows == 0 || least - before >= kBytesPerSubmission * kSubmissions;
            before = least;
        }
        CHECK(!grows);
        REQUIRE(apportion_load_release(load.get()) == 0);
        CHECK(axpy.wrong(windows * kSubmissions) == 0);
    }
}

TEST_CASE("handles of a load that is submitted by workers alone do not pile up") {
    Axpy axpy(1000);
    double value = 0;
    starpu_data_handle_t over = nullptr;
    starpu_variable_data_register(&over, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(&value), sizeof value);
    const apportion_use use{over, STARPU_RW};
    auto options = axpy.options();
    options.uses = &use;
    options.uses_count = 1;
    Load load = create(options);
    constexpr int kOften = 50;
    constexpr std::size_t kLeak = 1000 * kOften;  // each handle has several kilobytes
    const auto run_often = [&] {
        for (int k = 0; k < kOften; ++k) {
            int submitted = -1;
            on_worker([&] { submitted = apportion_load_submit(load.get()); });
            REQUIRE(submitted == 0);
            starpu_data_acquire(over, STARPU_RW);
            starpu_data_release(over);
        }
        return mallinfo2().uordblks;
    };
    std::size_t before = run_often(), least_growth = before;
    for (int window = 0; window < 10 && least_growth >= kLeak; ++window) {
        const std::size_t after = run_often();
        least_growth = std::min(least_growth, after > before ? after - before : 0);
        before = after;
    }
    CHECK(least_growth < kLeak);
    CHECK(apportion_load_wait(load.get()) == 0);
    load.reset();
    starpu_data_unregister(over);
}

TEST_CASE("the report has the times and workers of blocks while StarPU's profiling is switched off") {
    static std::atomic<unsigned> computed_by[1000];  // a bit for each worker, at a block's first unit
    static bool switches_off;
    static starpu_codelet codelet = Axpy::codelet();
    codelet.cpu_funcs[0] = [](void** buffers, void* arg) {
        if (switches_off && starpu_profiling_status_get()) starpu_profiling_status_set(STARPU_PROFILING_DISABLE);
        starpu_sleep(0.002f);
        const auto first =
            static_cast<std::size_t>(*reinterpret_cast<const double*>(STARPU_VECTOR_GET_PTR(buffers[0])));
        computed_by[first] |= 1u << starpu_worker_get_id();
        Axpy::cpu(buffers, arg);
    };
    Axpy axpy(1000);
    auto options = axpy.options();
    options.codelet = &codelet;
    options.granularity = 50;
    const apportion::Setting trace("APPORTION_TRACE", "1");
    const Load load = create(options);
    const std::string policy = apportion_load_policy(load.get());
    const bool of_starpu = policy == "eager" || policy == "dmda" || policy == "dmdas" || policy == "lws";
    for (const bool off : {true, false}) {
        switches_off = off;
        for (auto& workers : computed_by) workers = 0;
        REQUIRE(run(load.get()) == 0);
        CHECK(starpu_profiling_status_get() == (off ? STARPU_PROFILING_DISABLE : STARPU_PROFILING_ENABLE));
        const auto report = nlohmann::json::parse(apportion_load_report(load.get()));
        for (const auto& block : report.at("trace")) {
            if (block.at("given_back").get<bool>()) continue;
            const auto& processor = report.at("processors").at(block.at("processor").get<std::size_t>());
            const unsigned bit = 1u << processor.at("worker").get<unsigned>();
            CHECK((computed_by[block.at("first").get<std::size_t>()] & bit) != 0);
            const double start_s = block.at("start"), end_s = block.at("end");
            CHECK(start_s >= 0);
            CHECK(end_s <= report.at("makespan_seconds").get<double>());
            if (of_starpu && off)
                CHECK(end_s >= start_s);  // whose schedulers do not tell when a task begins
            else
                CHECK(end_s - start_s >= 0.0019);
        }
    }
    CHECK(axpy.wrong(2) == 0);
}
