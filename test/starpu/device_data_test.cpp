// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What main memory and a device's own memory hold of the same data. The load is one block on the device, which computes
// y += x. Skipped (77) where StarPU finds no OpenCL device.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "policies/starpu/apportion.hpp"
#include "test/catch.hpp"
#include "test/starpu/codelet.hpp"
#include "test/starpu/opencl_work.hpp"

using namespace apportion::test;

namespace {

constexpr std::size_t kElements = 8;

void add(void* buffers[], void*) {
    on_opencl_device<int>(buffers, [](const int* x, int* y, std::size_t n) {
        for (std::size_t k = 0; k < n; ++k) y[k] += x[k];
    });
}

struct Sum {
    explicit Sum(starpu_data_access_mode mode_of_y = STARPU_RW)
        : codelet(make_codelet(nullptr, {STARPU_R, mode_of_y}, "sum", add)) {
        if (opencl_worker() < 0) std::exit(77);
    }

    static int fill(starpu_task* task, apportion_block* block, void* arg) {
        auto& self = *static_cast<Sum*>(arg);
        task->handles[0] = apportion_block_vector(block, self.mode_of_x, self.at_x, self.elements, sizeof(int));
        const int mode = static_cast<int>(self.codelet.modes[1]) | self.keep;
        task->handles[1] =
            self.own ? self.own : apportion_block_vector(block, mode, self.at_y, self.elements, sizeof(int));
        return 0;
    }
    apportion::Load load() { return apportion::Load(apportion::LoadOptions("sum", 1, codelet, fill, this)); }

    starpu_codelet codelet;
    std::vector<int> x = std::vector<int>(kElements, 1), y = std::vector<int>(kElements, 0);
    int* at_x = x.data();
    int* at_y = y.data();
    std::size_t elements = kElements;
    int mode_of_x = STARPU_R, keep = 0;
    starpu_data_handle_t own = nullptr;  ///< of the program, instead of one of y
};

int run(const apportion::Load& load) {
    const int submitted = apportion_load_submit(load.get());
    return submitted ? submitted : apportion_load_wait(load.get());
}

}  // namespace

TEST_CASE("what the program sets in its own handle's memory between two submissions counts") {
    Sum sum;
    starpu_vector_data_register(&sum.own, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(sum.y.data()), kElements,
                                sizeof(int));
    {
        const apportion::Load load = sum.load();
        for (int k = 0; k < 3; ++k) {
            std::ranges::fill(sum.y, k);
            REQUIRE(run(load) == 0);
            CHECK(sum.y == std::vector<int>(kElements, k + 1));
        }
    }
    starpu_data_unregister(sum.own);
}

TEST_CASE("a task that names data as read and the same as overwritten ends the load with a sentence") {
    Sum sum(STARPU_W);
    sum.at_y = sum.at_x;
    const apportion::Load load = sum.load();
    CHECK(run(load) == -EINVAL);
    CHECK_THAT(apportion_error(), ContainsSubstring("name them once, as STARPU_RW"));
}

TEST_CASE("results that stay on a device are not named in another shape before they are at home") {
    Sum sum;
    sum.keep = APPORTION_KEEP;
    const apportion::Load load = sum.load();
    REQUIRE(run(load) == 0);
    sum.elements = kElements / 2;
    CHECK(run(load) == -EINVAL);
    CHECK_THAT(apportion_error(), ContainsSubstring("call apportion_load_release before shapes change"));
    REQUIRE(apportion_load_release(load.get()) == 0);
    CHECK(sum.y == std::vector<int>(kElements, 1));
    REQUIRE(run(load) == 0);
    REQUIRE(apportion_load_release(load.get()) == 0);
    CHECK(sum.y == std::vector<int>{2, 2, 2, 2, 1, 1, 1, 1});
}

TEST_CASE("a block may have no data at all, at no address") {
    Sum sum;
    sum.elements = 0;
    sum.at_x = sum.at_y = nullptr;
    const apportion::Load load = sum.load();
    CHECK(run(load) == 0);
}

TEST_CASE("small blocks of a load that does not fit the device's memory have buffers of few sizes") {
    static constexpr std::size_t kBuffer = 75;
    struct Sums : Sum {
        std::vector<int> xs = std::vector<int>(1000, 1), ys = std::vector<int>(1000, 0);
        std::set<std::size_t> allocated;  ///< for blocks smaller than a buffer

        static int fill(starpu_task* task, apportion_block* block, void* arg) {
            auto& self = *static_cast<Sums*>(arg);
            const auto data = [&](std::vector<int>& of, int mode) {
                return apportion_block_vector(block, mode, of.data() + block->first, block->units, sizeof(int));
            };
            task->handles[0] = data(self.xs, STARPU_R);
            task->handles[1] = data(self.ys, STARPU_RW);
            if (block->units <= kBuffer) self.allocated.insert(starpu_data_get_alloc_size(task->handles[0]));
            return 0;
        }
    } sums;
    apportion::LoadOptions options("sums", sums.xs.size(), sums.codelet, Sums::fill, &sums);
    const auto memory = starpu_memory_get_total(starpu_worker_get_memory_node(static_cast<unsigned>(opencl_worker())));
    REQUIRE(memory > 0);
    options.bytes_per_unit = static_cast<std::size_t>(memory) / 400;  // 300 units fit
    const apportion::Load load(options);
    for (int k = 1; k <= 2; ++k) {
        REQUIRE(run(load) == 0);
        CHECK(sums.ys == std::vector<int>(sums.ys.size(), k));
    }
    if (std::string(std::getenv("STARPU_SCHED")) != "plb-hec") return;  // which begins with small blocks
    CHECK_FALSE(sums.allocated.empty());
    for (const std::size_t bytes : sums.allocated)
        CHECK((std::has_single_bit(bytes) || bytes == kBuffer * sizeof(int)));
}
