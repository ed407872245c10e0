// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A device that is late, and what waits for it or for those who compute its units again: units of an open load, and
// blocks of another load. Skipped (77) where StarPU finds no OpenCL device.
#include <atomic>

#include "policies/starpu/apportion.hpp"
#include "test/catch.hpp"
#include "test/starpu/sabotaged_device.hpp"

using namespace apportion::test;

namespace {

using apportion::Load;

apportion_load_options options_of(Work& work) {
    auto options = work.options();
    options.bytes_per_unit = 16;
    return options;
}

void submit(Work& work, apportion_load* load) {
    work.forget_results();
    REQUIRE(apportion_load_submit(load) == 0);
    if (apportion_load_add(load, 0, kUnits) == 0) REQUIRE(apportion_load_close(load) == 0);  // where it is open
}

void wait(Work& work, apportion_load* load) {
    const int status = apportion_load_wait(load);
    INFO(apportion_error());
    REQUIRE(status == 0);
    CHECK(work.wrong() == 0);
}

/// How long blocks take.
void teach(Work& work, apportion_load* load) {
    for (int k = 0; k < 4; ++k) {
        submit(work, load);
        wait(work, load);
    }
}

/// Submits it until the device stalls in its first block, which it does only if it gets a block at all: the slower the
/// others are, the more it is worth one. That run is on.
void submit_until_stalled(Work& work, apportion_load* load, int worker) {
    work.stalls = Sabotage{.worker = worker};
    for (int k = 0; k < 20; ++k) {
        work.slowdown_of_others = k + 1;
        submit(work, load);
        for (int looks = 0; looks < 10 && work.blocks[worker] == 0; ++looks) starpu_sleep(static_cast<float>(kLook_s));
        if (work.blocks[worker] > 0) break;
        wait(work, load);
    }
    work.slowdown_of_others = 1;
    REQUIRE(work.blocks[worker] > 0);
}

}  // namespace

TEST_CASE("units of an open load are done when CPU workers do not compute them again any more") {
    const int worker = device();
    Work work;
    static std::atomic<std::uint64_t> told;
    static std::atomic<int> computing;  // when the last units were told
    static std::atomic<int> by_device;
    auto options = options_of(work);
    options.open = 1;
    options.done = [](const apportion_done* done, void* arg) {
        by_device += starpu_worker_get_id() == opencl_worker();
        if ((told += done->units) % kUnits == 0) computing = static_cast<Work*>(arg)->computing.load();
    };
    const Load load(options);
    teach(work, load.get());
    CHECK(told == 4 * kUnits);
    CHECK(by_device == 0);
    work.again_s = 0.6;
    work.stalls_until_again = true;
    submit_until_stalled(work, load.get(), worker);
    wait(work, load.get());
    CHECK(work.computes_again);
    CHECK(computing == 0);
    work.release();
}

TEST_CASE("a load does not wait for what a device computes for nobody of another one, though blocks of it are behind") {
    const int worker = device();
    Work work, other;
    const Load load(options_of(work)), next(options_of(other));
    teach(work, load.get());
    teach(other, next.get());
    work.again_s = 0.5;  // meanwhile the device gets blocks of the other load
    submit_until_stalled(work, load.get(), worker);
    submit(other, next.get());
    wait(other, next.get());
    wait(work, load.get());
    CHECK(work.stalled == 1);
    work.release();
    work.wait_for_the_stalled();
    starpu_sleep(0.1F);  // for what is done with their results
    CHECK(other.wrong() == 0);
}
