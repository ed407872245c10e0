// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Several threads call apportion_init at once, and StarPU ends with the last apportion_shutdown, or where the program
// ends it before.
#include <starpu.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "policies/starpu/apportion.h"

int main() {
    constexpr int kThreads = 4;
    std::atomic<int> begun = 0, failed = 0, gone = 0;
    const auto use = [&] {
        ++begun;
        while (begun < kThreads) std::this_thread::yield();
        if (apportion_init(nullptr) != 0) {
            std::fprintf(stderr, "%s\n", apportion_error());
            ++failed;
            return;
        }
        gone += starpu_worker_get_count() == 0;  // another thread has ended what this one began
        apportion_shutdown();
    };
    std::vector<std::thread> threads;
    for (int k = 0; k < kThreads; ++k) threads.emplace_back(use);
    for (std::thread& thread : threads) thread.join();
    const bool runs = starpu_is_initialized() != 0;
    if (apportion_init(nullptr) != 0) ++failed;
    starpu_shutdown();
    apportion_shutdown();
    std::fprintf(stderr, "%d failed, without StarPU %d, StarPU runs: %d\n", failed.load(), gone.load(), runs);
    return failed > 0 || gone > 0 || runs ? 1 : 0;
}
