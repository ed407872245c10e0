// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A device whose codelet has its data in main memory (starpu_codelet::specific_nodes). Skipped (77) where StarPU finds
// no OpenCL device.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <vector>

#include "policies/starpu/apportion.hpp"
#include "test/catch.hpp"
#include "test/starpu/codelet.hpp"
#include "test/starpu/opencl_work.hpp"

using namespace apportion::test;

namespace {

constexpr std::size_t kUnits = 100'000;

struct InMainMemory {
    std::vector<double> y = std::vector<double>(kUnits);
    std::atomic<bool> late = false;  ///< the device's next block is
    std::atomic<int> blocks_of_device = 0, computing = 0;

    static int fill(starpu_task* task, apportion_block* block, void* arg) {
        auto& self = *static_cast<InMainMemory*>(arg);
        task->handles[0] = apportion_block_vector(block, STARPU_W, &self.y[block->first], block->units, sizeof(double));
        return 0;
    }
};

InMainMemory* work = nullptr;

void compute(void* buffers[], void* block) {
    ++work->computing;
    const bool on_device = starpu_worker_get_id() == opencl_worker();
    if (on_device) ++work->blocks_of_device;
    if (on_device && work->late.exchange(false)) starpu_sleep(1);
    const auto n = STARPU_VECTOR_GET_NX(buffers[0]);
    if (!on_device) starpu_sleep(1e-5F * static_cast<float>(n));
    std::fill_n(reinterpret_cast<double*>(STARPU_VECTOR_GET_PTR(buffers[0])), n,
                static_cast<double>(static_cast<const apportion_block*>(block)->first) + 1);
    --work->computing;
}

}  // namespace

TEST_CASE("a load waits for a late device that stores in main memory") {
    if (opencl_worker() < 0) std::exit(77);
    InMainMemory data;
    work = &data;
    starpu_codelet codelet = make_codelet(compute, {STARPU_W}, "in main memory", compute);
    codelet.specific_nodes = 1;
    codelet.nodes[0] = STARPU_SPECIFIC_NODE_CPU;
    const apportion::Load load(apportion::LoadOptions("in main memory", kUnits, codelet, InMainMemory::fill, &data));
    for (int run = 0; run < 20 && (run < 4 || data.late); ++run) {
        data.late = run >= 3;
        std::ranges::fill(data.y, 0.0);
        REQUIRE(apportion_load_submit(load.get()) == 0);
        REQUIRE(apportion_load_wait(load.get()) == 0);
        CHECK(data.computing == 0);
        CHECK(std::ranges::count(data.y, 0.0) == 0);
    }
    CHECK(data.blocks_of_device > 0);
    CHECK_FALSE(data.late);
}
