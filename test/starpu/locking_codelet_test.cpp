// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A codelet and a fill function that take the same lock of the application.
#include <atomic>
#include <mutex>

#include "test/starpu/sabotaged_work.hpp"

using namespace apportion::test;
using apportion::Load;

TEST_CASE("a codelet may hold a lock that the fill function waits for when it says that its block failed", "[once]") {
    struct Locking : Work {
        std::mutex devices;
        std::atomic<bool> filling = false;
        std::atomic<int> failed = 0;
        static void on_cpu(void* buffers[], void* arg) {
            auto& self = *static_cast<Locking*>(static_cast<Part*>(arg)->work);
            if (starpu_worker_get_id() != 1) return Work::on_cpu(buffers, arg);
            const std::lock_guard lock(self.devices);
            self.filling = false;
            for (int k = 0; k < 100 && !self.filling; ++k) starpu_sleep(0.001f);
            apportion_block_failed("no device is left");
            ++self.failed;
        }
        static int fill(starpu_task* task, apportion_block* block, void* arg) {
            auto& self = *static_cast<Locking*>(arg);
            self.filling = true;
            const std::lock_guard lock(self.devices);
            return Work::fill(task, block, static_cast<Work*>(&self));
        }
    } work;
    starpu_codelet codelet = Work::codelet(false);
    codelet.cpu_funcs[0] = Locking::on_cpu;
    auto options = work.options();
    options.codelet = &codelet;
    options.fill = Locking::fill;
    options.arg = &work;
    options.initial_block = 50;
    const Load load(options);
    for (int k = 0; k < 10 && work.failed < 3; ++k) run_right(work, load);
    CHECK(work.failed > 0);
}
