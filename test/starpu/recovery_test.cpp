// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Processors that fail, stall or change their speed, under whichever of Apportion's policies STARPU_SCHED names: every
// unit is computed and counted exactly once, and the report tells what happened. [silent]: takes as long as a block
// runs at least before it stalls, several times; when it is given up is no matter of the policy. Devices:
// device_recovery_test.cpp.
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "test/starpu/sabotaged_work.hpp"

using namespace apportion::test;

namespace {

using apportion::Load;
using apportion::Setting;
using Json = nlohmann::json;

/// The report of the last run, after checking that its blocks that count contain every unit once.
Json checked_report(const Load& load) {
    Json report = report_of(load);
    std::vector<int> count(kUnits);
    std::int64_t units = 0, given_back = 0, lost_units = 0;
    for (const Json& block : report.at("trace")) {
        if (block.at("given_back")) {
            given_back += block.at("units").get<std::int64_t>();
            continue;
        }
        for (std::int64_t i = 0; i < block.at("units"); ++i) ++count[block.at("first").get<std::int64_t>() + i];
    }
    CHECK(std::ranges::count(count, 1) == kUnits);
    for (const Json& processor : report.at("processors")) units += processor.at("units").get<std::int64_t>();
    for (const Json& lost : report.at("lost_processors")) lost_units += lost.at("units_given_back").get<std::int64_t>();
    CHECK(units == kUnits);
    CHECK(lost_units <= given_back);  // others may have been faster with late blocks, too
    return report;
}

/// The single loss of a report.
Json only_loss(const Json& report) {
    REQUIRE(report.at("lost_processors").size() == 1);
    return report.at("lost_processors")[0];
}

const bool kTraced = setenv("APPORTION_TRACE", "1", 1) == 0;

}  // namespace

TEST_CASE("units of a worker whose codelet fails are computed by others, exactly once") {
    REQUIRE(kTraced);
    for (const bool in_place : {false, true})
        for (const bool in_epilogue : {false, true}) {
            Work work;
            work.fails = Sabotage{.worker = 1};
            work.fails_in_epilogue = in_epilogue;
            Load load(work.options(in_place));
            run_right_once(work, load);
            CHECK(work.refused == 0);
            const Json report = checked_report(load);
            const Json lost = only_loss(report);
            CHECK(lost.at("processor") == 1);
            CHECK(lost.at("units_given_back").get<int>() > 0);
            CHECK(lost.at("at_seconds").get<double>() > 0);
            CHECK_THAT(lost.at("reason").get<std::string>(),
                       ContainsSubstring(in_epilogue ? "gave no reason" : "the device is on fire"));
            CHECK(report.at("processors")[1].at("units") == 0);
        }
}

TEST_CASE("a worker that fails later keeps what it computed, and is welcome again at the next submission") {
    Work work;
    work.fails = Sabotage{.worker = 1, .block = 1};
    auto options = work.options();
    options.initial_block = 40;
    Load load(options);
    REQUIRE(run(work, load) == 0);  // equal gives it one block only
    CHECK(work.wrong() == 0);
    CHECK(work.computed_once());
    CHECK(checked_report(load).at("processors")[1].at("units") > 0);
    work.fails = Sabotage{};
    REQUIRE(run(work, load) == 0);
    const Json report = checked_report(load);
    CHECK(report.at("lost_processors").empty());
    CHECK(report.at("processors")[1].at("units") > 0);
}

TEST_CASE("a block of several tasks is computed again as a whole when one of them fails") {
    for (const int part : {0, 1, 2}) {
        Work work;
        work.parts = 3;
        work.fails = Sabotage{.worker = 0};
        work.failing_part = part;
        Load load(work.options());
        run_right(work, load);
        CHECK(only_loss(checked_report(load)).at("processor") == 0);
    }
}

TEST_CASE("when a core of a group fails, other processors compute what both had") {
    if (std::string(std::getenv("STARPU_SCHED")) == "imbalance") return;  // for identical processors only
    const Setting groups("APPORTION_GROUPS", "1,2");  // of three cores the last two are one processor
    Work work;
    work.fails = Sabotage{.worker = 2};
    Load load(work.options());
    run_right(work, load);
    const Json report = checked_report(load);
    REQUIRE(report.at("processors").size() == 2);
    CHECK(report.at("processors")[1].at("name") == "CPU 1-2");
    CHECK(only_loss(report).at("processor") == 1);
    work.fails = Sabotage{};
    run_right_once(work, load);
}

TEST_CASE("a block that other tasks changed in place before one failed ends the load with a sentence") {
    Work work;
    work.parts = 2;
    work.fails = Sabotage{.worker = 0};
    work.failing_part = 1;
    Load load(work.options(true));
    CHECK(run(work, load) == -EIO);
    CHECK_THAT(apportion_error(), ContainsSubstring("changed their data in place"));
    work.fails = Sabotage{};
    CHECK(run(work, load) == 0);
    CHECK(work.wrong() == 0);
}

TEST_CASE("when every worker has failed, the load ends with a sentence that names them") {
    Work work;
    work.fails = Sabotage{.worker = Sabotage::kAll};
    Load load(work.options());
    CHECK(run(work, load) == -ENODEV);
    CHECK_THAT(apportion_error(), ContainsSubstring("no processor is left"));
    CHECK_THAT(apportion_error(), ContainsSubstring("the device is on fire"));
    CHECK(report_of(load).at("error") == std::string(apportion_error()));
    work.fails = Sabotage{};
    run_right_once(work, load);
}

TEST_CASE("only a codelet can say that its block failed", "[once]") {
    CHECK(apportion_block_failed("nonsense") == -EPERM);
    CHECK_THAT(apportion_error(), ContainsSubstring("runs no block"));

    struct Fails : Work {  // where it fills: often on a worker whose task has just ended
        std::atomic<int> refusals = 0;
        std::atomic<int> fills = 0;
        static int fill(starpu_task* task, apportion_block* block, void* arg) {
            auto& self = *static_cast<Fails*>(arg);
            ++self.fills;
            self.refusals += apportion_block_failed("nonsense") == -EPERM;
            return Work::fill(task, block, static_cast<Work*>(&self));
        }
    } work;
    auto options = work.options();
    options.fill = Fails::fill;
    options.arg = &work;
    Load load(options);
    REQUIRE(run(work, load) == 0);
    CHECK(work.refusals == work.fills);
    CHECK(work.wrong() == 0);
}

namespace {

constexpr double kStalls_s = 3;     ///< how long a block of such a load runs at least before it stalls
constexpr double kOverdue_s = 0.5;  ///< late by many times what a block should take, but far from a stall

}  // namespace

TEST_CASE("nobody stores where a CPU worker may still store: its stalled block is waited for, or ends the load",
          "[silent]") {
    Work work;
    {
        Load load = create_impatient(work.options());
        REQUIRE(run(work, load) == 0);  // teaches how long blocks take
        work.stalls = Sabotage{.worker = Sabotage::kFirst};
        work.stall_s = kOverdue_s;
        run_right_once(work, load);
        CHECK(work.stalled == 0);
        CHECK(checked_report(load).at("lost_processors").empty());

        work.stall_s = Work::kUntilReleased;
        CHECK(run(work, load) == -ETIMEDOUT);
        CHECK_THAT(apportion_error(), ContainsSubstring("no other processor can compute them"));
        CHECK(work.stalled == 1);
        CHECK(apportion_load_submit(load.get()) == -EBUSY);
        CHECK_THAT(apportion_error(), ContainsSubstring("of an earlier submission"));
        REQUIRE(run_when_released(work, load) == 0);
        CHECK(work.wrong() == 0);
        CHECK(work.computed_once());
    }
}

TEST_CASE("others take over a group's block of which one core is late", "[silent]") {
    const Setting groups("APPORTION_GROUPS", "1,2");  // of three cores the last two are one processor
    Work work;
    {
        auto options = work.options();
        options.results_stay = 1;
        Load load = create_impatient(options);
        work.slowdown_of_0 = 4;         // the group is needed, whatever else the machine does
        REQUIRE(run(work, load) == 0);  // teaches how long blocks take
        work.stalls = Sabotage{.worker = 2};
        REQUIRE(run(work, load) == 0);
        CHECK(work.stalled == 1);
        CHECK(work.wrong() == 0);
        const Json report = checked_report(load);
        CHECK_FALSE((report.at("late_blocks").empty() && report.at("lost_processors").empty()));
        work.release();
    }
    CHECK(work.stalled == 0);
    CHECK(work.wrong() == 0);
}

TEST_CASE("a task of a given-up block that had not begun is skipped", "[silent]") {
    Work work;
    work.parts = 3;
    {
        Load load = create_impatient(work.options());
        REQUIRE(run(work, load) == 0);
        work.stalls = Sabotage{.worker = Sabotage::kFirst};
        CHECK(run(work, load) == -ETIMEDOUT);
        work.release();
    }
    // The first task of the block came to its end; the others did nothing.
    const auto never = std::ranges::count_if(work.computed, [](auto& c) { return c == 0; });
    CHECK(never > 0);
    CHECK(work.blocks[work.first] == 0);
}

TEST_CASE("a stalled worker that changes data in place ends the load with a sentence, or is waited for", "[silent]") {
    Work work;
    Load load = create_impatient(work.options(true));
    REQUIRE(run(work, load) == 0);
    work.stalls = Sabotage{.worker = Sabotage::kFirst};
    work.stall_s = kOverdue_s;
    run_right_once(work, load);
    CHECK(checked_report(load).at("lost_processors").empty());

    work.stall_s = Work::kUntilReleased;
    CHECK(run(work, load) == -ETIMEDOUT);
    CHECK_THAT(apportion_error(), ContainsSubstring("changes data in place"));
    CHECK(work.stalled == 1);
    work.release();
}

TEST_CASE("with APPORTION_STALL_FACTOR=0 every worker is waited for", "[silent]") {
    const Setting patient("APPORTION_STALL_FACTOR", "0");
    Work work;
    Load load(work.options());
    REQUIRE(run(work, load) == 0);
    work.stalls = Sabotage{.worker = Sabotage::kFirst};
    work.stall_s = kOverdue_s + 1.5;  // the shortest that any other factor takes for a stall, and more
    REQUIRE(run(work, load) == 0);
    CHECK(work.stalled == 0);
    CHECK(work.computed_once());
    CHECK(checked_report(load).at("lost_processors").empty());
}

TEST_CASE("the smallest block of a worker of which nothing is known is taken over, also one that changes data in place",
          "[silent]") {
    for (const bool in_place : {false, true}) {
        Work work;
        {
            Load load(work.options(in_place));
            work.stalls = Sabotage{.worker = 1};
            REQUIRE(run(work, load) == 0);
            CHECK(work.stalled == 1);
            CHECK(work.wrong() == 0);
            CHECK(checked_report(load).at("late_blocks").size() == 1);
            work.stalls = Sabotage{};
            REQUIRE(run(work, load) == 0);  // needs not wait for it
            CHECK(work.stalled == 1);
            CHECK(work.wrong() == 0);
            work.release();
        }
        CHECK(work.stalled == 0);
        CHECK(work.wrong() == 0);  // what it stored late is nowhere
    }
}

TEST_CASE("another first block is waited for, because nobody knows how long it should take", "[silent]") {
    Work work;
    work.parts = 2;
    Load load = create_impatient(work.options());
    work.stalls = Sabotage{.worker = 1};
    work.stall_s = kStalls_s + kOverdue_s;
    REQUIRE(run(work, load) == 0);
    CHECK(work.stalled == 0);
    CHECK(work.computed_once());
    CHECK(checked_report(load).at("lost_processors").empty());
}

namespace {

/// Fills no unit twice when it is told to: pieces of late blocks are refused then.
struct FillsOnce : Work {
    bool once = false;
    std::set<std::uint64_t> filled;

    static int fill(starpu_task* task, apportion_block* block, void* arg) {
        auto& self = *static_cast<FillsOnce*>(arg);
        const bool first = self.filled.insert(block->first).second;
        return first || !self.once ? Work::fill(task, block, static_cast<Work*>(&self)) : -ENOMEM;
    }
};

}  // namespace

TEST_CASE("when a late block cannot be filled again, the load ends with that error, and the block may end later",
          "[silent]") {
    FillsOnce work;
    {
        auto options = work.options();
        options.fill = FillsOnce::fill;
        options.arg = &work;
        options.results_stay = 1;
        Load load = create_impatient(options);
        REQUIRE(run(work, load) == 0);
        work.filled.clear();
        work.once = true;
        work.stalls = Sabotage{.worker = Sabotage::kFirst};
        CHECK(run(work, load) == -ENOMEM);
        CHECK_THAT(apportion_error(), ContainsSubstring("refused units"));
        CHECK(work.stalled == 1);
        work.release();
    }
    CHECK(work.stalled == 0);
}

TEST_CASE("a worker that becomes ten times slower loses nothing") {
    Work work;
    auto options = work.options();
    options.initial_block = 20;
    Load load(options);
    REQUIRE(run(work, load) == 0);
    work.slowdown_of_0 = 10;
    for (int k = 0; k < 3; ++k) {
        run_right_once(work, load);
        CHECK(checked_report(load).at("lost_processors").empty());
    }
}
