// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the load engine costs: the same number of empty blocks through a load (policy greedy, one unit a block) and of
// plain starpu_task_submit() tasks, alternating in one process. Prints medians, spreads and their ratio.
// Usage: STARPU_SCHED=greedy overhead_benchmark [blocks, default 100000] [repetitions, default 5]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "policies/starpu/apportion.hpp"
#include "test/starpu/codelet.hpp"

namespace {

void nothing(void**, void*) {}

starpu_codelet& codelet() {
    static starpu_codelet cl = apportion::test::make_codelet(nothing, {}, "nothing");
    return cl;
}

double plain_tasks(std::uint64_t count) {
    const double begin = starpu_timing_now();
    for (std::uint64_t k = 0; k < count; ++k) {
        starpu_task* task = starpu_task_create();
        task->cl = &codelet();
        if (starpu_task_submit(task) != 0) std::abort();
    }
    starpu_task_wait_for_all();
    return (starpu_timing_now() - begin) * 1e-6;
}

double load(std::uint64_t count) {
    auto fill = [](starpu_task*, apportion_block*, void*) { return 0; };
    apportion::LoadOptions options("nothing", count, codelet(), fill);
    options.initial_block = 1;
    apportion::Load load(options);
    load.run();
    return load.seconds();
}

void print(const char* name, std::vector<double>& seconds, std::uint64_t count) {
    std::sort(seconds.begin(), seconds.end());
    const double per_block = 1e6 / static_cast<double>(count);
    std::printf("%-14s median %8.3f us a block (%.3f to %.3f)\n", name, seconds[seconds.size() / 2] * per_block,
                seconds.front() * per_block, seconds.back() * per_block);
}

}  // namespace

int main(int argc, char** argv) try {
    const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100000;
    const int repetitions = argc > 2 ? std::atoi(argv[2]) : 5;
    const apportion::Session session;
    setenv("APPORTION_LEARN", "0", 1);
    setenv("APPORTION_BLOCKS", std::to_string(count).c_str(), 1);  // as many blocks under StarPU's schedulers
    starpu_profiling_status_set(STARPU_PROFILING_ENABLE);          // a load needs it: the same for both
    std::vector<double> plain, blocks;
    for (int k = 0; k < repetitions; ++k) {
        plain.push_back(plain_tasks(count));
        blocks.push_back(load(count));
    }
    print("plain tasks", plain, count);
    print("load's blocks", blocks, count);
    std::printf("ratio of medians %.3f\n", blocks[blocks.size() / 2] / plain[plain.size() / 2]);
    return 0;
} catch (const apportion::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
