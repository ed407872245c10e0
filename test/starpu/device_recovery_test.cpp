// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A device with its own memory that stalls, fails or is late, beside CPU workers: others compute its units, and nothing
// that it still does reaches main memory. Skipped (77) where StarPU finds no OpenCL device.
#include <starpu.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "test/starpu/sabotaged_device.hpp"

using namespace apportion::test;
using Json = nlohmann::json;

namespace {

using apportion::Load;

Load create(Work& work, bool results_stay = false) {
    auto options = work.options();
    options.bytes_per_unit = 16;
    options.results_stay = results_stay;
    return Load(options);
}

Json report_of_run(Work& work, const Load& load) {
    run_right(work, load);
    return report_of(load);
}

/// Of a run that has ended: what they compute is counted in the next one otherwise.
void wait_for_those_who_compute(const Work& work) {
    while (work.computing > 0) starpu_sleep(static_cast<float>(kLook_s));
}

/// A load of which everybody has finished a block, so that it is known how long blocks take: who has not, computes
/// nothing again. Beside a slow device the CPUs are worth it under every policy, and the device beside slow CPUs; what
/// others take over does not count. A load that runs again may do without those that its first runs did without: then
/// another one is made.
Load learnt_load(Work& work, bool results_stay = false) {
    for (int attempt = 0; attempt < 10; ++attempt) {
        Load load = create(work, results_stay);
        std::vector<std::int64_t> blocks;
        for (int k = 0; k < 4; ++k) {
            work.slowdown_of_0 = k % 2 == 0 ? 1 : 100;
            work.slowdown_of_others = k % 2 == 0 ? 20 : 1;
            const Json report = report_of_run(work, load);
            UNSCOPED_INFO(report.dump());
            const Json& processors = report.at("processors");
            blocks.resize(processors.size());
            for (std::size_t p = 0; p < blocks.size(); ++p) blocks[p] += processors[p].at("blocks").get<std::int64_t>();
            wait_for_those_who_compute(work);
        }
        work.slowdown_of_0 = work.slowdown_of_others = 1;
        if (std::ranges::count(blocks, 0) > 0) continue;
        for (int k = 0; k < 5; ++k) run_right(work, load);
        return load;
    }
    FAIL("somebody never got a block");
    return create(work);
}

/// Runs until the device has stalled, which it does only if it gets a block at all: the slower the others are, the more
/// it is worth one.
Json run_until_stalled(Work& work, const Load& load, int worker, double stall_s = Work::kUntilReleased) {
    work.stalls = Sabotage{.worker = worker};
    work.stall_s = stall_s;
    for (int k = 0; k < 20; ++k) {
        work.slowdown_of_others = k + 1;
        const Json report = report_of_run(work, load);
        work.slowdown_of_others = 1;
        if (work.blocks[worker] > 0 || work.stalled > 0) return report;
    }
    FAIL("the device never got a block");
    return {};
}

/// And for what is done with their results.
void wait_for_the_stalled(Work& work) {
    work.release();
    work.wait_for_the_stalled();
    starpu_sleep(0.1f);
}

/// y = x, on the device alone.
struct Copy {
    double *x, *y;
    static void on_opencl(void* buffers[], void*) {
        on_opencl_device<double>(buffers, [](const double* from, double* to, unsigned n) { std::copy_n(from, n, to); });
    }
    static int fill(starpu_task* task, apportion_block* block, void* arg) {
        const auto& self = *static_cast<Copy*>(arg);
        task->handles[0] = apportion_block_vector(block, STARPU_R, self.x + block->first, block->units, 8);
        task->handles[1] = apportion_block_vector(block, STARPU_W, self.y + block->first, block->units, 8);
        return 0;
    }
    static starpu_codelet& codelet() {
        static starpu_codelet codelet = make_codelet(nullptr, {STARPU_R, STARPU_W}, "copy", on_opencl);
        return codelet;
    }
};

/// y += x in place. Cores do not end their first units before the device computes them, too; the device looks then for
/// a while whether they change in main memory.
struct Held {
    std::vector<double> x = std::vector<double>(kUnits, 1), y = std::vector<double>(kUnits);
    std::vector<char> filled = std::vector<char>(kUnits);
    std::atomic<bool> again = false, changed = false;
    struct Part {
        Held* held;
        double* home;
        bool again;
    };
    std::vector<std::unique_ptr<Part>> parts;

    static void add(const double* x, double* y, unsigned n) { std::transform(x, x + n, y, y, std::plus<>()); }
    static void on_cpu(void* buffers[], void* arg) {
        const Part& part = *static_cast<Part*>(arg);
        const unsigned n = STARPU_VECTOR_GET_NX(buffers[0]);
        const bool waits = n == 1 && !part.again;
        for (double slept_s = 0; waits && !part.held->again && slept_s < Work::kUntilReleased; slept_s += kLook_s)
            starpu_sleep(static_cast<float>(kLook_s));
        add(reinterpret_cast<double*>(STARPU_VECTOR_GET_PTR(buffers[0])),
            reinterpret_cast<double*>(STARPU_VECTOR_GET_PTR(buffers[1])), n);
    }
    static void on_opencl(void* buffers[], void* arg) {
        const Part& part = *static_cast<Part*>(arg);
        on_opencl_device<double>(buffers, [&](const double* x, double* y, unsigned n) {
            if (part.again) part.held->again = true;
            for (int look = 0; look < 20 && part.again; ++look) {
                starpu_sleep(static_cast<float>(kLook_s));
                if (std::atomic_ref(*part.home).load() != 0) part.held->changed = true;
            }
            add(x, y, n);
        });
    }
    static int fill(starpu_task* task, apportion_block* block, void* arg) {
        auto& self = *static_cast<Held*>(arg);
        double* y = &self.y[block->first];
        task->handles[0] = apportion_block_vector(block, STARPU_R, &self.x[block->first], block->units, 8);
        task->handles[1] = apportion_block_vector(block, STARPU_RW, y, block->units, 8);
        bool again = false;
        for (auto unit = block->first; unit < block->first + block->units; ++unit) {
            if (std::exchange(self.filled[unit], 1) == 0) continue;
            again = true;
            y = &self.y[unit];
        }
        self.parts.emplace_back(new Part{&self, y, again});
        task->cl_arg = self.parts.back().get();
        return 0;
    }
};

/// y += x. Where the device has a block to begin when it has ended the one that it computes, the fill function of a
/// core's block waits until the device has begun it.
struct Busy {
    const float seconds = 5e-3F;  // of a block
    int by_device = 0;            // cores' blocks that the device's thread filled
    std::vector<double> x = std::vector<double>(kUnits, 1), y = std::vector<double>(kUnits);
    std::atomic<int> filled = 0, begun = 0;
    bool waited = false, in_vain = false;

    static void add(const double* x, double* y, unsigned n) { std::transform(x, x + n, y, y, std::plus<>()); }
    static void on_cpu(void* buffers[], void* arg) {
        starpu_sleep(static_cast<Busy*>(arg)->seconds);
        add(reinterpret_cast<double*>(STARPU_VECTOR_GET_PTR(buffers[0])),
            reinterpret_cast<double*>(STARPU_VECTOR_GET_PTR(buffers[1])), STARPU_VECTOR_GET_NX(buffers[0]));
    }
    static void on_opencl(void* buffers[], void* arg) {
        auto& self = *static_cast<Busy*>(arg);
        ++self.begun;
        on_opencl_device<double>(buffers, [&](const double* x, double* y, unsigned n) {
            starpu_sleep(self.seconds);
            add(x, y, n);
        });
    }
    static int fill(starpu_task* task, apportion_block* block, void* arg) {
        auto& self = *static_cast<Busy*>(arg);
        task->handles[0] = apportion_block_vector(block, STARPU_R, &self.x[block->first], block->units, 8);
        task->handles[1] = apportion_block_vector(block, STARPU_RW, &self.y[block->first], block->units, 8);
        task->cl_arg = arg;
        if (block->worker == opencl_worker()) {
            ++self.filled;
            return 0;
        }
        if (starpu_worker_get_id() == opencl_worker()) ++self.by_device;
        const int begun = self.begun;
        if (begun == 0 || self.filled == begun) return 0;
        self.waited = true;
        constexpr double kLongest_s = 10;
        double slept_s = 0;
        for (; self.begun == begun && slept_s < kLongest_s; slept_s += kLook_s)
            starpu_sleep(static_cast<float>(kLook_s));
        self.in_vain = self.in_vain || slept_s >= kLongest_s;
        return 0;
    }
};

}  // namespace

TEST_CASE("a device goes on while others fill their blocks") {
    device();
    // Where blocks are short, the device's thread often finds the end of a core's block beside its own.
    const bool blocks_are_long = GENERATE(true, false);
    Busy busy{.seconds = blocks_are_long ? 5e-3F : 1e-5F};
    starpu_codelet codelet = make_codelet(Busy::on_cpu, {STARPU_R, STARPU_RW}, nullptr, Busy::on_opencl);
    apportion::LoadOptions options("busy", kUnits, codelet, Busy::fill, &busy);
    options.bytes_per_unit = 16;
    options.initial_block = kUnits / 50;
    Load(options).run();
    if (std::string(std::getenv("STARPU_SCHED")) == "greedy" && blocks_are_long) CHECK(busy.waited);  // it has many
    CHECK(busy.by_device == 0);
    CHECK_FALSE(busy.in_vain);
    CHECK(std::ranges::count(busy.y, 1) == kUnits);
}

TEST_CASE("what a core is tried with is stored only when no device changes it in place any more") {
    device();
    Held held;
    starpu_codelet codelet = make_codelet(Held::on_cpu, {STARPU_R, STARPU_RW}, nullptr, Held::on_opencl);
    apportion::LoadOptions options("held", kUnits, codelet, Held::fill, &held);
    options.bytes_per_unit = 16;
    options.initial_block = 1;
    Load(options).run();
    if (std::string(std::getenv("STARPU_SCHED")) != "equal") CHECK(held.again);  // which begins with larger blocks
    CHECK_FALSE(held.changed);
    CHECK(std::ranges::count(held.y, 1) == kUnits);
}

TEST_CASE("a device that stalls is lost, others compute its units, and what it stores later reaches nobody") {
    const int worker = device();
    Work work;
    {
        const Load load = learnt_load(work);
        const Json report = run_until_stalled(work, load, worker);
        INFO(report.dump());
        CHECK(work.stalled == 1);
        REQUIRE(report.at("lost_processors").size() == 1);
        CHECK(report.at("lost_processors")[0].at("units_given_back").get<int>() > 0);
        REQUIRE(report.at("late_blocks").size() >= 1);
        CHECK(report.at("late_blocks")[0].at("computed_by_others") == true);

        // The next submission runs without it.
        work.stalls = Sabotage{};
        const Json without = report_of_run(work, load);
        CHECK(without.at("lost_processors").size() == 1);
        CHECK(work.computed_once());

        // The application owns its memory again: nothing may change there.
        for (double& value : work.y) value = -1;
        wait_for_the_stalled(work);
        CHECK(std::ranges::count(work.y, -1) == kUnits);
        run_right(work, load);
    }
    CHECK(work.stalled == 0);
    CHECK(work.wrong() == 0);
}

TEST_CASE("when a late device ends before those who compute its units again, its results count") {
    const int worker = device();
    Work work;
    const Load load = learnt_load(work);
    const Json report = run_until_stalled(work, load, worker, 0.15);
    INFO(report.dump());
    wait_for_the_stalled(work);
    CHECK(work.wrong() == 0);
}

TEST_CASE("what CPU workers compute again for nothing is waited for: it reads the application's input", "[once]") {
    const int worker = device();
    Work work;
    const Load load = learnt_load(work);
    work.again_s = 0.6;
    work.stalls_until_again = true;
    const Json report = run_until_stalled(work, load, worker);
    CHECK(work.computing == 0);
    INFO(report.dump());
    REQUIRE(report.at("late_blocks").size() >= 1);
    CHECK(report.at("late_blocks")[0].at("computed_by_others") == false);
    wait_for_the_stalled(work);
}

TEST_CASE("where the application keeps its memory nobody waits for what CPU workers compute again for nothing",
          "[once]") {
    const int worker = device();
    Work work;
    Load load = learnt_load(work, true);
    work.again_s = 2;
    work.stalls_until_again = true;
    const Json report = run_until_stalled(work, load, worker);
    INFO(report.dump());
    CHECK(work.computing > 0);
    load.release();
    CHECK(work.computing == 0);
    CHECK(work.wrong() == 0);
    work.again_s = 0;
    run_right(work, load);
}

TEST_CASE("results that a lost device has in its memory never reach the application's, even when it must make room") {
    const int worker = device();
    Work work;
    const Load load = learnt_load(work);
    run_until_stalled(work, load, worker);
    for (double& value : work.y) value = -1;
    wait_for_the_stalled(work);
    // Another load fills the device: what is left there of the first one would be written home now.
    constexpr std::size_t kLarge = 3 << 20;
    std::vector<double> x(kLarge), y(kLarge);
    Copy copy{x.data(), y.data()};
    for (std::size_t i = 0; i < kLarge; ++i) x[i] = static_cast<double>(i);
    apportion::LoadOptions options("copy", kLarge, Copy::codelet(), Copy::fill, &copy);
    options.bytes_per_unit = 16;
    for (int k = 0; k < 3; ++k) {
        Load(options).run();
        CHECK(x == y);
    }
    CHECK(std::ranges::count(work.y, -1) == kUnits);
}

TEST_CASE("a device that fails leaves nothing behind, and is welcome again at the next submission") {
    const int worker = device();
    Work work;
    const Load load = learnt_load(work);
    work.fails = Sabotage{.worker = worker};
    Json report;
    for (int k = 0; k < 20 && (k == 0 || report.at("lost_processors").empty()); ++k) {
        work.slowdown_of_others = k + 1;  // until the device gets a block
        wait_for_those_who_compute(work);
        report = report_of_run(work, load);
    }
    work.slowdown_of_others = 1;
    CHECK(report.at("lost_processors").size() == 1);
    CHECK(work.wrong() == 0);
    CHECK((work.computed_once() || !report.at("late_blocks").empty()));  // as where others disturb the machine
    work.fails = Sabotage{};
    const Json after =
        report_of_run(work, load);  // where others disturb the machine the device may be late, but does not fail
    for (const Json& lost : after.at("lost_processors"))
        CHECK(lost.at("reason").get<std::string>().find("failed") == std::string::npos);
}

TEST_CASE("a block that needs more than all of a device's memory is refused, and not waited for") {
    device();
    constexpr std::size_t kTooLarge = 3 << 20;  // 48 MiB, of 40
    std::vector<double> x(kTooLarge, 1), y(kTooLarge);
    Copy copy{x.data(), y.data()};
    apportion::LoadOptions options("copy", kTooLarge, Copy::codelet(), Copy::fill, &copy);
    options.granularity = kTooLarge;
    const Load refused(options);
    REQUIRE(apportion_load_submit(refused.get()) == 0);
    CHECK(apportion_load_wait(refused.get()) == -ENOMEM);
    CHECK(std::string(apportion_error()).find("bytes_per_unit") != std::string::npos);
    options.bytes_per_unit = 16;
    options.granularity = 1;
    Load(options).run();
    CHECK(x == y);
}
