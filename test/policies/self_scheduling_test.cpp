// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The self-scheduling family: each law on the literature's example of 1000 iterations on 4 processors, or where it
// depends on times, on an example computed by hand from the published formula.
#include <cmath>
#include <numeric>
#include <set>

#include "test/catch.hpp"
#include "test/fake_platform.hpp"

using namespace apportion;
using namespace apportion::test;

namespace {

const char* const kFamily[] = {"gss", "tss", "fac2", "awf-c", "af"};

/// A load that a policy is asked for blocks of, one processor and one block after the other.
class Asked final : public Progress {
  public:
    Asked(const char* policy, Units units, int processors, Units granularity = 1, Units initial_block = 1)
        : policy_(find_policy(policy)->make()), remaining_(units) {
        load_.units = units;
        load_.granularity = granularity;
        load_.initial_block = initial_block;
        for (int p = 0; p < processors; ++p) load_.processors.push_back({"p" + std::to_string(p), 0, false, kNoLimit});
        policy_->begin(load_);
    }

    /// The next block, of at most `most` units; `finished_in_s`: it is finished, after so long.
    Units ask(int processor, double finished_in_s = 0, Units most = kNoLimit) {
        const Units units = std::min({policy_->next_block(processor, 0, *this), most, remaining_});
        remaining_ -= units;
        if (finished_in_s > 0) finish(processor, units, finished_in_s);
        return units;
    }

    void finish(int processor, Units units, double seconds) {
        FinishedBlock block;
        block.processor = processor;
        block.units = units;
        block.end_s = block.busy_s = seconds;
        policy_->block_finished(block);
    }

    void lose(int processor, Units returned) {
        policy_->processor_lost(processor);
        lost_.insert(processor);
        remaining_ += returned;
    }

    /// Blocks of all that is left, handed out in turn.
    std::vector<Units> rest() {
        std::vector<Units> blocks;
        for (int p = 0; remaining_ > 0; p = (p + 1) % static_cast<int>(load_.processors.size()))
            if (!lost_.contains(p)) blocks.push_back(ask(p));
        return blocks;
    }

    void begin_again() {
        remaining_ = load_.units;
        ++load_.run;
        policy_->begin(load_);
    }

    Policy& policy() { return *policy_; }
    Units remaining() const override { return remaining_; }
    std::span<const BlockInFlight> in_flight(int) const override { return {}; }
    Units room(int) const override { return kNoLimit; }

  private:
    std::unique_ptr<Policy> policy_;
    LoadDescription load_;
    Units remaining_;
    std::set<int> lost_;
};

using Blocks = std::vector<Units>;

/// mu and s^2 of a granule as af computes them from blocks of its chunk.
struct Statistics {
    double mean = 0, variance = 0;
};

Statistics statistics(const std::vector<std::pair<double, double>>& blocks) {  // granules, seconds
    double granules = 0, seconds = 0, deviations = 0;
    for (auto [n, t] : blocks) granules += n, seconds += t;
    const double mean = seconds / granules;
    for (auto [n, t] : blocks) deviations += n * std::pow(t / n - mean, 2);
    return {mean, deviations / static_cast<double>(blocks.size() - 1)};
}

Units published_af(const std::vector<Statistics>& all, std::size_t own, double left) {
    double d = 0, t = 0;
    for (const Statistics& each : all) d += each.variance / each.mean, t += 1 / each.mean;
    t = 1 / t;
    return static_cast<Units>(
        std::ceil((d + 2 * t * left - std::sqrt(d * d + 4 * d * t * left)) / (2 * all[own].mean) - 1e-9));
}

}  // namespace

TEST_CASE("gss hands out a P-th of what is left") {
    CHECK(Asked("gss", 1000, 4).rest() ==
          Blocks{250, 188, 141, 106, 79, 59, 45, 33, 25, 19, 14, 11, 8, 6, 4, 3, 3, 2, 1, 1, 1, 1});
}

TEST_CASE("tss shrinks its blocks by equal steps from half of an equal share") {
    CHECK(Asked("tss", 1000, 4).rest() == Blocks{125, 117, 109, 101, 93, 85, 77, 69, 61, 53, 45, 37, 28});
}

TEST_CASE("fac2 hands out half of what is left in batches of P equal blocks") {
    Blocks batches;
    for (Units each : {125, 63, 31, 16, 8, 4, 2, 1}) batches.insert(batches.end(), 4, each);
    CHECK(Asked("fac2", 1000, 4).rest() == batches);
}

TEST_CASE("awf-c weights a 2P-th of what is left by speeds in which the k-th block counts k times") {
    Asked load("awf-c", 10'000, 2, 1, 100);
    CHECK(load.ask(0, 1) == 100);    // 100 a second; nobody else is measured, so its weight is 1
    CHECK(load.ask(0, 10) == 2475);  // a quarter of 9900; (1 * 1 + 2 * 10) / (1 * 100 + 2 * 2475) = 21 / 5050
    CHECK(load.ask(1, 2) == 100);    // 50 a second
    // A 4th of 7325 is 1832, rounded up; speeds 240.476 and 50, weights 2 * 240.476 / 290.476 and 2 * 50 / 290.476.
    CHECK(load.ask(1) == 631);   // 630.7
    CHECK(load.ask(0) == 2772);  // 1.65574 * 1674, the 4th of 6694
    CHECK(load.policy().report().models.at(0).samples == 2);
}

TEST_CASE("af hands out what the processor is likely to finish before the common end, in ten blocks") {
    Asked load("af", 100'000, 2, 1, 100);
    std::vector<std::pair<double, double>> fast, slow;
    for (int block = 0; block < 10; ++block) {
        const double fast_s = 1 + 0.5 * (block % 3), slow_s = 4 - 2 * (block % 2);
        REQUIRE(load.ask(0, fast_s) == 10);
        REQUIRE(load.ask(1, slow_s) == 10);
        fast.emplace_back(10, fast_s);
        slow.emplace_back(10, slow_s);
    }
    const std::vector<Statistics> both{statistics(fast), statistics(slow)};
    const Units chunk = published_af(both, 0, 99'800);
    const double by_speed = 99'800 * both[1].mean / (both[0].mean + both[1].mean);
    CHECK(static_cast<double>(chunk) < by_speed - 100);
    CHECK(static_cast<double>(chunk) > 0.9 * by_speed);
    const Units block = (chunk + 9) / 10;
    CHECK(load.ask(0) == block);
    const Units of_slow = published_af(both, 1, static_cast<double>(99'800 - block));
    CHECK(load.ask(1) == (of_slow + 9) / 10);
    for (int k = 1; k < 9; ++k) CHECK(load.ask(0) == block);
    CHECK(load.ask(0) == chunk - 9 * block);
}

TEST_CASE("af gives shares by speed where times do not vary, and takes its own speed for who is not measured") {
    Asked load("af", 11'000, 2, 1, 10);
    for (int block = 0; block < 10; ++block) REQUIRE(load.ask(0, 1) == 1);
    CHECK(load.ask(0, 100) == 550);  // a tenth of a half of 10 990, rounded up twice
    for (int block = 0; block < 10; ++block) REQUIRE(load.ask(1, 4) == 1);
    CHECK(load.ask(1) == 209);  // a tenth of a fifth of 10 430
}

TEST_CASE("the self-scheduling laws count granules") {
    for (const char* policy : kFamily) {
        INFO(policy);
        const Blocks single = Asked(policy, 1000, 4, 1, 10).rest(), eights = Asked(policy, 8000, 4, 8, 80).rest();
        REQUIRE(single.size() == eights.size());
        for (std::size_t k = 0; k < single.size(); ++k) CHECK(8 * single[k] == eights[k]);
    }
}

TEST_CASE("the self-scheduling laws count the processors that are not lost") {
    for (const char* policy : {"gss", "fac2", "tss"}) {
        INFO(policy);
        Asked load(policy, 1000, 5);
        load.lose(4, 0);
        CHECK(load.rest() == Asked(policy, 1000, 4).rest());
    }
    Asked load("awf-c", 10'000, 3, 1, 100);
    for (int p : {0, 1, 2}) load.ask(p, p < 2 ? 1 : 0.01);
    load.lose(2, 100);
    CHECK(load.ask(0) == 2450);  // a 4th of 9800; the fast one's weight is gone with it
}

TEST_CASE("what comes back from a lost processor, or does not fit a memory, is handed out in few blocks") {
    for (const char* policy : kFamily) {
        INFO(policy);
        Asked load(policy, 1'000'000, 4, 1, 1000);
        Units kept = 0;
        for (int p = 0; kept < 900'000; p = (p + 1) % 4) kept += load.ask(p, 1, 50'000);
        load.lose(3, 500'000);
        const Blocks rest = load.rest();
        CHECK(std::accumulate(rest.begin(), rest.end(), Units{0}) == 1'500'000 - kept);
        CHECK(rest.size() < 300);
    }
}

TEST_CASE("awf-c begins the next run of a load with what it has measured, af measures again") {
    for (const char* policy : {"awf-c", "af"}) {
        INFO(policy);
        Asked load(policy, 100'000, 2, 1, 10);
        for (int block = 0; block < 10; ++block) {
            load.ask(0, 0.1);
            load.ask(1, 0.1);
        }
        load.begin_again();
        const Units first = load.ask(0);
        CHECK((std::string(policy) == "awf-c" ? first > 10'000 : first == 1));
    }
}

TEST_CASE("measuring laws are near the ideal on unlike processors, laws that do not measure are not") {
    const FakePlatform platform = plain_platform({9000, 900, 100}, 1e-4);
    const auto over_ideal = [&](const char* name) {
        const auto policy = find_policy(name)->make();
        return run(platform, *policy, platform.load(100'000)).makespan_s / 10;
    };
    CHECK(over_ideal("awf-c") < 1.1);
    CHECK(over_ideal("af") < 1.1);
    CHECK(over_ideal("fac2") > 10);
    CHECK(over_ideal("tss") > 10);
    CHECK(over_ideal("gss") > 10);
}
