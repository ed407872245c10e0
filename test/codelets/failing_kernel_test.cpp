// SPDX-License-Identifier: LGPL-2.1-or-later
//
// CPU kernels that throw: their blocks are handed over, and StarPU sees no exception.
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

#include "codelets/common/failed_task.hpp"
#include "codelets/common/kernel_codelet.hpp"
#include "policies/starpu/apportion.hpp"
#include "test/catch.hpp"

namespace {

int results[1000];
std::atomic<int> throws_left;

void one(void* buffers[], void*) {
    if (throws_left-- > 0) throw std::bad_alloc();
    auto* const result = reinterpret_cast<int*>(STARPU_VECTOR_GET_PTR(buffers[0]));
    for (unsigned k = 0; k < STARPU_VECTOR_GET_NX(buffers[0]); ++k) result[k] = 1;
}

starpu_codelet& codelet() {
    static apportion::KernelCodelet made("throws", "throws", APPORTION_KERNELS(one, nullptr), {STARPU_W});
    return made.get();
}

int fill(starpu_task* task, apportion_block* block, void*) {
    task->handles[0] = apportion_block_vector(block, STARPU_W, results + block->first, block->units, sizeof(int));
    return 0;
}

}  // namespace

TEST_CASE("what a CPU kernel throws ends the load with a sentence, or others compute the block") {
    throws_left = 1;
    apportion::Load load(apportion::LoadOptions("throws", 1000, codelet(), fill, nullptr));
    try {
        load.run();
        for (const int result : results) CHECK(result == 1);
    } catch (const apportion::Error& error) {
        CHECK(std::string(std::getenv("STARPU_SCHED")) == "eager");
        CHECK(error.error_number() == EIO);
        CHECK_THAT(error.what(), ContainsSubstring("bad_alloc"));
    }
}

TEST_CASE("what the CPU kernel of an ordinary task throws is kept") {
    throws_left = 1;
    starpu_data_handle_t handle = nullptr;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(results), 1000, sizeof(int));
    REQUIRE(starpu_task_insert(&codelet(), STARPU_W, handle, 0) == 0);
    starpu_data_unregister(handle);
    CHECK_THAT(apportion::take_failure(), ContainsSubstring("bad_alloc"));
    CHECK(apportion::take_failure().empty());
}
