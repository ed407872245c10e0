// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Longer than other files: all cases share the loads and the progress below.
#include "policies/plb_hec/plb_hec_plan.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "policies/shared/nothing_in_flight.hpp"
#include "test/catch.hpp"
#include "test/fake_platform.hpp"

using namespace apportion;

namespace {

/// A device, then cores of another kind.
LoadDescription device_and_cores(Units units, std::size_t cores) {
    LoadDescription load;
    load.units = units;
    load.processors.push_back({.name = "device", .kind = 0, .own_memory = true});
    for (std::size_t k = 0; k < cores; ++k) load.processors.push_back({.name = "core " + std::to_string(k), .kind = 1});
    load.initial_block = default_initial_block(units, 1, static_cast<int>(cores) + 1);
    load.links.resize(load.processors.size());
    return load;
}

void ran(PlbHecModels& models, int processor, Units units, double seconds, double transfer_s = 0) {
    models.add({.processor = processor,
                .units = units,
                .start_s = transfer_s,
                .end_s = transfer_s + seconds,
                .busy_s = seconds});
}

/// What a processor computes is one block.
class OneBlockEach final : public Progress {
  public:
    OneBlockEach(Units remaining, std::size_t processors) : remaining_(remaining), blocks_(processors) {}
    Units remaining() const override { return remaining_; }
    std::span<const BlockInFlight> in_flight(int processor) const override {
        return blocks_[static_cast<std::size_t>(processor)];
    }
    Units room(int) const override { return kNoLimit; }
    void give(int processor, Units units) {
        remaining_ -= units;
        blocks_[static_cast<std::size_t>(processor)] = {{.units = units}};
    }
    void end(int processor) { blocks_[static_cast<std::size_t>(processor)].clear(); }

  private:
    Units remaining_;
    std::vector<std::vector<BlockInFlight>> blocks_;
};

}  // namespace

TEST_CASE("a device begins with what its link carries in the time of its latency, and no more than a device should") {
    LoadDescription load = device_and_cores(64'000, 9);
    const PlbHecModels models;
    const auto first = [&](int processor) {
        PlbHecPlan plan(models);
        plan.begin(load);
        return plan.first_units(processor);
    };
    REQUIRE(load.initial_block == 100);
    CHECK(first(0) == 100);  // nothing is known of the link
    CHECK(first(1) == 1);
    load.links[0] = {1e-5, 1e-9};
    CHECK(first(0) == 1000);
    load.links[0] = {1e-5, 1e-5 / 300};
    CHECK(first(0) == 300);
    load.links[0] = {1e-5, 1};
    CHECK(first(0) == 100);
    load.links[0] = {1e-5, 1e-9};
    load.initial_block = 7;
    load.initial_block_chosen = true;
    CHECK(first(0) == 7);
}

TEST_CASE("a device whose first block showed a slow link is planned with the link") {
    LoadDescription load = device_and_cores(10'000, 1);
    for (const bool slow : {false, true}) {
        PlbHecModels models;
        models.begin(load);
        ran(models, 0, 100, 0.01, slow ? 1 : 0);
        ran(models, 1, 100, 0.1);
        ran(models, 1, 200, 0.2);
        PlbHecPlan plan(models);
        plan.begin(load);
        plan.make(1.1, NothingInFlight(9'600));
        INFO("share of the device: " << plan.share(0));
        CHECK((plan.share(0) > 7'000) == !slow);
        CHECK((plan.share(0) < 1'000) == slow);
    }
}

TEST_CASE("of less than a unit for each, those get one that end it first, and nothing is left without a processor") {
    LoadDescription load = device_and_cores(160, 43);
    PlbHecModels models;
    models.begin(load);
    for (const Units units : {Units{3}, Units{26}, Units{87}})
        ran(models, 0, units, 0.0054 + 0.00012 * static_cast<double>(units));
    for (const double core_s : {0.0133, 0.0070}) {
        for (int core = 1; core <= 43; ++core) {
            ran(models, core, 1, core_s);
            ran(models, core, 2, 2 * core_s);
        }
        PlbHecPlan plan(models);
        plan.begin(load);
        plan.make(0, NothingInFlight(17));
        const std::vector<double>& shares = plan.shares();
        CHECK(std::reduce(shares.begin(), shares.end()) == Approx(17));
        INFO("a core's unit takes " << core_s << " s, the device's share is " << shares[0]);
        CHECK(shares[0] >= 1);
        CHECK(std::ranges::none_of(shares, [](double share) { return share > 0 && share < 1; }));
    }
}

TEST_CASE("shares are whole granules, and no others would all be done earlier") {
    std::mt19937 random(1);
    const auto draw = [&](int most) { return 1 + static_cast<int>(random() % static_cast<unsigned>(most)); };
    for (int trial = 0; trial < 300; ++trial) {
        LoadDescription load;
        load.granularity = draw(5);
        load.units = draw(60) * load.granularity - draw(static_cast<int>(load.granularity)) + 1;
        PlbHecModels models;
        for (int p = 0, count = draw(12); p < count; ++p)
            load.processors.push_back({.name = "core " + std::to_string(p), .kind = p});
        models.begin(load);
        PlbHecPlan plan(models);
        plan.begin(load);
        for (int p = 0; p < static_cast<int>(load.processors.size()); ++p) {
            const double fixed_s = draw(20), unit_s = draw(20);
            for (const Units units : {Units{1}, Units{100}})
                ran(models, p, units, fixed_s + unit_s * static_cast<double>(units));
            plan.block_ended({.processor = p, .end_s = 100.0 + draw(100)});
        }
        plan.make(100, NothingInFlight(load.units));
        INFO("trial " << trial << ": " << load.units << " units in granules of " << load.granularity);

        // The best: granule after granule where it ends first.
        std::vector<Units> best(load.processors.size(), 0);
        double best_s = 0, planned_s = 0;
        for (Units left = load.units; left > 0;) {
            const Units one = std::min(left, load.granularity);
            const auto end_s = [&](std::size_t p) {
                return plan.end_s(static_cast<int>(p), static_cast<double>(best[p] + one));
            };
            std::size_t first = 0;
            for (std::size_t p = 1; p < best.size(); ++p)
                if (end_s(p) < end_s(first)) first = p;
            best_s = std::max(best_s, end_s(first));
            best[first] += one;
            left -= one;
        }
        int broken = 0;
        for (std::size_t p = 0; p < best.size(); ++p) {
            const double share = plan.shares()[p];
            broken += std::fmod(share, static_cast<double>(load.granularity)) != 0;
            if (share > 0) planned_s = std::max(planned_s, plan.end_s(static_cast<int>(p), share));
        }
        CHECK(std::reduce(plan.shares().begin(), plan.shares().end()) == static_cast<double>(load.units));
        CHECK(broken <= (load.units % load.granularity != 0 ? 1 : 0));
        if (load.units % load.granularity == 0) CHECK(planned_s <= best_s * (1 + 1e-6));
    }
}

TEST_CASE("a plan holds while blocks end as planned, and not when one ends otherwise or is overdue") {
    LoadDescription load = device_and_cores(1'000, 2);
    PlbHecModels models;
    models.begin(load);
    for (const int p : {0, 1, 2})
        for (const Units units : {Units{10}, Units{100}}) ran(models, p, units, 0.5 + static_cast<double>(units));
    enum class Core { ends_as_planned, ends_late, is_overdue };
    for (const Core core : {Core::ends_as_planned, Core::ends_late, Core::is_overdue}) {
        PlbHecPlan plan(models);
        plan.begin(load);
        OneBlockEach progress(1'000, 3);
        plan.make(0, progress);
        const double finish_s = plan.finish_s();
        for (const int p : {0, 1, 2}) {
            const auto units = static_cast<Units>(p == 0 ? plan.share(p) : 100);
            plan.gave(p, units, 0);
            progress.give(p, units);
        }
        const auto end = [&](int p, double end_s) {
            plan.block_ended({.processor = p, .end_s = end_s});
            progress.end(p);
        };
        end(1, core == Core::ends_late ? 120 : 100.5);
        if (core != Core::is_overdue) end(2, 100.5);
        plan.make(core == Core::ends_as_planned ? 100.5 : 120, progress);
        CHECK((plan.finish_s() == finish_s) == (core == Core::ends_as_planned));
        CHECK(plan.share(1) > 0);
    }
}

TEST_CASE("when one of many ends otherwise than planned its own share changes, and all shares when that moves much") {
    constexpr int kNodes = 400;
    LoadDescription load;
    load.units = 400'000;
    for (int p = 0; p < kNodes; ++p) load.processors.push_back({.name = "node " + std::to_string(p), .kind = p});
    load.links.resize(load.processors.size());
    load.initial_block = 10;
    PlbHecModels models;
    models.begin(load);
    for (int p = 0; p < kNodes; ++p)
        for (const Units units : {Units{10}, Units{500}}) ran(models, p, units, 0.5 + static_cast<double>(units));
    PlbHecPlan plan(models);
    plan.begin(load);
    OneBlockEach progress(load.units, kNodes);
    plan.make(0, progress);
    const double finish_s = plan.finish_s(), others = plan.share(1);
    for (int p = 0; p < kNodes; ++p) {
        plan.gave(p, 500, 0);
        progress.give(p, 500);
    }
    for (int p = 0; p < 80; ++p) {
        const double end_s = 400.5 + p;  // about 100 s earlier than planned
        plan.block_ended({.processor = p, .end_s = end_s});
        progress.end(p);
        plan.make(end_s, progress);
        INFO("node " << p << ", share " << plan.share(p));
        if (plan.finish_s() != finish_s) {
            CHECK(p > 20);  // a hundredth of 400,000 units moved
            CHECK(plan.finish_s() < finish_s);
            CHECK(plan.share(kNodes - 1) < others - 500);
            return;
        }
        CHECK(plan.share(p) == Approx(finish_s - end_s - 0.5).margin(1));
        CHECK(plan.share(kNodes - 1) == others - 500);
        CHECK_FALSE(plan.some_unshared());
    }
    FAIL("all shares stayed");
}

TEST_CASE("what cores wait for their next blocks is a cost of each, unless they were to wait") {
    constexpr double kWait_s = 0.5;
    const auto worthwhile_s = [&](double waited_s, bool refused) {
        const LoadDescription load = device_and_cores(10'000, 4);
        PlbHecModels models;
        models.begin(load);
        for (int p = 0; p < 5; ++p)
            for (const Units units : {Units{10}, Units{100}}) ran(models, p, units, static_cast<double>(units));
        PlbHecPlan plan(models);
        plan.begin(load);
        for (int k = 1; k <= 20; ++k) {
            if (refused) plan.answered(1, 0);
            plan.answered(1, 10);
            plan.block_ended({.processor = 1, .given_s = k + waited_s, .previous_end_s = 1.0 * k, .end_s = k + 1.0});
        }
        plan.make(30, NothingInFlight(load.units));
        return plan.worthwhile_error_s();
    };
    const double at_once_s = worthwhile_s(0, false);
    CHECK(worthwhile_s(kWait_s, false) > 10 * at_once_s);
    CHECK(worthwhile_s(kWait_s, true) == at_once_s);
}

TEST_CASE("what stays on a device leaves its other data to travel as they were seen to") {
    LoadDescription load = device_and_cores(100, 1);
    load.links[0] = {0, 2};  // both ways
    load.staying = 0.25;
    PlbHecModels models;
    models.begin(load);
    for (int p = 0; p < 2; ++p)
        for (const Units units : {Units{10}, Units{100}})
            ran(models, p, units, static_cast<double>(units), 2.0 * units);
    PlbHecPlan plan(models);
    const auto one_block_s = [&] {
        plan.begin(load);
        plan.pose_for_all();
        return plan.time(0).seconds_of(std::vector<Units>{100});
    };
    const double as_everything_came_s = one_block_s();
    models.add({.processor = 0,
                .units = 100,
                .given_s = 1000,
                .previous_end_s = 1000,
                .start_s = 1030,
                .end_s = 1130,
                .busy_s = 100,
                .data_there = true});
    CHECK(one_block_s() == Approx(as_everything_came_s - models.in(0).seconds(75) + 30));
}

TEST_CASE("the last granule goes to an idle core, not to one whose block should have ended already") {
    LoadDescription load;
    load.units = 5;
    for (const char* name : {"core 0", "core 1"}) load.processors.push_back({.name = name});
    for (const Units other_size : {Units{1}, Units{2}}) {
        PlbHecModels models;
        models.begin(load);
        for (const int p : {0, 1}) ran(models, p, 1, 1);
        ran(models, 1, other_size, static_cast<double>(other_size));
        for (const int late : {0, 1})
            for (const double now_s : {2.0, 2.1, 5.0}) {
                PlbHecPlan plan(models);
                plan.begin(load);
                OneBlockEach progress(2, 2);
                plan.block_ended({.processor = 0, .end_s = 1});
                plan.block_ended({.processor = 1, .end_s = 1});
                progress.give(late, 1);
                plan.block_ended({.processor = 1 - late, .end_s = 2});
                plan.make(now_s, progress);
                INFO("core " << late << " computes since 1 s, now " << now_s << " s");
                CHECK(plan.share(late) == 0);
                CHECK(plan.share(1 - late) == 1);
            }
    }
}

TEST_CASE("untried cores are left out where they might outlast the others by more than they are expected to gain") {
    const LoadDescription load = device_and_cores(160, 46);
    for (const double core_s : {0.0084, 0.0145, 0.02, 0.03}) {
        PlbHecModels models;
        models.begin(load);
        for (const Units units : {Units{3}, Units{26}})
            ran(models, 0, units, 0.0013 + 0.00016 * static_cast<double>(units));
        ran(models, 1, 1, core_s);
        PlbHecPlan plan(models);
        plan.begin(load);
        plan.make(0, NothingInFlight(160));  // the device alone: 0.027 s; with all cores a third of that
        INFO("a core's unit takes " << core_s << " s");
        const double with_all_s = std::max(core_s, 0.0013 + 0.00016 * (160 - 46));  // a unit each, but at 0.0084
        const bool worthwhile = 2 * core_s - 0.027 < 0.027 - with_all_s;
        CHECK((plan.share(2) >= 1) == worthwhile);
        CHECK((plan.share(46) >= 1) == worthwhile);
        CHECK(std::reduce(plan.shares().begin(), plan.shares().end()) == Approx(160));
    }
}

TEST_CASE("untried cores are asked where the others end whole units late, though they end parts of units early") {
    // Without untried cores all end 30 / 200 s, in whole units after 0.2 s; with them, after 0.14 s.
    const LoadDescription load = device_and_cores(30, 16);
    PlbHecModels models;
    models.begin(load);
    for (const Units units : {Units{1}, Units{5}}) ran(models, 0, units, 0.01 * static_cast<double>(units));
    for (int core = 1; core <= 10; ++core) ran(models, core, 1, 0.1);
    PlbHecPlan plan(models);
    plan.begin(load);
    plan.make(0, NothingInFlight(30));
    CHECK(plan.share(0) == 14);
    for (int core = 1; core <= 16; ++core) CHECK(plan.share(core) == 1);
    CHECK(plan.finish_s() == Approx(0.14));
}

TEST_CASE("cores that ran the smallest block alone run others, and alike ones get alike blocks") {
    constexpr int kCores = 60;
    test::FakePlatform platform = test::plain_platform(std::vector<double>(kCores, 1), 0);
    for (auto& worker : platform.workers) {
        worker.kind = 0;
        worker.seconds = [](double units) { return 4 + units; };
    }
    LoadDescription load = platform.load(150);
    load.recorded = {};
    const auto policy = find_policy("plb-hec")->make();
    for (load.run = 1; load.run <= 4; ++load.run) {
        const test::FakeRun result = test::run(platform, *policy, load);
        INFO("run " << load.run);
        CHECK(result.done);
        if (load.run < 3) continue;
        CHECK(result.makespan_s == Approx(4 + 3));  // two or three units each, in one block
        CHECK(result.blocks.size() == kCores);
    }
}

TEST_CASE("a share of few units is not cut to a rounder number where the others would end the rest late") {
    constexpr int kCores = 43;
    test::FakePlatform platform = test::plain_platform(std::vector<double>(kCores + 1, 1), 0);
    platform.links = {{1e12}};
    for (auto& worker : platform.workers) {
        worker.kind = 0;
        worker.seconds = [](double units) { return 0.0133 * units; };
    }
    test::FakeWorker& card = platform.workers.front();
    card.kind = 1;
    card.link = 0;
    card.latency_s = 1e-6;
    card.seconds = [](double units) { return 0.005 + 0.00013 * units; };
    LoadDescription load = platform.load(161);
    load.recorded = {};
    const auto policy = find_policy("plb-hec")->make();
    double last_s = 0;
    for (load.run = 1; load.run <= 4; ++load.run) last_s = test::run(platform, *policy, load).makespan_s;
    CHECK(last_s < 0.0215);  // a unit each and 118 of the card: 0.0203; a second unit of a core: 0.0266
}

TEST_CASE("of what alignment cut off, the last block takes nothing that many slow cores end sooner") {
    struct Case {
        int fast, slow;  // cores
        double fast_speed, slow_speed, half_saturation;
        Units units;
    };
    for (const Case c :
         {Case{4, 64, 80.27, 19.37, 8, 8192}, Case{4, 64, 60, 19.37, 16, 8192}, Case{4, 32, 60, 15, 4, 4096}}) {
        test::FakePlatform platform =
            test::plain_platform(std::vector<double>(static_cast<std::size_t>(c.fast + c.slow), 1), 0);
        for (std::size_t p = 0; p < platform.workers.size(); ++p) {
            platform.workers[p].kind = 0;
            const double speed = p < static_cast<std::size_t>(c.fast) ? c.fast_speed : c.slow_speed;
            platform.workers[p].seconds = [=](double units) { return 1e-6 + (c.half_saturation + units) / speed; };
        }
        LoadDescription load = platform.load(c.units);
        load.recorded = {};
        const auto policy = find_policy("plb-hec")->make();
        const test::FakeRun result = test::run(platform, *policy, load);
        INFO(c.units << " units, " << c.slow << " slow cores");
        CHECK(result.done);
        std::vector<double> ends_s;
        for (int p = 0; p < c.fast + c.slow; ++p) ends_s.push_back(result.end_of(p));
        std::ranges::sort(ends_s);
        CHECK(result.makespan_s <= 1.1 * ends_s[ends_s.size() / 2]);
    }
}

TEST_CASE("a node that becomes slower within a grant does not make large grants look cheap for all") {
    LoadDescription load;
    load.units = 1'000'000;
    load.processors = {{"node 0", 0, true}, {"node 1", 1, true}};
    load.links.resize(2);
    PlbHecModels models;
    models.begin(load);
    const auto told = [&](int node, Units units, double seconds, double half_s) {
        models.add({.processor = node, .units = units, .end_s = seconds, .busy_s = seconds, .half_busy_s = half_s});
    };
    for (int node = 0; node < 2; ++node) told(node, 1000, 0.11, 0.06);
    told(0, 10'000, 3, 2.5);  // as if each of its grants cost 2 s
    told(1, 10'000, 1.01, 0.51);
    PlbHecPlan plan(models);
    plan.begin(load);
    plan.make(3, OneBlockEach(load.units, 2));
    CHECK(plan.worthwhile_error_s() < 0.5);
}
