// SPDX-License-Identifier: LGPL-2.1-or-later
//
// heard_late, on a simulated machine with devices, APPORTION_TRACE=1: the application takes 5 s to fill a task, and
// results that are on their way come home meanwhile. The report says when they did, not when the load heard of it.
// Other threads may wait for the load meanwhile.
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "policies/starpu/apportion.hpp"

namespace {

constexpr std::uint64_t kUnits = 60;
constexpr std::size_t kBytes = 600'000'000;  // of a unit: they come home in 0.1 s
constexpr float kFill_s = 5;

double kernel_us(starpu_task*, unsigned, unsigned) { return 5e4; }

double long_fill_us = 0;  // when it begins

int fill(starpu_task* task, apportion_block* block, void* arg) {
    static int filled = 0;
    if (++filled == 20) {
        long_fill_us = starpu_timing_now();
        starpu_sleep(kFill_s);
    }
    auto* const results = static_cast<char*>(arg);
    task->handles[0] =
        apportion_block_vector(block, STARPU_W, results + block->first * kBytes, block->units * kBytes, 1);
    return 0;
}

starpu_perfmodel& model() {
    static starpu_perfmodel its = [] {
        starpu_perfmodel m{};
        m.type = STARPU_PER_WORKER;
        m.worker_cost_function = kernel_us;
        m.symbol = "heard_late";
        return m;
    }();
    return its;
}

starpu_codelet& codelet() {
    static starpu_codelet cl = [] {
        starpu_codelet c;
        starpu_codelet_init(&c);
        c.cpu_funcs[0] = c.cuda_funcs[0] = [](void**, void*) {};
        c.nbuffers = 1;
        c.modes[0] = STARPU_W;
        c.model = &model();
        c.name = "heard_late";
        return c;
    }();
    return cl;
}

}  // namespace

int main(int, char**) try {
    const apportion::Session session;
    void* const results = mmap(nullptr, kUnits * kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (results == MAP_FAILED) throw apportion::Error(-1, "no address space");
    apportion::LoadOptions options("heard_late", kUnits, codelet(), fill, results);
    options.initial_block = 1;
    options.bytes_per_unit = kBytes;
    apportion::Load load(options);
    const double begin_us = starpu_timing_now();
    load.submit();
    while (long_fill_us == 0) starpu_sleep(0.01F);
    load.wait();  // another thread is in the fill function
    const double long_fill_s = (long_fill_us - begin_us) * 1e-6;
    int came_home = 0;
    double longest_s = 0;
    const auto report = nlohmann::json::parse(load.report());
    for (const auto& block : report["trace"]) {
        const auto end_s = block["end"].get<double>(), home_s = block["home"].get<double>();
        if (end_s >= long_fill_s - 1e-3 || home_s < long_fill_s) continue;
        ++came_home;
        longest_s = std::max(longest_s, home_s - end_s);
    }
    std::printf("%d came home meanwhile, in at most %g s\n", came_home, longest_s);
    return came_home > 0 && longest_s < kFill_s / 2 ? 0 : 1;
} catch (const apportion::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
