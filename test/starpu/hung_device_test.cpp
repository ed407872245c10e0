// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A device that hangs beside one CPU worker, under greedy. Where results of earlier blocks are in its memory alone only
// its driver could send them to those who wait for them: the run ends with a sentence, and the load can be used again
// as soon as the device answers. Also other cases of data that stayed on a device. Skipped (77) where StarPU finds no
// OpenCL device.
#include <starpu.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "test/starpu/sabotaged_device.hpp"

using namespace apportion::test;
using Json = nlohmann::json;

namespace {

using apportion::Load;

int core() { return starpu_worker_get_by_type(STARPU_CPU_WORKER, 0); }

Load create(Work& work, std::uint64_t block) {
    auto options = work.options();
    options.initial_block = block;
    return create_impatient(options, "1");
}

/// The load ended with an error because of the device: it is refused until that answers, and then as good as new.
void check_that_it_recovers(Work& work, Load& load, const char* words) {
    CHECK_THAT(apportion_error(), ContainsSubstring(words));
    CHECK(work.stalled == 1);
    const int status = run_when_released(work, load);
    INFO(apportion_error());
    REQUIRE(status == 0);
    load.release();
    CHECK(work.wrong() == 0);
}

/// Computes y, on the device alone.
void keep_all_on_device(Work& work, const Load& load) {
    work.fails = Sabotage{.worker = core()};
    REQUIRE(run(work, load) == 0);
    work.fails = Sabotage{};
}

/// A run that reads what the run before kept on the device, which hangs in its second block.
Load end_with_results_held_back(Work& work) {
    const int worker = device();
    work.keep = APPORTION_KEEP;
    Load load = create(work, 70);
    keep_all_on_device(work, load);
    work.computes_z = true;
    work.stalls = Sabotage{.worker = worker, .block = 1};
    REQUIRE(run(work, load) == -ETIMEDOUT);
    return load;
}

}  // namespace

TEST_CASE("who waits for results that a hung device has kept does not hide that it hangs") {
    const int worker = device();
    Work work;
    work.keep = APPORTION_KEEP;
    Load load = create(work, 70);  // the last one has 60: who takes units from the end has others than before
    keep_all_on_device(work, load);
    work.stalls = Sabotage{.worker = worker};
    REQUIRE(run(work, load) == -ETIMEDOUT);
    check_that_it_recovers(work, load, "hangs, and results that others wait for");
}

TEST_CASE("results that a lost device has kept, and the next submission reads, are not waited for without end") {
    const int worker = device();
    Work work;
    work.keep = APPORTION_KEEP;
    Load load = create(work, 70);
    work.stalls = Sabotage{.worker = worker, .block = 1};
    work.cores_wait = true;
    REQUIRE(run(work, load) == 0);  // the core has computed its second block again
    work.cores_wait = false;
    CHECK(report_of(load).at("lost_processors").size() == 1);
    work.computes_z = true;
    REQUIRE(run(work, load) == -ETIMEDOUT);
    check_that_it_recovers(work, load, "hangs, and results that others wait for");
}

TEST_CASE("a hung block that reads kept results ends the load, and the next submission has them") {
    const int worker = device();
    Work work;
    work.keep = APPORTION_KEEP;
    Load load = create(work, kUnits / 2);
    double by_device = 0;
    for (int k = 0; k < 20 && by_device < 1; ++k) {  // where the core is done much earlier it computes both
        REQUIRE(run(work, load) == 0);
        const Json report = report_of(load);
        for (const Json& its : report.at("processors"))
            if (its.at("worker") == worker) by_device = its.at("blocks");
    }
    REQUIRE(by_device == 1);
    work.computes_z = true;
    work.stalls = Sabotage{.worker = worker};
    REQUIRE(run(work, load) == -ETIMEDOUT);
    check_that_it_recovers(work, load, "has results of an earlier run on the device");
}

TEST_CASE("results that come home when the run has ended are waited for no longer than that") {
    Work work;
    Load load = end_with_results_held_back(work);
    work.release();
    work.wait_for_the_stalled();
    starpu_sleep(0.2F);  // for what comes then
    load.release();
    CHECK(run(work, load) == 0);
    load.release();
    CHECK(work.wrong() == 0);
}

TEST_CASE("a hung block is given up although all others had nothing to do from the beginning on") {
    const int worker = device();
    Work work;
    Load load = create(work, kUnits);
    REQUIRE(run(work, load) == 0);
    work.stalls = Sabotage{.worker = worker};
    REQUIRE(run(work, load) == 0);
    CHECK(work.stalled == 1);
    CHECK(work.wrong() == 0);
    CHECK(report_of(load).at("lost_processors").size() == 1);
    work.release();
}

TEST_CASE("kept results of blocks whose own results a hung device holds back are there for the next submission") {
    Work work;
    Load load = end_with_results_held_back(work);
    check_that_it_recovers(work, load, "hangs, and results that others wait for");
}

TEST_CASE("kept results of a block that fails after the run has are there for the next submission") {
    const int worker = device();
    Work work;
    work.keep = APPORTION_KEEP;
    static int refused = -1;  // a worker's blocks
    auto options = work.options();
    options.initial_block = 75;  // all are alike: the core's is not waited for before it is filled
    options.fill = [](starpu_task* task, apportion_block* block, void* arg) {
        return block->worker == refused ? -ENOMEM : Work::fill(task, block, arg);
    };
    Load load(options);
    keep_all_on_device(work, load);
    work.computes_z = true;
    work.fails = Sabotage{.worker = worker};
    refused = core();
    REQUIRE(run(work, load) == -ENOMEM);
    refused = -1;
    work.fails = Sabotage{};
    REQUIRE(run(work, load) == 0);
    load.release();
    CHECK(work.wrong() == 0);
}

TEST_CASE("kept results that one task reads and another overwrites are those of the run before where these fail") {
    const int worker = device();
    Work work;
    work.parts = 2;
    setenv("APPORTION_STALL_FACTOR", "1", 1);
    auto options = work.options();
    options.initial_block = kUnits;  // the device's
    options.fill = [](starpu_task* task, apportion_block* block, void* arg) {
        auto& self = *static_cast<Work*>(arg);  // z = 3 y + 1, then y = 3 z + 1
        const int read = STARPU_R | (block->part == 0 ? APPORTION_KEEP : 0);
        const int written = STARPU_W | (block->part == 0 ? 0 : APPORTION_KEEP);
        double *from = &self.y[block->first], *to = &self.z[block->first];
        if (block->part == 1) std::swap(from, to);
        task->handles[0] = apportion_block_vector(block, read, from, block->units, sizeof(double));
        task->handles[1] = apportion_block_vector(block, written, to, block->units, sizeof(double));
        self.arguments.push_back(std::make_unique<Work::Part>(Work::Part{&self, block->first, block->part}));
        task->cl_arg = self.arguments.back().get();
        return 0;
    };
    Load load(options);
    const auto again = [&] {
        for (auto& count : work.blocks) count = 0;
        const int submitted = apportion_load_submit(load.get());
        return submitted ? submitted : apportion_load_wait(load.get());
    };
    REQUIRE(again() == 0);
    work.fails = Sabotage{.worker = worker};
    SECTION("none has overwritten them: others compute the block from them") {
        work.failing_part = Sabotage::kAll;
        REQUIRE(again() == 0);
        load.release();
        CHECK(std::ranges::all_of(work.y, [](double y) { return y == 9 * 4 + 4; }));
    }
    SECTION("they are overwritten: the load ends with an error") {
        work.failing_part = 0;
        REQUIRE(again() == -EIO);
        CHECK_THAT(apportion_error(), ContainsSubstring("changed their data in place"));
    }
}

TEST_CASE("kept results outlast a submission that names what cannot be registered") {
    device();
    Work work;
    work.keep = APPORTION_KEEP;
    static bool too_large = false;
    auto options = work.options();
    options.fill = [](starpu_task* task, apportion_block* block, void* arg) {
        if (too_large) apportion_block_vector(block, STARPU_R, arg, std::size_t{1} << 32, sizeof(double));
        return Work::fill(task, block, arg);
    };
    Load load(options);
    keep_all_on_device(work, load);
    work.computes_z = true;
    too_large = true;
    REQUIRE(run(work, load) == -EINVAL);
    too_large = false;
    REQUIRE(run(work, load) == 0);
    load.release();
    CHECK(work.wrong() == 0);
}

TEST_CASE("results that a submission writes without APPORTION_KEEP come home, whatever earlier ones asked for") {
    device();
    Work work;
    work.keep = APPORTION_KEEP;
    Load load = create(work, 75);
    keep_all_on_device(work, load);
    work.keep = 0;
    SECTION("what is written again") {
        keep_all_on_device(work, load);
        CHECK(work.wrong() == 0);
    }
    SECTION("what is read") {
        work.computes_z = true;
        REQUIRE(run(work, load) == 0);
        CHECK(work.wrong() == 0);
        work.computes_z = false;
        CHECK(work.wrong() == 0);
    }
}

TEST_CASE("kept results that only parts without work name come home") {
    device();
    Work work;
    work.keep = APPORTION_KEEP;
    static bool works = true;
    auto options = work.options();
    options.initial_block = 75;
    options.fill = [](starpu_task* task, apportion_block* block, void* arg) {
        if (!works) task->where = STARPU_NOWHERE;
        return Work::fill(task, block, arg);
    };
    Load load(options);
    keep_all_on_device(work, load);
    work.keep = 0;
    work.computes_z = true;
    works = false;
    REQUIRE(run(work, load) == 0);
    work.computes_z = false;
    CHECK(work.wrong() == 0);
}
