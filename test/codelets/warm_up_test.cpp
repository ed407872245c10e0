// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The blocks that the warm-up asks for, on kernels whose times are given: nothing is computed and no clock is read.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "codelets/common/warm_up.hpp"
#include "test/catch.hpp"

using namespace apportion;

namespace {

/// A kernel on a few workers: one unit takes unit_s[w], a block at least floor_s[w], the first of all set_up_s[w] more.
struct FakeKernel {
    std::vector<double> unit_s, floor_s, set_up_s;
    std::vector<std::vector<std::uint64_t>> asked;  ///< units of every run of each worker
    std::vector<double> spent_s;                    ///< but for the set-up
    std::uint64_t most_at_once = 0;

    explicit FakeKernel(std::vector<double> seconds_of_a_unit)
        : unit_s(std::move(seconds_of_a_unit)),
          floor_s(unit_s.size()),
          set_up_s(unit_s.size()),
          asked(unit_s.size()),
          spent_s(unit_s.size()) {}

    std::vector<double> run(std::span<const std::uint64_t> units) {
        most_at_once = std::max(most_at_once, std::accumulate(units.begin(), units.end(), std::uint64_t{0}));
        std::vector<double> seconds(units.size());
        for (std::size_t w = 0; w < units.size(); ++w) {
            if (units[w] == 0) continue;
            const double kernel_s = std::max(floor_s[w], unit_s[w] * static_cast<double>(units[w]));
            seconds[w] = kernel_s + (asked[w].empty() ? set_up_s[w] : 0);
            spent_s[w] += kernel_s;
            asked[w].push_back(units[w]);
        }
        return seconds;
    }

    std::vector<std::vector<MeasuredBlock>> measure(const std::vector<WarmUpWorker>& workers, const WarmUpLoad& load) {
        return measure_growing_blocks(workers, load, [&](auto units) { return run(units); });
    }
};

constexpr WarmUpWorker kCore{true, false}, kDevice{true, true}, kUnable{};

std::vector<std::uint64_t> sizes(const std::vector<MeasuredBlock>& blocks) {
    std::vector<std::uint64_t> result;
    for (const MeasuredBlock& block : blocks) result.push_back(block.units);
    return result;
}

using Sizes = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("the warm-up begins with one unit and grows until a block takes 0.3 s") {
    FakeKernel kernel({0.01});
    const auto blocks = kernel.measure({kCore}, {1000});
    CHECK(sizes(blocks[0]) == Sizes{1, 4, 16});
    CHECK(blocks[0][1].seconds == Approx(0.04));
    CHECK(kernel.asked[0] == Sizes{1, 1, 1, 1, 1, 4, 4, 4, 4, 4, 16, 16});
}

TEST_CASE("the warm-up's blocks are multiples of the granularity, where the load has so many units") {
    FakeKernel kernel({0.01});
    CHECK(sizes(kernel.measure({kCore}, {1000, 8})[0]) == Sizes{8});
    CHECK(sizes(kernel.measure({kCore}, {3, 8})[0]) == Sizes{3});
    CHECK(kernel.measure({kCore}, {0})[0].empty());
}

TEST_CASE("a smallest block that takes longer than the warm-up may is computed once") {
    FakeKernel kernel({3.0, 1.5});
    const auto blocks = kernel.measure({kCore, kCore}, {64});
    CHECK(kernel.asked[0] == Sizes{1});
    CHECK(kernel.asked[1] == Sizes{1});
    CHECK(blocks[0][0].seconds == 3);
}

TEST_CASE("no worker computes for more than the warm-up's limit, however fast it is") {
    for (const double limit_s : {2.0, 1.0, 0.5})
        for (double unit_s = 1e-9; unit_s < limit_s; unit_s *= 1.1) {
            FakeKernel kernel({unit_s, unit_s, 1e-4});
            kernel.floor_s = {0, 1e-5, 0};
            kernel.measure({kCore, kCore, kCore}, {1'000'000'000, 1, limit_s});
            CAPTURE(limit_s, unit_s, kernel.asked);
            for (const double spent_s : kernel.spent_s) REQUIRE(spent_s <= limit_s * (1 + 1e-9));
        }
}

TEST_CASE("a device's first block sets it up and is not counted, however long it takes") {
    FakeKernel kernel({1e-3, 3.0});
    kernel.set_up_s = {5, 0};
    const auto blocks = kernel.measure({kDevice, kCore}, {64});
    CHECK(blocks[0][0].seconds == Approx(1e-3));
    CHECK(sizes(blocks[0]) == Sizes{1, 4, 16, 64});  // a slow core does not keep it from larger blocks
    CHECK(blocks[1].size() == 1);
}

TEST_CASE("blocks of the warm-up do not overlap, and devices go first where there are not enough units") {
    FakeKernel kernel(std::vector<double>(16, 1e-6));
    std::vector<WarmUpWorker> workers(16, kCore);
    workers[0] = kDevice;
    const auto blocks = kernel.measure(workers, {80});
    CHECK(kernel.most_at_once <= 80);
    CHECK(sizes(blocks[0]) == Sizes{1, 4, 16, 64});
    CHECK(sizes(blocks[1]) == Sizes{1, 4, 16});
    CHECK(sizes(blocks[15]) == Sizes{1, 4});

    FakeKernel few(std::vector<double>(16, 1e-6));
    const auto of_eight = few.measure(workers, {8});
    CHECK(few.most_at_once <= 8);
    CHECK(sizes(of_eight[0]) == Sizes{1, 4});
    CHECK(of_eight[8].empty());
}

TEST_CASE("workers that cannot run the kernel are not asked to") {
    FakeKernel kernel({1e-6, 1e-6});
    const auto blocks = kernel.measure({kUnable, kDevice}, {1000});
    CHECK(kernel.asked[0].empty());
    CHECK(blocks[0].empty());
    CHECK(!blocks[1].empty());
}

TEST_CASE("without a measurement the time is unknown") { CHECK(std::isnan(MeasuredTimes().seconds(1))); }

TEST_CASE("one measurement means constant speed") {
    MeasuredTimes times;
    times.add(10, 2);
    CHECK(times.seconds(5) == Approx(1));
    CHECK(times.seconds(40) == Approx(8));
}

TEST_CASE("times are interpolated between measurements and go on along the last segment") {
    MeasuredTimes times;
    times.add(10, 3);
    times.add(20, 4);
    times.add(40, 8);
    CHECK(times.seconds(5) == Approx(1.5));
    CHECK(times.seconds(10) == Approx(3));
    CHECK(times.seconds(15) == Approx(3.5));
    CHECK(times.seconds(30) == Approx(6));
    CHECK(times.seconds(100) == Approx(20));
}

TEST_CASE("a larger block that seemed faster does not make times fall") {
    MeasuredTimes times;
    times.add(10, 3);
    times.add(20, 2);
    CHECK(times.seconds(15) == Approx(3));
    CHECK(times.seconds(1000) >= 3);
}
