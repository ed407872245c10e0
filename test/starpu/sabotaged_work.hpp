// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A load whose codelet can be made to fail, to stall and to change its speed, and counts what it computes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "policies/starpu/apportion.hpp"
#include "test/catch.hpp"
#include "test/folder.hpp"
#include "test/starpu/codelet.hpp"

namespace apportion::test {

constexpr int kUnits = 3000;
constexpr double kSecondsPerUnit = 2e-5;
constexpr double kLook_s = 0.02;  ///< between two looks whether something has happened

struct Sabotage {
    int worker = -1;  ///< -1: none; kAll: every one; kFirst: the one that begins first, as a known one may get nothing
    int block = 0;    ///< which of its blocks of a submission, from 0 on
    static constexpr int kAll = -2, kFirst = -3;

    bool hits(int w, int b) const { return (worker == kAll || worker == w) && b == block; }
};

/// y = 3 x + 1, or y += 3 x + 1 in place, or then z = 3 y + 1; counts how often the codelet computed each unit.
struct Work {
    std::vector<double> x = std::vector<double>(kUnits), y = std::vector<double>(kUnits);
    std::vector<double> z = std::vector<double>(kUnits);
    std::vector<std::atomic<int>> computed = std::vector<std::atomic<int>>(kUnits);
    std::atomic<int> blocks[STARPU_NMAXWORKERS] = {};
    // What a test changes while a stalled task of an earlier run still reads it is atomic.
    std::atomic<Sabotage> fails = Sabotage{}, stalls = Sabotage{};
    std::atomic<int> first = -1;  ///< to stall in this run, of kFirst
    int failing_part = 0;         ///< kAll: every one
    bool fails_in_epilogue = false;
    static constexpr double kUntilReleased = 60;  ///< seconds at most, so that a test that fails ends
    double stall_s = kUntilReleased;
    std::atomic<bool> stalls_until_again = false;  ///< until something is computed again, that is, and at most stall_s
    std::atomic<bool> released = false;            ///< what stalls goes on
    std::atomic<int> refused = 0;                  ///< calls of apportion_block_failed that were
    std::atomic<int> stalled = 0;                  ///< tasks that stall now
    std::atomic<int> computing = 0;                ///< tasks that compute now
    std::atomic<double> slowdown_of_0 = 1, slowdown_of_others = 1;
    std::atomic<bool> cores_wait = false;                  ///< until something stalls
    std::atomic<double> again_s = 0;                       ///< what is filled again in a run takes so much longer
    std::vector<char> filled = std::vector<char>(kUnits);  ///< in this run
    std::atomic<bool> computes_again = false;
    unsigned parts = 1;
    int keep = 0;  ///< of y: APPORTION_KEEP, or not
    bool computes_z = false;

    struct Part {
        Work* work;
        std::uint64_t first;
        unsigned part;
        bool again = false;
        bool failed = false;
    };

    Work() {
        for (int i = 0; i < kUnits; ++i) x[i] = i;
    }

    bool seen_again() const { return stalls_until_again && computes_again; }

    // A stalled task of a lost worker writes its results, the same ones, while others read them.
    static void store(double& y, double value) { std::atomic_ref(y).store(value); }

    static void compute(Part& part, const double* x, double* y, unsigned units) {
        Work& work = *part.work;
        const int worker = starpu_worker_get_id();
        const int block = work.blocks[worker];
        if (part.part + 1 == work.parts) ++work.blocks[worker];
        const bool part_fails = work.failing_part == Sabotage::kAll || static_cast<int>(part.part) == work.failing_part;
        if (work.fails.load().hits(worker, block) && part_fails) {
            part.failed = true;
            if (!work.fails_in_epilogue) work.refused += apportion_block_failed("the device is on fire") != 0;
            return;
        }
        const Sabotage sabotage = work.stalls;
        int nobody = -1;
        const bool stalls =
            part.part == 0 && (sabotage.worker == Sabotage::kFirst ? work.first.compare_exchange_strong(nobody, worker)
                                                                   : sabotage.hits(worker, block));
        if (stalls) {
            ++work.stalled;
            for (double slept_s = 0; slept_s < work.stall_s && !work.released && !work.seen_again(); slept_s += kLook_s)
                starpu_sleep(static_cast<float>(kLook_s));
        }
        const bool waits = work.cores_wait && starpu_worker_get_type(worker) == STARPU_CPU_WORKER;
        for (double slept_s = 0; waits && work.stalled == 0 && slept_s < kUntilReleased; slept_s += kLook_s)
            starpu_sleep(static_cast<float>(kLook_s));
        const bool in_place = starpu_task_get_current()->cl == &codelet(true);
        ++work.computing;
        if (part.again) work.computes_again = true;
        const double slowdown = worker == 0 ? work.slowdown_of_0 : work.slowdown_of_others;
        const double longer_s = part.again ? work.again_s.load() : 0;
        starpu_sleep(static_cast<float>(kSecondsPerUnit * units * slowdown + longer_s));
        for (unsigned i = 0; i < units; ++i) {
            store(y[i], (in_place ? y[i] : 0) + 3 * x[i] + 1);
            ++work.computed[part.first + i];
        }
        --work.computing;
        if (stalls) --work.stalled;
    }

    static void on_cpu(void* buffers[], void* arg) {
        compute(*static_cast<Part*>(arg), reinterpret_cast<const double*>(STARPU_VECTOR_GET_PTR(buffers[0])),
                reinterpret_cast<double*>(STARPU_VECTOR_GET_PTR(buffers[1])), STARPU_VECTOR_GET_NX(buffers[0]));
    }

    static void epilogue(void* arg) {
        const auto& part = *static_cast<Part*>(arg);
        if (part.failed && part.work->fails_in_epilogue) part.work->refused += apportion_block_failed(nullptr) != 0;
    }

    static int fill(starpu_task* task, apportion_block* block, void* arg) {
        auto& self = *static_cast<Work*>(arg);
        const std::uint64_t first = block->first + block->units * block->part / self.parts;
        const std::uint64_t end = block->first + block->units * (block->part + 1) / self.parts;
        double* const y = &self.y[first];
        double* const from = self.computes_z ? y : &self.x[first];
        double* const to = self.computes_z ? &self.z[first] : y;
        const int keep_from = self.computes_z ? self.keep : 0, keep_to = self.keep - keep_from;
        task->handles[0] = apportion_block_vector(block, STARPU_R | keep_from, from, end - first, sizeof(double));
        task->handles[1] = apportion_block_vector(block, STARPU_W | keep_to, to, end - first, sizeof(double));
        task->cl_arg = new Part{&self, first, block->part, self.filled[first] != 0};
        self.filled[first] = 1;
        task->epilogue_callback_func = epilogue;
        task->epilogue_callback_arg = task->cl_arg;
        self.arguments.emplace_back(static_cast<Part*>(task->cl_arg));
        return 0;
    }
    std::vector<std::unique_ptr<Part>> arguments;  ///< fill is never called twice at once

    static inline starpu_opencl_func_t on_opencl =
        nullptr;  ///< set before the first load, where there is such a device

    static starpu_codelet& codelet(bool in_place) {
        static starpu_codelet write = make_codelet(on_cpu, {STARPU_R, STARPU_W}, "write", on_opencl),
                              change = make_codelet(on_cpu, {STARPU_R, STARPU_RW}, "in_place", on_opencl);
        return in_place ? change : write;
    }

    apportion_load_options options(bool in_place = false) {
        apportion::LoadOptions o("work", kUnits, codelet(in_place), fill, this);
        o.parts = parts;
        o.granularity = parts;
        return o;
    }

    /// Later blocks do not stall; what stalls goes on.
    void release() {
        stalls = Sabotage{};
        released = true;
    }
    void wait_for_the_stalled() const {
        do starpu_sleep(static_cast<float>(kLook_s));
        while (stalled > 0);
    }

    void forget_results() {
        computes_again = false;
        first = -1;
        for (double& value : computes_z ? z : y) store(value, 0);
        for (auto& count : computed) count = 0;
        for (auto& count : blocks) count = 0;
        std::ranges::fill(filled, 0);
    }
    int wrong() {
        int count = 0;
        for (int i = 0; i < kUnits; ++i)
            count += std::atomic_ref((computes_z ? z : y)[i]).load() != (computes_z ? 9.0 * i + 4 : 3.0 * i + 1);
        return count;
    }
    bool computed_once() const {
        return std::ranges::all_of(computed, [](const auto& count) { return count == 1; });
    }
};

/// A load that takes workers for lost early, however slow the first blocks are on a busy machine.
inline Load create_impatient(const apportion_load_options& options, const char* stall_factor = "2") {
    const Setting impatient("APPORTION_STALL_FACTOR", stall_factor);
    return Load(options);
}

/// Returns the error that ends it, or 0.
inline int run(Work& work, const Load& load) {
    work.forget_results();
    const int submitted = apportion_load_submit(load.get());
    return submitted ? submitted : apportion_load_wait(load.get());
}

/// ... which is none: its results are right.
inline void run_right(Work& work, const Load& load) {
    const int status = run(work, load);
    INFO(apportion_error());
    REQUIRE(status == 0);
    CHECK(work.wrong() == 0);
}

/// ... and nobody computed a unit again.
inline void run_right_once(Work& work, const Load& load) {
    run_right(work, load);
    CHECK(work.computed_once());
}

/// What stalls goes on; until it has ended the load cannot be submitted again.
inline int run_when_released(Work& work, const Load& load) {
    CHECK(apportion_load_submit(load.get()) == -EBUSY);
    work.release();
    int status = -EBUSY;
    while (status == -EBUSY) {
        work.wait_for_the_stalled();  // StarPU hears of the task's end a little later
        status = run(work, load);
    }
    return status;
}

/// Of the last run.
inline nlohmann::json report_of(const Load& load) { return nlohmann::json::parse(load.report()); }

}  // namespace apportion::test
