// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A load of the stress test: what is drawn of it, what its codelet does to it (fails, stalls, is late), and what must
// be right after each submission.
#pragma once

#include <starpu.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "policies/starpu/apportion.hpp"
#include "policies/starpu/own_schedulers.hpp"
#if defined STARPU_USE_OPENCL && !defined STARPU_SIMGRID
#include "test/starpu/opencl_work.hpp"
#endif

namespace apportion::test {

#ifdef STARPU_SIMGRID
constexpr bool kSimulated = true;
#else
constexpr bool kSimulated = false;
#endif

enum class Data { written, in_place, summed };
enum class Trouble { none, fails, stalls, late };

inline bool failed = false;

inline void report(const std::string& what) {
    std::printf("WRONG: %s\n", what.c_str());
    std::fflush(stdout);
    failed = true;
}

/// y = 3 x + 1, or y += 3 x + 1 in place, and perhaps the sum of x.
struct StressLoad {
    // Drawn before it is created.
    std::uint64_t units = 0, granularity = 1, initial = 0;
    unsigned parts = 1;
    Data data = Data::written;
    bool keep = false, graph = false, grouped = false;
    int submissions = 1, context = -1;
    double seconds_per_unit = 0;
    Trouble trouble = Trouble::none;
    int troubled_worker = -1, troubled_block = 0;
    double trouble_s = 0;

    std::vector<double> x, y;
    double sum = 0;
    starpu_data_handle_t sum_handle = nullptr, graph_handle = nullptr;
    std::atomic<int> blocks[STARPU_NMAXWORKERS] = {};
    std::atomic<bool> troubled{false};
    starpu_codelet codelet;
    static inline starpu_perfmodel model{};  ///< StarPU knows it until its end
    apportion_load* load = nullptr;

    struct Argument {
        StressLoad* self;
        std::uint64_t units;
        bool fails = false;
    };

    ~StressLoad() {
        apportion_load_destroy(load);
        if (sum_handle) starpu_data_unregister(sum_handle);
        if (graph_handle) starpu_data_unregister(graph_handle);
    }

    std::string describe() const {
        static const char* const data_names[] = {"written", "in place", "summed"};
        static const char* const trouble_names[] = {"none", "fails", "stalls", "late"};
        char text[256];
        std::snprintf(text, sizeof text,
                      "%llu units by %llu, %u parts, %s%s%s, %d submissions, context %d, trouble: %s of worker %d "
                      "block %d (%.2f s)",
                      static_cast<unsigned long long>(units), static_cast<unsigned long long>(granularity), parts,
                      data_names[static_cast<int>(data)], keep ? ", kept" : "", graph ? ", in a graph" : "",
                      submissions, context, trouble_names[static_cast<int>(trouble)], troubled_worker, troubled_block,
                      trouble_s);
        return text;
    }

    /// On the worker, before it computes. False: the block is not computed.
    bool disturb(Argument& argument) {
        const int worker = starpu_worker_get_id();
        const int block = blocks[worker]++;
        double seconds = seconds_per_unit * static_cast<double>(argument.units);
        if (worker == troubled_worker && block == troubled_block && trouble != Trouble::none) {
            troubled = true;
            if (trouble == Trouble::fails) {
                apportion_block_failed("drawn to fail");
                return false;
            }
            seconds += trouble_s;
        }
        if (seconds > 0) starpu_sleep(static_cast<float>(seconds));
        return true;
    }

    bool compute(Argument& argument, const double* from, double* to, unsigned n) {
        if (!disturb(argument)) return false;
        for (unsigned i = 0; i < n; ++i) {
            // Written in two steps, as BLAS adds up partial sums: who stores late spoils what is there.
            if (data == Data::written) to[i] = -7;
            to[i] = (data == Data::in_place ? to[i] : 0) + 3 * from[i] + 1;
        }
        return true;
    }

    static void on_cpu(void* buffers[], void* arg) {
        auto& argument = *static_cast<Argument*>(arg);
        const auto* from = reinterpret_cast<const double*>(STARPU_VECTOR_GET_PTR(buffers[0]));
        auto* to = reinterpret_cast<double*>(STARPU_VECTOR_GET_PTR(buffers[1]));
        const unsigned n = STARPU_VECTOR_GET_NX(buffers[0]);
        if (!argument.self->compute(argument, from, to, n) || argument.self->data != Data::summed) return;
        auto& total = *reinterpret_cast<double*>(STARPU_VARIABLE_GET_PTR(buffers[2]));
        for (unsigned i = 0; i < n; ++i) total += from[i];
    }
#if defined STARPU_USE_OPENCL && !defined STARPU_SIMGRID
    static void on_opencl(void* buffers[], void* arg) {
        auto& argument = *static_cast<Argument*>(arg);
        on_opencl_device<double>(buffers, [&](const double* from, double* to, unsigned n) {
            argument.self->compute(argument, from, to, n);
        });
    }
#endif
    static void sum_begins(void* buffers[], void*) {
        *reinterpret_cast<double*>(STARPU_VARIABLE_GET_PTR(buffers[0])) = 0;
    }
    static void sum_adds(void* buffers[], void*) {
        *reinterpret_cast<double*>(STARPU_VARIABLE_GET_PTR(buffers[0])) +=
            *reinterpret_cast<double*>(STARPU_VARIABLE_GET_PTR(buffers[1]));
    }
    static starpu_codelet& sum_codelet(bool adds) {
        static starpu_codelet begin, add;
        static const bool made = [] {
            for (starpu_codelet* c : {&begin, &add}) starpu_codelet_init(c);
            begin.cpu_funcs[0] = sum_begins;
            begin.nbuffers = 1;
            begin.modes[0] = STARPU_W;
            add.cpu_funcs[0] = sum_adds;
            add.nbuffers = 2;
            add.modes[0] = static_cast<starpu_data_access_mode>(STARPU_RW | STARPU_COMMUTE);
            add.modes[1] = STARPU_R;
            return true;
        }();
        (void)made;
        return adds ? add : begin;
    }

    static double simulated_us(starpu_task* task, unsigned worker, unsigned) {
        auto& argument = *static_cast<Argument*>(task->cl_arg);
        StressLoad& self = *argument.self;
        const double speed = starpu_worker_get_type(static_cast<int>(worker)) == STARPU_CPU_WORKER ? 1 : 20;
        return 1e6 * (1e-6 + self.seconds_per_unit / speed * static_cast<double>(argument.units));
    }

    static int fill(starpu_task* task, apportion_block* block, void* arg) {
        auto& self = *static_cast<StressLoad*>(arg);
        const std::uint64_t first = block->first + block->units * block->part / self.parts;
        const std::uint64_t n = block->first + block->units * (block->part + 1) / self.parts - first;
        const int keep = self.keep ? APPORTION_KEEP : 0;
        const int mode = self.data == Data::in_place ? STARPU_RW : STARPU_W;
        STARPU_TASK_SET_HANDLE(task, apportion_block_vector(block, STARPU_R | keep, &self.x[first], n, sizeof(double)),
                               0);
        STARPU_TASK_SET_HANDLE(task, apportion_block_vector(block, mode | keep, &self.y[first], n, sizeof(double)), 1);
        if (self.data == Data::summed) STARPU_TASK_SET_HANDLE(task, self.sum_handle, 2);
        task->cl_arg = new (std::malloc(sizeof(Argument))) Argument{&self, n};
        task->cl_arg_size = sizeof(Argument);
        task->cl_arg_free = 1;
        return 0;
    }

    /// False: it was refused, as it had to be.
    bool create() {
        x.resize(units + 1);
        y.resize(units + 1);
        for (std::uint64_t i = 0; i < units; ++i) x[i] = static_cast<double>(i % 1000);
        starpu_codelet_init(&codelet);
        codelet.cpu_funcs[0] = on_cpu;
#if defined STARPU_USE_OPENCL && !defined STARPU_SIMGRID
        if (data != Data::summed) codelet.opencl_funcs[0] = on_opencl;
#endif
        codelet.nbuffers = data == Data::summed ? 3 : 2;
        codelet.modes[0] = STARPU_R;
        codelet.modes[1] = data == Data::in_place ? STARPU_RW : STARPU_W;
        codelet.modes[2] = STARPU_REDUX;
        codelet.name = "stress";
        if (kSimulated) {
            if (data != Data::summed) codelet.cuda_funcs[0] = on_cpu;
            model.type = STARPU_PER_WORKER;
            model.symbol = "stress";
            model.worker_cost_function = simulated_us;
            codelet.model = &model;
        }
        apportion::LoadOptions options("stress", units, codelet, fill, this);
        options.granularity = granularity;
        options.initial_block = initial;
        options.parts = parts;
        options.bytes_per_unit = 2 * sizeof(double);
        options.sched_ctx = context;
        options.runs = static_cast<unsigned>(submissions);
        if (data == Data::summed) {
            starpu_variable_data_register(&sum_handle, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(&sum), sizeof sum);
            starpu_data_set_reduction_methods(sum_handle, &sum_codelet(true), &sum_codelet(false));
        }
        apportion_use use{nullptr, STARPU_RW};
        if (graph) {
            starpu_vector_data_register(&graph_handle, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(y.data()),
                                        units + 1, sizeof(double));
            use.handle = graph_handle;
            options.uses = &use;
            options.uses_count = 1;
        }
        load = apportion_load_create(&options);
        if (!load) report(std::string("not created: ") + apportion_error() + "; " + describe());
        return load != nullptr;
    }

    bool submit(int submission) {
        if (submission == 0 || data != Data::in_place) std::fill(y.begin(), y.end(), 0);
        sum = 0;
        troubled = false;
        for (auto& count : blocks) count = 0;
        const int status = apportion_load_submit(load);
        if (status != 0) report(std::string("not submitted: ") + apportion_error() + "; " + describe());
        return status == 0;
    }

    /// Waits for a submission (from 0 on); false: there can be no further one.
    bool check(int submission) {
        const int status = apportion_load_wait(load);
        const std::string sentence = status == 0 ? "" : apportion_error();
        const bool starpus = find_starpu_scheduler(apportion_load_policy(load)) != nullptr;
        if (status != 0) {
            // What cannot be computed by anybody else: under StarPU's schedulers nothing, and a group may be all.
            const bool may_fail =
                trouble == Trouble::fails && troubled &&
                (starpus || parts > 1 || grouped || data == Data::summed || starpu_worker_get_count() == 1);
            if (!may_fail) report("status " + std::to_string(status) + ": " + sentence + "; " + describe());
            return false;
        }
        if (keep && apportion_load_release(load) != 0) report("not released: " + describe());
        if (kSimulated) return true;
        const double factor = data == Data::in_place ? submission + 1 : 1;
        std::uint64_t wrong = 0;
        double expected_sum = 0;
        for (std::uint64_t i = 0; i < units; ++i) {
            wrong += y[i] != factor * (3 * x[i] + 1);
            expected_sum += x[i];
        }
        if (wrong > 0)
            report(std::to_string(wrong) + " results of submission " + std::to_string(submission) + "; " + describe() +
                   "; " + apportion_load_report(load));
        if (data == Data::summed && sum != expected_sum)
            report("sum " + std::to_string(sum) + " for " + std::to_string(expected_sum) + "; " + describe());
        return true;
    }
};

}  // namespace apportion::test
