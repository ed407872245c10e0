// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The application's warm-up of its workers, under whichever scheduler STARPU_SCHED names: on CPU workers, and on an
// OpenCL device where there is one.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "policies/starpu/apportion.hpp"
#include "policies/starpu/own_schedulers.hpp"
#include "test/catch.hpp"

namespace {

using apportion::Load;

constexpr std::uint64_t kUnits = 1000;

/// Blocks that compute nothing, but see whether their worker was set up before.
struct Work {
    std::array<std::atomic<int>, STARPU_NMAXWORKERS> set_up{}, blocks{};
    std::atomic<int> unprepared{0}, elsewhere{0};
    int broken = -1;  ///< worker whose set-up fails
    bool all_broken = false, throws = false;
    std::vector<float> data = std::vector<float>(kUnits);

    static void compute(void**, void* arg) {
        auto& work = **static_cast<Work**>(arg);
        const auto worker = static_cast<std::size_t>(starpu_worker_get_id_check());
        ++work.blocks[worker];
        if (work.set_up[worker] == 0) ++work.unprepared;
    }

    static int fill(starpu_task* task, apportion_block* block, void* arg) {
        auto& work = *static_cast<Work*>(arg);
        task->handles[0] =
            apportion_block_vector(block, STARPU_R, &work.data[block->first], block->units, sizeof(float));
        auto** const argument = static_cast<Work**>(std::malloc(sizeof(Work*)));
        *argument = &work;
        task->cl_arg = argument;
        task->cl_arg_size = sizeof(Work*);
        task->cl_arg_free = 1;
        return 0;
    }

    static int warm_up(void* arg) {
        auto& work = *static_cast<Work*>(arg);
        const int worker = starpu_worker_get_id();
        if (worker < 0) {
            ++work.elsewhere;
            return 0;
        }
        ++work.set_up[static_cast<std::size_t>(worker)];
        if (worker != work.broken && !work.all_broken) return 0;
        if (work.throws) throw std::runtime_error("the library has no handle left");
        return -ENOMEM;
    }

    static starpu_codelet& codelet() {
        static starpu_codelet cl = [] {
            starpu_codelet c;
            starpu_codelet_init(&c);
            c.cpu_funcs[0] = compute;
            c.opencl_funcs[0] = compute;
            c.nbuffers = 1;
            c.modes[0] = STARPU_R;
            c.name = "nothing";
            return c;
        }();
        return cl;
    }

    apportion_load_options options() {
        apportion::LoadOptions o("nothing", kUnits, codelet(), fill, this);
        o.warm_up = warm_up;
        return o;
    }
};

/// Empty: the load is refused, and `why` says why.
std::optional<Load> create(Work& work, std::string& why) {
    try {
        return Load(work.options());
    } catch (const apportion::Error& error) {
        why = error.what();
        return {};
    }
}

nlohmann::json run(Load& load) {
    load.run();
    return nlohmann::json::parse(load.report());
}

bool contains(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

/// Asks a load that needs no warm-up.
bool under_our_policy() {
    Work work;
    auto options = work.options();
    options.warm_up = nullptr;
    Load load(options);
    load.run();
    return !apportion::find_starpu_scheduler(load.policy());
}

}  // namespace

TEST_CASE("every worker is set up once, on itself, before the load exists, and every block finds it so") {
    Work work;
    Load load(work.options());
    for (std::size_t w = 0; w < starpu_worker_get_count(); ++w) CHECK(work.set_up[w] == 1);
    for (int submission = 0; submission < 2; ++submission) CHECK(run(load).at("units") == kUnits);
    for (std::size_t w = 0; w < starpu_worker_get_count(); ++w) CHECK(work.set_up[w] == 1);
    CHECK(work.unprepared == 0);
    CHECK(work.elsewhere == 0);
}

TEST_CASE("a worker that cannot be set up gets no blocks, and the report says why") {
    REQUIRE(starpu_worker_get_count() >= 2);
    for (const bool throws : {false, true})
        for (int broken = 0; broken < 2; ++broken) {
            Work work;
            work.broken = broken;
            work.throws = throws;
            std::string refusal;
            std::optional<Load> load = create(work, refusal);
            const std::string why = throws ? "the library has no handle left" : "-12 (Cannot allocate memory)";
            if (!load) {
                CHECK_FALSE(under_our_policy());
                CHECK(contains(refusal, why));
                CHECK(contains(refusal, "cannot do without it"));
                continue;
            }
            CHECK(under_our_policy());
            const auto report = run(*load);
            CHECK(work.blocks[static_cast<std::size_t>(broken)] == 0);
            CHECK(report.at("processors").size() == starpu_worker_get_count() - 1);
            std::uint64_t units = 0;
            for (const auto& processor : report.at("processors")) units += processor.at("units").get<std::uint64_t>();
            CHECK(units == kUnits);
            CHECK(contains(report.at("note").get<std::string>(), why));
        }
}

TEST_CASE("a load whose workers cannot be set up, none of them, is not created") {
    Work work;
    work.all_broken = true;
    std::string refusal;
    REQUIRE_FALSE(create(work, refusal));
    CHECK(contains(refusal, "no worker is left"));
}

TEST_CASE("a load with a warm-up is not created on a worker, which would wait for itself") {
    struct Nested {
        Work work;
        bool created = true;
        std::string error;
    } nested;
    starpu_execute_on_each_worker(
        [](void* arg) {
            auto& it = *static_cast<Nested*>(arg);
            if (starpu_worker_get_id() != 0) return;
            it.created = create(it.work, it.error).has_value();
        },
        &nested, STARPU_CPU | STARPU_OPENCL);
    CHECK_FALSE(nested.created);
    CHECK(contains(nested.error, "create it on another thread"));
}

TEST_CASE("programs compiled against a header without warm_up create their loads as before", "[once]") {
    Work work;
    auto options = work.options();
    options.size = offsetof(apportion_load_options, warm_up);
    Load load(options);
    CHECK(std::ranges::all_of(work.set_up, [](const auto& count) { return count == 0; }));
    CHECK(run(load).at("units") == kUnits);
}
