// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Workers that still compute what others took over, and other loads meanwhile. [silent]: no matter of the policy.
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "test/starpu/sabotaged_work.hpp"

using namespace apportion::test;

namespace {

using apportion::Load;
using Json = nlohmann::json;

std::vector<int> lost_by(const Load& load) {
    std::vector<int> processors;
    const auto report = report_of(load);
    for (const auto& lost : report.at("lost_processors")) processors.push_back(lost.at("processor"));
    return processors;
}

/// Others take over a block that it still computes.
void leave_worker_1_behind(Work& work, const Load& load) {
    work.stalls = Sabotage{.worker = 1};
    for (int k = 0; k < 20 && work.stalled == 0; ++k) REQUIRE(run(work, load) == 0);  // until it gets a block
    REQUIRE(work.stalled == 1);
}

}  // namespace

TEST_CASE("while a worker computes what others took over, no load gives it a block, and afterwards all do",
          "[silent]") {
    Work work, other;
    auto options = work.options();
    options.results_stay = 1;
    {
        Load load = create_impatient(options), next = Load(other.options());
        REQUIRE(run(work, load) == 0);  // teaches how long blocks take
        REQUIRE(run(other, next) == 0);
        leave_worker_1_behind(work, load);
        run_right_once(other, next);
        CHECK(work.stalled == 1);
        CHECK(other.blocks[1] == 0);
        CHECK(lost_by(next) == std::vector{1});
        work.release();
        work.wait_for_the_stalled();
        for (int k = 0; k < 20 && other.blocks[1] == 0; ++k) REQUIRE(run(other, next) == 0);
        CHECK(other.blocks[1] > 0);
        CHECK(lost_by(next).empty());
    }
    CHECK(work.wrong() == 0);
}

TEST_CASE("a submission waits for what a worker computes for nobody of the run before, and does not count that",
          "[silent]") {
    Work work;
    auto options = work.options();
    options.results_stay = 1;
    Load load = create_impatient(options);
    REQUIRE(run(work, load) == 0);
    leave_worker_1_behind(work, load);
    const Json trace = report_of(load).at("trace");
    const auto late = std::ranges::find_if(trace, [](const Json& block) { return block.at("given_back"); });
    REQUIRE(late != trace.end());
    CHECK(late->at("start") >= late->at("given"));
    CHECK((late->at("end").is_null() && late->at("home").is_null()));

    constexpr double kReleased_s = 0.5;
    const double before_us = starpu_timing_now();
    std::thread releases([&] {
        while ((starpu_timing_now() - before_us) * 1e-6 < kReleased_s) starpu_sleep(0.01F);
        work.release();
    });
    REQUIRE(run(work, load) == 0);
    const double all_s = (starpu_timing_now() - before_us) * 1e-6;
    releases.join();
    CHECK(apportion_load_seconds(load.get()) <= all_s - kReleased_s);
    CHECK(work.wrong() == 0);
}

TEST_CASE(
    "a load does not wait for what a worker computes for nobody of another one, though a block of it is behind that",
    "[silent]") {
    const bool in_place = GENERATE(false, true);
    Work work, other;
    auto options = work.options();
    options.results_stay = 1;
    {
        Load load = create_impatient(options), next = Load(other.options(in_place));
        for (int k = 0; k < 3; ++k) REQUIRE(run(other, next) == 0);
        REQUIRE(run(work, load) == 0);  // teaches how long blocks take
        work.stalls = Sabotage{.worker = 1};
        work.again_s = 0.5;  // meanwhile worker 1 gets a block of the other load
        for (int k = 0; k < 20 && work.stalled == 0; ++k) {
            work.forget_results();
            REQUIRE(apportion_load_submit(load.get()) == 0);
            for (int looks = 0; looks < 10 && work.stalled == 0; ++looks) starpu_sleep(static_cast<float>(kLook_s));
            if (work.stalled == 0) REQUIRE(apportion_load_wait(load.get()) == 0);
        }
        REQUIRE(run(other, next) == 0);
        REQUIRE(apportion_load_wait(load.get()) == 0);
        CHECK(other.computed_once());
        CHECK(other.wrong() == 0);
        CHECK(other.blocks[1] == 0);
        run_right(other, next);  // nor does the next submission
        CHECK(work.stalled == 1);
        work.release();
    }
    CHECK(other.computed_once());  // what waited was skipped
    CHECK(work.wrong() == 0);
}

TEST_CASE("a load whose workers all compute what others took over waits for the first of them", "[silent]") {
    Work work, other;
    auto options = work.options();
    options.results_stay = 1;
    Load load = create_impatient(options);
    REQUIRE(run(work, load) == 0);
    leave_worker_1_behind(work, load);
    const int worker = 1;  // alone in a scheduling context
    const unsigned context = starpu_sched_ctx_create(const_cast<int*>(&worker), 1, "one", STARPU_SCHED_CTX_POLICY_NAME,
                                                     std::getenv("STARPU_SCHED"), 0);
    {
        auto there = other.options();
        there.sched_ctx = static_cast<int>(context);
        Load next = Load(there);
        other.forget_results();
        REQUIRE(apportion_load_submit(next.get()) == 0);
        starpu_sleep(0.1f);
        CHECK(apportion_load_seconds(next.get()) == 0);
        work.release();
        REQUIRE(apportion_load_wait(next.get()) == 0);
        CHECK(other.computed_once());
        CHECK(other.wrong() == 0);
    }
    starpu_sched_ctx_delete(context);
}
