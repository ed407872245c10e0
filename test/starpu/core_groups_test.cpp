// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Cores that are one processor (APPORTION_GROUPS), under whichever scheduler STARPU_SCHED names.
#include <atomic>
#include <nlohmann/json.hpp>
#include <string>

#include "policies/starpu/load_setup.hpp"
#include "policies/starpu/own_schedulers.hpp"
#include "test/folder.hpp"
#include "test/starpu/axpy.hpp"

using namespace apportion::test;

namespace {

starpu_codelet computing_by(starpu_cpu_func_t cpu) {
    starpu_codelet codelet = Axpy::codelet();
    codelet.cpu_funcs[0] = cpu;
    return codelet;
}

Load create(Axpy& axpy, starpu_codelet& codelet) {
    auto options = axpy.options();
    options.codelet = &codelet;
    return apportion::test::create(options);
}

/// StarPU's do not group.
bool ours(apportion_load* load) { return !apportion::find_starpu_scheduler(apportion_load_policy(load)); }

nlohmann::json report_of(apportion_load* load) { return nlohmann::json::parse(apportion_load_report(load)); }

}  // namespace

TEST_CASE("two cores that are grouped are one processor, and both compute its blocks") {
    const apportion::Setting groups("APPORTION_GROUPS", "all");
    Axpy axpy(20000);
    static std::atomic<unsigned> computed[STARPU_NMAXWORKERS];
    for (auto& count : computed) count = 0;
    starpu_codelet codelet = computing_by([](void* buffers[], void* arg) {
        computed[starpu_worker_get_id()] += STARPU_VECTOR_GET_NX(buffers[0]);
        Axpy::cpu(buffers, arg);
    });
    Load load = create(axpy, codelet);
    REQUIRE(run(load.get()) == 0);
    CHECK(axpy.wrong() == 0);
    const auto report = report_of(load.get());
    if (!ours(load.get())) {
        CHECK(report["processors"].size() == 2);
        return;
    }
    REQUIRE(report["processors"].size() == 1);
    CHECK(report["processors"][0]["name"] == "CPU 0-1");
    CHECK(report["processors"][0]["units"] == 20000);
    const auto blocks = report["processors"][0]["blocks"].get<unsigned>();
    CHECK(computed[0] + computed[1] == 20000);
    CHECK(computed[0] - computed[1] <= blocks);  // half of each block
}

TEST_CASE("a task that ends on another processor's worker is in its block's first lane", "[once]") {
    apportion::LoadSetup setup;
    setup.workers.resize(2);
    setup.workers[0].ids = {0, 1, 2};
    setup.workers[1].ids = {3};
    CHECK(setup.lane_of(0, 2) == 2);
    CHECK(setup.lane_of(1, 3) == 0);
    CHECK(setup.lane_of(1, 2) == 0);
    CHECK(setup.lane_of(-1, 2) == 0);
}

TEST_CASE("grouped cores compute every unit once, whatever the size, the granularity and the parts") {
    const apportion::Setting groups("APPORTION_GROUPS", "2");
    for (const std::size_t units : {0, 1, 3, 17, 1000})
        for (const std::uint64_t granularity : {1, 8})
            for (const unsigned parts : {1u, 3u}) {
                if (granularity > units && units > 0) continue;
                CAPTURE(units, granularity, parts);
                Axpy axpy(units);
                axpy.parts = parts;
                auto options = axpy.options();
                options.granularity = granularity;
                Load load = apportion::test::create(options);
                REQUIRE(run(load.get()) == 0);
                CHECK(axpy.wrong() == 0);
            }
}

TEST_CASE("a load of grouped cores runs again, its data kept or not") {
    const apportion::Setting groups("APPORTION_GROUPS", "all");
    for (const int modes : {0, APPORTION_KEEP}) {
        Axpy axpy(3000);
        axpy.modes = modes;
        Load load = apportion::test::create(axpy.options());
        for (int k = 0; k < 5; ++k) REQUIRE(run(load.get()) == 0);
        REQUIRE(apportion_load_release(load.get()) == 0);
        CHECK(axpy.wrong(5) == 0);
    }
}

TEST_CASE("the time of a group's block is that of the longer task, not of both") {
    const apportion::Setting groups("APPORTION_GROUPS", "all");
    Axpy axpy(64);
    starpu_codelet codelet = computing_by([](void* buffers[], void* arg) {
        constexpr float kSecondsPerUnit = 1e-3F;
        starpu_sleep(kSecondsPerUnit * static_cast<float>(STARPU_VECTOR_GET_NX(buffers[0])));
        Axpy::cpu(buffers, arg);
    });
    Load load = create(axpy, codelet);
    REQUIRE(run(load.get()) == 0);
    CHECK(axpy.wrong() == 0);
    if (!ours(load.get())) return;
    const auto report = report_of(load.get());
    CHECK(report["processors"][0]["compute_seconds"].get<double>() <= report["makespan_seconds"].get<double>());
}

TEST_CASE("where a grouped core cannot compute its part, the group gets no more, and the load says so") {
    const apportion::Setting groups("APPORTION_GROUPS", "all");
    Axpy axpy(1000);
    starpu_codelet codelet = computing_by([](void* buffers[], void* arg) {
        if (starpu_worker_get_id() == 1)
            apportion_block_failed("core 1 is broken");
        else
            Axpy::cpu(buffers, arg);
    });
    Load load = create(axpy, codelet);
    const int status = run(load.get());
    if (!ours(load.get())) return;
    CHECK(status != 0);
    CHECK(std::string(apportion_error()).find("core 1 is broken") != std::string::npos);
}
