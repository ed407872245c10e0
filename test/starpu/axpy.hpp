// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The load that the tests of load_*test.cpp share: y += a x + 1.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "policies/starpu/apportion.hpp"
#include "test/catch.hpp"
#include "test/starpu/codelet.hpp"

namespace apportion::test {

using Vector = std::vector<double>;

/// y += a * x + 1, so that a unit computed twice or never shows.
struct Axpy {
    Vector x, y;
    double a = 2;
    unsigned parts = 1;
    bool forgets = false;  ///< fill sets the first handle only
    int refuse_from = -1;  ///< fill refuses blocks that begin at or behind this unit
    int modes = 0;         ///< or'ed to the access modes, e.g. APPORTION_KEEP

    explicit Axpy(std::size_t n) : x(n), y(n, 0.0) { std::iota(x.begin(), x.end(), 0.0); }

    static void cpu(void* buffers[], void* arg) {
        const double a = *static_cast<double*>(arg);
        const auto* x = reinterpret_cast<const double*>(STARPU_VECTOR_GET_PTR(buffers[0]));
        auto* y = reinterpret_cast<double*>(STARPU_VECTOR_GET_PTR(buffers[1]));
        for (std::size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); ++i) y[i] += a * x[i] + 1;
    }

    static int fill(starpu_task* task, apportion_block* block, void* arg) {
        auto& self = *static_cast<Axpy*>(arg);
        if (self.refuse_from >= 0 && static_cast<int>(block->first) >= self.refuse_from) return -EPERM;
        // Parts: each task takes its slice of the block.
        const std::uint64_t begin = block->first + block->units * block->part / self.parts;
        const std::uint64_t end = block->first + block->units * (block->part + 1) / self.parts;
        if (begin == end) {
            task->where = STARPU_NOWHERE;
            task->nbuffers = 0;
        }
        const std::uint64_t count = std::max<std::uint64_t>(1, end - begin);
        const std::uint64_t at = std::min(begin, block->first + block->units - 1);
        task->handles[0] = apportion_block_vector(block, STARPU_R | self.modes, &self.x[at], count, sizeof(double));
        if (self.forgets) return 0;
        task->handles[1] = apportion_block_vector(block, STARPU_RW | self.modes, &self.y[at], count, sizeof(double));
        task->cl_arg = &self.a;
        task->cl_arg_size = sizeof self.a;
        return 0;
    }

    static starpu_codelet& codelet() {
        static starpu_codelet cl = make_codelet(cpu, {STARPU_R, STARPU_RW}, "axpy");
        return cl;
    }

    apportion_load_options options() {
        apportion::LoadOptions o("axpy", x.size(), codelet(), fill, this);
        o.parts = parts;
        return o;
    }

    int wrong(double times = 1) const {
        int count = 0;
        for (std::size_t i = 0; i < x.size(); ++i) count += y[i] != times * (a * x[i] + 1);
        return count;
    }
};

/// Data that a load uses: while another holds them, it does not begin.
struct Gate {
    Gate() {
        starpu_variable_data_register(&use.handle, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(&value), sizeof value);
    }
    ~Gate() { starpu_data_unregister(use.handle); }
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    double value = 0;
    apportion_use use{nullptr, STARPU_RW};
};

struct Destroy {
    void operator()(apportion_load* load) const { apportion_load_destroy(load); }
};
using Load = std::unique_ptr<apportion_load, Destroy>;

inline Load create(const apportion_load_options& options) {
    Load load(apportion_load_create(&options));
    INFO(apportion_error());
    REQUIRE(load);
    return load;
}

/// In a task's callback, while it is waited for.
inline void on_worker(std::function<void()> work) {
    static starpu_codelet nothing = make_codelet([](void**, void*) {}, {}, nullptr);
    starpu_task* task = starpu_task_create();
    task->cl = &nothing;
    task->synchronous = 1;
    task->callback_arg = &work;
    task->callback_func = [](void* arg) { (*static_cast<std::function<void()>*>(arg))(); };
    REQUIRE(starpu_task_submit(task) == 0);
}

inline int run(apportion_load* load) {
    const int submitted = apportion_load_submit(load);
    return submitted ? submitted : apportion_load_wait(load);
}

}  // namespace apportion::test
