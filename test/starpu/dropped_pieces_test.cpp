// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pieces of a late block of which several are handed out at once, and that are not needed any more before they are
// filled. Under equal, so that blocks are large and both others have nothing to do when one is late.
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "policies/starpu/apportion.hpp"
#include "test/catch.hpp"
#include "test/starpu/codelet.hpp"

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kUnits = 10'000;
constexpr std::uint64_t kLarge = 100;  ///< a block of so many units becomes a piece for each of two others

/// An open load on three workers. When asked to, it makes one block late, until the first piece of it is being filled.
struct LateOnce {
    std::vector<double> y = std::vector<double>(kUnits);
    std::atomic<bool> may_be_late = false, ends = false;
    std::atomic<std::uint64_t> late_first = 0, late_units = 0, handed_over = 0, done = 0;
    std::atomic<int> late_worker = -1, pieces = 0;
    std::atomic<int> units_of[STARPU_NMAXWORKERS] = {};
    apportion_load* load = nullptr;

    static bool waits(const std::function<bool()>& until) {
        for (int k = 0; k < 10'000 && !until(); ++k) std::this_thread::sleep_for(1ms);
        return until();
    }

    void compute(const apportion_block& block, double* results) {
        const int worker = starpu_worker_get_id();
        int nobody = -1;
        if (may_be_late && block.units >= kLarge && late_worker.compare_exchange_strong(nobody, worker)) {
            late_first = block.first;
            late_units = block.units;
            waits([&] { return ends.load(); });
        } else {
            std::this_thread::sleep_for(1ms * block.units);
        }
        units_of[worker] += static_cast<int>(block.units);
        for (std::uint64_t k = 0; k < block.units; ++k) std::atomic_ref(results[k]).store(1);  // a piece may as well
    }

    static int fill(starpu_task* task, apportion_block* block, void* arg) {
        auto& self = *static_cast<LateOnce*>(arg);
        const std::uint64_t begin = self.late_first, units = self.late_units;
        if (units > 0 && block->first >= begin && block->first < begin + units && self.pieces++ == 0) {
            self.ends = true;
            std::this_thread::sleep_for(60ms);  // the late block ends meanwhile
        }
        task->handles[0] = apportion_block_vector(block, STARPU_W, &self.y[block->first], block->units, sizeof(double));
        return 0;
    }

    bool compute_more(std::uint64_t units) {
        for (std::atomic<int>& its : units_of) its = 0;
        if (apportion_load_add(load, handed_over, units) != 0) return false;
        handed_over += units;
        return waits([&] { return done == handed_over; });
    }
};

LateOnce* current = nullptr;

void on_cpu(void* buffers[], void* block) {
    current->compute(*static_cast<const apportion_block*>(block),
                     reinterpret_cast<double*>(STARPU_VECTOR_GET_PTR(buffers[0])));
}

}  // namespace

TEST_CASE("who was to compute a piece that is dropped before it is filled gets other blocks", "[.dropped][once]") {
    LateOnce work;
    current = &work;
    static starpu_codelet codelet = apportion::test::make_codelet(on_cpu, {STARPU_W}, "dropped pieces");
    apportion::LoadOptions options("dropped pieces", kUnits, codelet, LateOnce::fill, &work);
    options.open = 1;
    options.results_stay = 1;
    options.initial_block = 5;
    options.done = [](const apportion_done* done, void* arg) { static_cast<LateOnce*>(arg)->done += done->units; };
    const apportion::Load load(options);
    work.load = load.get();
    REQUIRE(apportion_load_submit(work.load) == 0);
    REQUIRE(work.compute_more(300));
    int times_with_pieces = 0;  // the late block may have ended before anybody was idle
    for (int time = 0; time < 10 && times_with_pieces < 3; ++time) {
        INFO("time " << time);
        work.ends = false;
        work.late_worker = -1;
        work.late_units = 0;
        work.pieces = 0;
        work.may_be_late = true;
        REQUIRE(work.compute_more(600));
        work.may_be_late = false;
        REQUIRE(work.compute_more(300));
        for (int worker = 0; worker < 3; ++worker) CHECK(work.units_of[worker] > 0);
        times_with_pieces += work.pieces > 0;
    }
    CHECK(times_with_pieces > 0);
    CHECK(apportion_load_close(work.load) == 0);
    CHECK(apportion_load_wait(work.load) == 0);
}
