// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a task sees that computes on a copy of the application's data.
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <vector>

#include "policies/starpu/apportion.hpp"
#include "test/catch.hpp"
#include "test/starpu/codelet.hpp"

using namespace apportion::test;

namespace {

constexpr std::size_t kRows = 4000, kColumns = 5, kLd = 8;

/// Rows of a matrix of which each begins at a multiple of 64 bytes.
struct Padded {
    struct alignas(64) Row {
        std::array<double, kLd> values{};
    };
    std::vector<Row> rows = std::vector<Row>(kRows);
    std::atomic<int> copies = 0, elsewhere_in_page = 0, other_ld = 0;

    void compute(const apportion_block& block, double* y, std::size_t ld) {
        const auto address = reinterpret_cast<std::uintptr_t>(y),
                   home = reinterpret_cast<std::uintptr_t>(&rows[block.first]);
        copies += address != home;
        elsewhere_in_page += address % 4096 != home % 4096;
        other_ld += ld != kLd;
        for (std::size_t r = 0; r < block.units; ++r)
            for (std::size_t c = 0; c < kColumns; ++c) y[r * ld + c] = static_cast<double>(block.first + r + c);
    }
    static void on_cpu(void* buffers[], void* block);
    static int fill(starpu_task* task, apportion_block* block, void* arg) {
        auto& self = *static_cast<Padded*>(arg);
        task->handles[0] = apportion_block_matrix(block, STARPU_W, &self.rows[block->first], kLd, kColumns,
                                                  block->units, sizeof(double));
        return 0;
    }
};

Padded* padded = nullptr;

void Padded::on_cpu(void* buffers[], void* block) {
    padded->compute(*static_cast<const apportion_block*>(block),
                    reinterpret_cast<double*>(STARPU_MATRIX_GET_PTR(buffers[0])), STARPU_MATRIX_GET_LD(buffers[0]));
}

/// Units of which each is more than a thread's heap may grow to without more address space.
struct Large {
    static constexpr std::size_t kUnits = 4, kElements = 9 << 20;

    std::vector<double> y = std::vector<double>(kUnits * kElements, -1);
    static inline std::atomic<bool> late = false;  ///< the next block is

    static void on_cpu(void* buffers[], void* block) {
        if (late.exchange(false)) starpu_sleep(1.5F);
        auto* const y = reinterpret_cast<double*>(STARPU_VECTOR_GET_PTR(buffers[0]));
        std::fill_n(y, STARPU_VECTOR_GET_NX(buffers[0]),
                    static_cast<double>(static_cast<const apportion_block*>(block)->first));
    }
    static int fill(starpu_task* task, apportion_block* block, void* arg) {
        auto& self = *static_cast<Large*>(arg);
        task->handles[0] = apportion_block_vector(block, STARPU_W, &self.y[block->first * kElements],
                                                  block->units * kElements, sizeof(double));
        return 0;
    }
};

/// While it lives, the process gets only so much more memory.
class MemoryLeft {
  public:
    explicit MemoryLeft(rlim_t bytes) {
        rlim_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        getrlimit(RLIMIT_AS, &before_);
        const rlimit limit{pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + bytes, before_.rlim_max};
        setrlimit(RLIMIT_AS, &limit);
    }
    ~MemoryLeft() { setrlimit(RLIMIT_AS, &before_); }
    MemoryLeft(const MemoryLeft&) = delete;
    MemoryLeft& operator=(const MemoryLeft&) = delete;

  private:
    rlimit before_{};
};

}  // namespace

TEST_CASE("a copy lies in its page and has gaps between rows as the application's memory", "[once]") {
    Padded work;
    padded = &work;
    starpu_codelet codelet = make_codelet(Padded::on_cpu, {STARPU_W}, "padded");
    {
        const apportion::Load load(apportion::LoadOptions("padded", kRows, codelet, Padded::fill, &work));
        REQUIRE(apportion_load_submit(load.get()) == 0);
        REQUIRE(apportion_load_wait(load.get()) == 0);
    }
    CHECK(work.copies > 0);  // of first blocks
    CHECK(work.elsewhere_in_page == 0);
    CHECK(work.other_ld == 0);
    bool right = true;
    for (std::size_t r = 0; r < kRows; ++r)
        for (std::size_t c = 0; c < kColumns; ++c)
            right = right && work.rows[r].values[c] == static_cast<double>(r + c);
    CHECK(right);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they end the program without memory
TEST_CASE("first blocks are computed in place where there is no memory for a copy, and late ones left alone",
          "[once]") {
    Large work;
    starpu_codelet codelet = make_codelet(Large::on_cpu, {STARPU_W}, "large");
    apportion::LoadOptions options("large", Large::kUnits, codelet, Large::fill, &work);
    options.results_stay = 1;  // so that late ones would be computed again
    const apportion::Load load(options);
    mallopt(M_MMAP_THRESHOLD, 1 << 20);  // what a run before has freed is not there for a copy
    for (const bool late : {false, false, true}) {
        std::ranges::fill(work.y, -1.0);
        Large::late = late;
        const MemoryLeft limit(Large::kElements * sizeof(double) / 2);
        CHECK(apportion_load_submit(load.get()) == 0);
        CHECK(apportion_load_wait(load.get()) == 0);
        CHECK(std::ranges::count(work.y, -1.0) == 0);
    }
}
#endif
