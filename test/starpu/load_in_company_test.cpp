// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A load beside other tasks and other loads: in a task graph, at the same time, in scheduling contexts.
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "policies/starpu/apportion.h"
#include "policies/starpu/own_schedulers.hpp"
#include "test/catch.hpp"
#include "test/starpu/axpy.hpp"
#include "test/starpu/codelet.hpp"

using namespace apportion::test;

namespace {
void set_all(void* buffers[], void* arg) {
    auto* v = reinterpret_cast<double*>(STARPU_VECTOR_GET_PTR(buffers[0]));
    starpu_sleep(0.02f);
    for (std::size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); ++i) v[i] = *static_cast<double*>(arg);
}
void sum_all(void* buffers[], void*) {
    auto* v = reinterpret_cast<const double*>(STARPU_VECTOR_GET_PTR(buffers[0]));
    auto* sum = reinterpret_cast<double*>(STARPU_VARIABLE_GET_PTR(buffers[1]));
    *sum = 0;
    for (std::size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); ++i) *sum += v[i];
}
}  // namespace

TEST_CASE("a load takes its place in a task graph: after its producers, before its consumers") {
    static starpu_codelet produce = make_codelet(set_all, {STARPU_W}, "produce");
    static starpu_codelet consume = make_codelet(sum_all, {STARPU_R, STARPU_W}, "consume");
    constexpr std::size_t n = 2000;
    Axpy axpy(n);
    double sum = -1, zero = 0;
    starpu_data_handle_t y, total;
    starpu_vector_data_register(&y, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(axpy.y.data()), n, sizeof(double));
    starpu_variable_data_register(&total, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(&sum), sizeof sum);
    apportion_use use{y, STARPU_RW};
    auto options = axpy.options();
    options.uses = &use;
    options.uses_count = 1;
    axpy.y.assign(n, 777.0);
    Load load = create(options);
    const double begin_us = starpu_timing_now();
    REQUIRE(starpu_task_insert(&produce, STARPU_W, y, STARPU_VALUE, &zero, sizeof zero, 0) == 0);
    REQUIRE(apportion_load_submit(load.get()) == 0);
    REQUIRE(starpu_task_insert(&consume, STARPU_R, y, STARPU_W, total, 0) == 0);
    starpu_task_wait_for_all();
    REQUIRE(apportion_load_wait(load.get()) == 0);
    CHECK(apportion_load_seconds(load.get()) < (starpu_timing_now() - begin_us) * 1e-6 - 0.02);  // without its producer
    starpu_data_unregister(y);
    starpu_data_unregister(total);
    double expected = 0;
    for (std::size_t i = 0; i < n; ++i) expected += axpy.a * axpy.x[i] + 1;
    REQUIRE(sum == expected);
}

TEST_CASE("a load can be submitted again by anyone who has the handles that it uses, on a worker and off it") {
    static starpu_codelet nothing = make_codelet([](void**, void*) {}, {STARPU_RW}, "nothing");
    constexpr int kTimes = 20;
    struct Again {
        Axpy axpy{500};
        double value = 0;
        starpu_data_handle_t used = nullptr;
        Load load = nullptr;
        int refused = 0;
        std::atomic<int> to_do = kTimes, done = 0;
        void submit() { refused += apportion_load_submit(load.get()) != 0; }
        static void acquired(void* arg) {
            auto& self = *static_cast<Again*>(arg);
            self.submit();
            const bool again = --self.to_do > 0;
            starpu_data_release(self.used);
            if (again) starpu_data_acquire_cb(self.used, STARPU_RW, acquired, arg);
            ++self.done;
        }
    } again;
    starpu_variable_data_register(&again.used, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(&again.value), 8);
    apportion_use use{again.used, STARPU_RW};
    auto options = again.axpy.options();
    options.uses = &use;
    options.uses_count = 1;
    again.load = create(options);
    for (int k = 0; k < kTimes; ++k) {
        again.submit();
        starpu_data_acquire(again.used, STARPU_RW);
        starpu_data_release(again.used);
    }
    CHECK(again.refused == 0);
    starpu_data_acquire_cb(again.used, STARPU_RW, Again::acquired, &again);
    while (again.done < kTimes) starpu_sleep(0.001f);
    CHECK(again.refused == 0);
    for (int k = 0; k < kTimes; ++k) {
        starpu_task* const task = starpu_task_create();
        task->cl = &nothing;
        task->handles[0] = again.used;
        task->synchronous = 1;
        task->callback_func = [](void* arg) { static_cast<Again*>(arg)->submit(); };
        task->callback_arg = &again;
        REQUIRE(starpu_task_submit(task) == 0);
    }
    CHECK(again.refused == 0);
    REQUIRE(apportion_load_wait(again.load.get()) == 0);
    CHECK(again.axpy.wrong(3 * kTimes) == 0);
    starpu_data_unregister(again.used);
}

TEST_CASE("two loads run at the same time") {
    Axpy one(20000), two(30000);
    Load first = create(one.options());
    Load second = create(two.options());
    REQUIRE(apportion_load_submit(first.get()) == 0);
    REQUIRE(apportion_load_submit(second.get()) == 0);
    REQUIRE(apportion_load_wait(second.get()) == 0);
    REQUIRE(apportion_load_wait(first.get()) == 0);
    REQUIRE(one.wrong() == 0);
    REQUIRE(two.wrong() == 0);
}

TEST_CASE("two loads run at the same time, and each asks about the other one while it fills a block", "[once]") {
    struct Asking : Axpy {
        using Axpy::Axpy;
        apportion_load* other = nullptr;
        std::atomic<int>* filling = nullptr;
        static int fill(starpu_task* task, apportion_block* block, void* arg) {
            auto& self = *static_cast<Asking*>(arg);
            ++*self.filling;
            // At once, where the other one fills a block meanwhile.
            for (int k = 0; k < 100 && *self.filling < 2; ++k) starpu_sleep(0.001f);
            apportion_load_seconds(self.other);
            apportion_load_report(self.other);
            const int filled = Axpy::fill(task, block, static_cast<Axpy*>(&self));
            --*self.filling;
            return filled;
        }
        apportion_load_options options() {
            auto options = Axpy::options();
            options.fill = fill;
            options.arg = this;
            options.initial_block = x.size() / 4;
            return options;
        }
    };
    std::atomic<int> filling = 0;
    Asking one(2000), two(3000);
    one.filling = two.filling = &filling;
    Load first = create(one.options()), second = create(two.options());
    one.other = second.get();
    two.other = first.get();
    std::thread other([&] { apportion_load_submit(second.get()); });
    CHECK(apportion_load_submit(first.get()) == 0);
    other.join();
    CHECK(apportion_load_wait(first.get()) == 0);
    CHECK(apportion_load_wait(second.get()) == 0);
    CHECK(one.wrong() == 0);
    CHECK(two.wrong() == 0);
}

TEST_CASE("a load can be asked which policy it has while it fills a block, and others ask about it", "[once]") {
    struct Named : Axpy {
        using Axpy::Axpy;
        apportion_load* own = nullptr;
        std::atomic<bool> filling = false, asked = false;
        static int fill(starpu_task* task, apportion_block* block, void* arg) {
            auto& self = *static_cast<Named*>(arg);
            self.filling = true;
            for (int k = 0; k < 100 && !self.asked; ++k) starpu_sleep(0.001f);
            task->name = apportion_load_policy(self.own);
            return Axpy::fill(task, block, static_cast<Axpy*>(&self));
        }
    } work(1000);
    auto options = work.options();
    options.fill = Named::fill;
    options.arg = &work;
    Load load = create(options);
    work.own = load.get();
    std::thread asks([&] {
        while (!work.filling) starpu_sleep(0.001f);
        apportion_load_seconds(load.get());
        work.asked = true;
    });
    CHECK(apportion_load_submit(load.get()) == 0);
    asks.join();
    CHECK(apportion_load_wait(load.get()) == 0);
    CHECK(work.asked);
    CHECK(work.wrong() == 0);
}

TEST_CASE("who is called back as a load gives its handle back can wait for the load", "[once]") {
    struct CalledBack {
        Axpy axpy{1000};
        Gate gate;
        Load load = nullptr;
        std::atomic<int> waited = 1;
        static void got(void* arg) {
            auto& self = *static_cast<CalledBack*>(arg);
            self.waited = apportion_load_wait(self.load.get());
            starpu_data_release(self.gate.use.handle);
        }
    } it;
    auto options = it.axpy.options();
    options.uses = &it.gate.use;
    options.uses_count = 1;
    options.open = 1;
    it.load = create(options);
    REQUIRE(apportion_load_submit(it.load.get()) == 0);
    starpu_data_acquire_cb(it.gate.use.handle, STARPU_R, CalledBack::got, &it);
    CHECK(apportion_load_close(it.load.get()) == 0);  // which ends the load, on this thread
    CHECK(apportion_load_wait(it.load.get()) == 0);
    while (it.waited > 0) starpu_sleep(0.001f);
    CHECK(it.waited == 0);
}

TEST_CASE("who is called back as a load gives its handles back can wait for a load that waits for one of them",
          "[once]") {
    struct CalledBack {
        Axpy first{1000}, second{1000};
        Gate one, other;
        Load waits = nullptr;
        std::atomic<int> waited = 1;
        static void got(void* arg) {
            auto& self = *static_cast<CalledBack*>(arg);
            self.waited = apportion_load_wait(self.waits.get());
            starpu_data_release(self.other.use.handle);
        }
    } it;
    auto first = it.first.options(), second = it.second.options();
    const apportion_use both[] = {it.one.use, it.other.use};
    first.uses = both;
    first.uses_count = 2;
    first.open = 1;
    second.uses = both;
    second.uses_count = 1;
    Load ends = create(first);
    Load between = create(second);
    it.waits = create(second);
    for (apportion_load* load : {ends.get(), between.get(), it.waits.get()}) REQUIRE(apportion_load_submit(load) == 0);
    starpu_data_acquire_cb(it.other.use.handle, STARPU_R, CalledBack::got, &it);
    CHECK(apportion_load_close(ends.get()) == 0);  // which ends that load, on this thread
    while (it.waited > 0) starpu_sleep(0.001f);
    CHECK(it.waited == 0);
    for (apportion_load* load : {ends.get(), between.get(), it.waits.get()}) CHECK(apportion_load_wait(load) == 0);
}

TEST_CASE("loads run at the same time in two scheduling contexts") {
    int workers[STARPU_NMAXWORKERS];
    const unsigned count = starpu_worker_get_ids_by_type(STARPU_CPU_WORKER, workers, STARPU_NMAXWORKERS);
    if (count < 2) return;  // one context needs one worker
    const char* scheduler = std::getenv("STARPU_SCHED");
    starpu_sched_policy* policy = starpu_sched_get_sched_policy_in_ctx(0);
    REQUIRE(policy->policy_name == std::string(scheduler));
    unsigned context[2];
    for (int k = 0; k < 2; ++k)
        context[k] =
            starpu_sched_ctx_create(&workers[k], 1, k ? "two" : "one", STARPU_SCHED_CTX_POLICY_STRUCT, policy, 0);
    Axpy one(9000), two(8000);
    auto options_one = one.options(), options_two = two.options();
    options_one.sched_ctx = static_cast<int>(context[0]);
    options_two.sched_ctx = static_cast<int>(context[1]);
    Load first = create(options_one), second = create(options_two);
    REQUIRE(apportion_load_submit(first.get()) == 0);
    REQUIRE(apportion_load_submit(second.get()) == 0);
    REQUIRE(apportion_load_wait(first.get()) == 0);
    REQUIRE(apportion_load_wait(second.get()) == 0);
    auto report = nlohmann::json::parse(apportion_load_report(second.get()));
    REQUIRE(report["processors"].size() == 1);
    REQUIRE(report["policy"] == std::string(scheduler));
    REQUIRE(one.wrong() == 0);
    REQUIRE(two.wrong() == 0);
    for (unsigned c : context) {
        starpu_task_wait_for_all_in_ctx(c);
        starpu_sched_ctx_delete(c);
    }
    CHECK(apportion_load_submit(first.get()) == -ENODEV);
    CHECK(std::string(apportion_error()).find("was it deleted?") != std::string::npos);
}

TEST_CASE("a scheduling context finds a policy by its name, whatever schedules in the first one") {
    int worker = 0;
    const unsigned context = starpu_sched_ctx_create(&worker, 1, "by name", STARPU_SCHED_CTX_POLICY_NAME, "gss", 0);
    Axpy axpy(1000);
    auto options = axpy.options();
    options.sched_ctx = static_cast<int>(context);
    {
        const Load load = create(options);
        CHECK(apportion_load_policy(load.get()) == std::string("gss"));
        CHECK(run(load.get()) == 0);
        CHECK(axpy.wrong() == 0);
    }
    starpu_task_wait_for_all_in_ctx(context);
    starpu_sched_ctx_delete(context);
}

namespace {
std::atomic<int> executed_by[STARPU_NMAXWORKERS];
std::atomic<int> at_gate;
std::atomic<bool> gate_open;

void count_worker(void**, void*) { ++executed_by[starpu_worker_get_id()]; }
void wait_at_gate(void**, void*) {
    ++at_gate;
    while (!gate_open) starpu_sleep(0.001f);
}
// Slow on all workers but the first, so that it computes most blocks.
void favour_first_worker(void* buffers[], void* arg) {
    if (starpu_worker_get_id() != 0) starpu_sleep(0.02f);
    Axpy::cpu(buffers, arg);
}

void submit(starpu_codelet& codelet, int worker = -1) {
    starpu_task* task = starpu_task_create();
    task->cl = &codelet;
    if (worker >= 0) {
        task->execute_on_a_specific_worker = 1;
        task->workerid = static_cast<unsigned>(worker);
    }
    REQUIRE(starpu_task_submit(task) == 0);
}
}  // namespace

TEST_CASE("ordinary tasks without a performance model go to all workers alike, however unequal a load's blocks were") {
    Axpy axpy(20000);
    starpu_codelet uneven = Axpy::codelet();
    uneven.cpu_funcs[0] = favour_first_worker;
    auto options = axpy.options();
    options.codelet = &uneven;
    options.initial_block = 100;
    Load load = create(options);
    REQUIRE(run(load.get()) == 0);
    REQUIRE(axpy.wrong() == 0);
    if (apportion::find_starpu_scheduler(apportion_load_policy(load.get()))) return;  // they share out as they like

    static starpu_codelet gate = make_codelet(wait_at_gate, {}, "gate");
    static starpu_codelet counting = make_codelet(count_worker, {}, "count");
    const int workers = static_cast<int>(starpu_worker_get_count());
    constexpr int kTasksPerWorker = 50;
    at_gate = 0;
    gate_open = false;
    for (int worker = 0; worker < workers; ++worker) submit(gate, worker);
    while (at_gate < workers) starpu_sleep(0.001f);
    for (int k = 0; k < kTasksPerWorker * workers; ++k) submit(counting);
    gate_open = true;
    starpu_task_wait_for_all();
    for (int worker = 0; worker < workers; ++worker) CHECK(executed_by[worker] == kTasksPerWorker);
}
