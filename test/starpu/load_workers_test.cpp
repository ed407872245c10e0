// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Workers that the codelet's can_execute refuses, when the load is made or later.
#include <atomic>
#include <cerrno>
#include <string>

#include "policies/starpu/apportion.h"
#include "test/catch.hpp"
#include "test/starpu/axpy.hpp"

using namespace apportion::test;

TEST_CASE("a worker whose task StarPU refuses gets no more, and others compute its units") {
    Axpy axpy(2000);
    static starpu_codelet codelet;
    codelet = Axpy::codelet();
    codelet.can_execute = [](unsigned worker, starpu_task* task, unsigned) {
        return static_cast<int>(!task->cl_arg || worker == 0);  // the task by which workers are asked has no argument
    };
    apportion_load_options options = axpy.options();
    options.codelet = &codelet;
    const Load load = create(options);
    const int status = run(load.get());
    INFO(apportion_error());
    REQUIRE(status == 0);
    CHECK(axpy.wrong() == 0);
    const std::string policy = apportion_load_policy(load.get());  // StarPU's own ask can_execute of each task
    if (policy != "eager" && policy != "dmda" && policy != "dmdas" && policy != "lws")
        CHECK_THAT(apportion_load_report(load.get()), ContainsSubstring("StarPU refused"));
}

TEST_CASE("a codelet that may run on devices alone, of which there are none, makes no load") {
    Axpy axpy(100);
    static starpu_codelet codelet;
    codelet = Axpy::codelet();
    codelet.where = STARPU_CUDA;
    apportion_load_options options = axpy.options();
    options.codelet = &codelet;
    CHECK(apportion_load_create(&options) == nullptr);
    CHECK_THAT(apportion_error(), ContainsSubstring("can run codelet"));
}

TEST_CASE("a codelet with a number of handles below zero makes no load") {
    Axpy axpy(100);
    static starpu_codelet codelet;
    codelet = Axpy::codelet();
    codelet.nbuffers = -7;
    apportion_load_options options = axpy.options();
    options.codelet = &codelet;
    CHECK(apportion_load_create(&options) == nullptr);
    CHECK_THAT(apportion_error(), ContainsSubstring("nbuffers is -7"));
}

TEST_CASE("a codelet with a callback of its own makes no load") {
    Axpy axpy(100);
    static starpu_codelet codelet;
    codelet = Axpy::codelet();
    codelet.callback_func = [](void*) {};
    apportion_load_options options = axpy.options();
    options.codelet = &codelet;
    CHECK(apportion_load_create(&options) == nullptr);
    CHECK_THAT(apportion_error(), ContainsSubstring("codelet->callback_func is set"));
}

TEST_CASE("a fill function that gives its task a callback ends the load, and does not lose it") {
    struct Calling : Axpy {
        using Axpy::Axpy;
        void (*starpu_task::*which)(void*) = &starpu_task::callback_func;
        static int fill_callback(starpu_task* task, apportion_block* block, void* arg) {
            task->*static_cast<Calling*>(arg)->which = call;
            return fill(task, block, arg);
        }
        static void call(void*) { ++called(); }
        static std::atomic<int>& called() {
            static std::atomic<int> times = 0;
            return times;
        }
    } axpy(1000);
    apportion_load_options options = axpy.options();
    options.fill = Calling::fill_callback;
    const Load load = create(options);
    for (const bool pop : {false, true}) {
        axpy.which = pop ? &starpu_task::prologue_callback_pop_func : &starpu_task::callback_func;
        REQUIRE(run(load.get()) == -EINVAL);
        CHECK_THAT(apportion_error(), ContainsSubstring(pop ? "task's prologue_callback_pop_func" : "task's callback"));
    }
    CHECK(Calling::called() == 0);
    for (const auto own : {&starpu_task::prologue_callback_func, &starpu_task::epilogue_callback_func}) {
        axpy.which = own;
        const int before = Calling::called();
        REQUIRE(run(load.get()) == 0);
        CHECK(Calling::called() > before);
    }
    CHECK(axpy.wrong(2) == 0);
}

TEST_CASE("a fill function that changes its block ends the load, as units would be lost") {
    struct Halving : Axpy {
        using Axpy::Axpy;
        static int fill_half(starpu_task* task, apportion_block* block, void* arg) {
            block->units = (block->units + 1) / 2;
            return fill(task, block, arg);
        }
    } axpy(1000);
    apportion_load_options options = axpy.options();
    options.fill = Halving::fill_half;
    options.initial_block = 2;
    const Load load = create(options);
    CHECK(run(load.get()) == -EINVAL);
    CHECK_THAT(apportion_error(), ContainsSubstring("changed the fields of the block"));
}

TEST_CASE("a fill function may call starpu_task_set with the arguments of starpu_task_insert") {
    struct Set : Axpy {
        using Axpy::Axpy;
        static int fill_set(starpu_task* task, apportion_block* block, void* arg) {
            if (const int refused = fill(task, block, arg)) return refused;
            auto& its = *static_cast<Set*>(arg);
            task->cl_arg = nullptr;
            return starpu_task_set(task, &codelet(), STARPU_R, task->handles[0], STARPU_RW, task->handles[1],
                                   STARPU_CL_ARGS_NFREE, &its.a, sizeof its.a, STARPU_PRIORITY, 1, STARPU_NAME, "set",
                                   0);
        }
    } axpy(1000);
    apportion_load_options options = axpy.options();
    options.fill = Set::fill_set;
    const Load load = create(options);
    for (int k = 0; k < 2; ++k) REQUIRE(run(load.get()) == 0);
    CHECK(axpy.wrong(2) == 0);
}

TEST_CASE("the worker of a block is the load's affair, whatever the fill function sets") {
    struct Bound : Axpy {
        using Axpy::Axpy;
        static int fill_bound(starpu_task* task, apportion_block* block, void* arg) {
            task->execute_on_a_specific_worker = 1;
            task->workerid = STARPU_NMAXWORKERS - 1;  // there is none
            return fill(task, block, arg);
        }
    } axpy(1000);
    apportion_load_options options = axpy.options();
    options.fill = Bound::fill_bound;
    const Load load = create(options);
    REQUIRE(run(load.get()) == 0);
    CHECK(axpy.wrong() == 0);
}

TEST_CASE("a report names the workers that the codelet's can_execute refuses") {
    Axpy axpy(100);
    static starpu_codelet codelet;
    codelet = Axpy::codelet();
    codelet.can_execute = [](unsigned worker, starpu_task*, unsigned) { return static_cast<int>(worker == 0); };
    apportion_load_options options = axpy.options();
    options.codelet = &codelet;
    const Load load = create(options);
    CHECK(apportion_load_policy(load.get()) == std::string(starpu_sched_get_sched_policy()->policy_name));
    REQUIRE(run(load.get()) == 0);
    CHECK(axpy.wrong() == 0);
    CHECK_THAT(apportion_load_report(load.get()), ContainsSubstring("left out: the codelet's "));
}

TEST_CASE("a worker that computes none of a load's blocks cannot wait for it either") {
    Axpy axpy(1000);
    Gate gate;
    static starpu_codelet codelet;
    codelet = Axpy::codelet();
    codelet.can_execute = [](unsigned worker, starpu_task*, unsigned) { return static_cast<int>(worker == 0); };
    apportion_load_options options = axpy.options();
    options.codelet = &codelet;
    options.uses = &gate.use;
    options.uses_count = 1;
    struct Waiting {
        Load load;
        std::atomic<int> waited = 1;
    } waiting{create(options)};
    starpu_data_acquire(gate.use.handle, STARPU_RW);  // the load runs until this is released
    REQUIRE(apportion_load_submit(waiting.load.get()) == 0);
    static starpu_codelet nothing = make_codelet([](void**, void*) {}, {}, nullptr);
    starpu_task* task = starpu_task_create();
    task->cl = &nothing;
    task->execute_on_a_specific_worker = 1;
    task->workerid = 1;
    task->callback_arg = &waiting;
    task->callback_func = [](void* arg) {
        auto& its = *static_cast<Waiting*>(arg);
        its.waited = apportion_load_wait(its.load.get());
    };
    REQUIRE(starpu_task_submit(task) == 0);
    for (int k = 0; k < 5000 && waiting.waited == 1; ++k) starpu_sleep(0.001f);  // for ever, if it waits
    CHECK(waiting.waited == -EDEADLK);
    starpu_data_release(gate.use.handle);
    REQUIRE(apportion_load_wait(waiting.load.get()) == 0);
    starpu_task_wait_for_all();
    CHECK(axpy.wrong() == 0);
}

TEST_CASE("a codelet of an old program, whose function is in cpu_func, is as good as others", "[once]") {
    Axpy axpy(1000);
    starpu_codelet old = make_codelet(nullptr, {STARPU_R, STARPU_RW}, "old");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    old.cpu_func = Axpy::cpu;
#pragma GCC diagnostic pop
    apportion_load_options options = axpy.options();
    options.codelet = &old;
    const Load load = create(options);
    REQUIRE(run(load.get()) == 0);
    CHECK(axpy.wrong() == 0);
}
