// SPDX-License-Identifier: LGPL-2.1-or-later
//
// auto, and what it is made of: virtual runs and guarded policies.
#include <algorithm>
#include <cmath>

#include "policies/shared/block_costs.hpp"
#include "policies/shared/guarded_policy.hpp"
#include "policies/shared/virtual_run.hpp"
#include "test/catch.hpp"
#include "test/fake_platform.hpp"

using namespace apportion;
using namespace apportion::test;

namespace {

FakePlatform slowed(FakePlatform platform, std::size_t worker, double factor) {
    auto& seconds = platform.workers[worker].seconds;
    seconds = [truth = seconds, factor](double units) { return factor * truth(units); };
    return platform;
}

/// Shares by given speeds, whatever really happens: stands for any policy that plans from a record.
class Planned final : public Policy {
  public:
    explicit Planned(std::vector<double> speeds) : speeds_(std::move(speeds)) {}
    void begin(const LoadDescription& load) override {
        double sum = 0;
        for (double speed : speeds_) sum += speed;
        left_.clear();
        for (double speed : speeds_)
            left_.push_back(static_cast<Units>(std::ceil(static_cast<double>(load.units) * speed / sum)));
    }
    Units next_block(int processor, double, const Progress&) override {
        return std::exchange(left_[static_cast<std::size_t>(processor)], 0);
    }

  private:
    std::vector<double> speeds_;
    std::vector<Units> left_;
};

FakePlatform four_on_one_link() {
    FakePlatform platform = plain_platform({5000, 5000, 5000, 5000, 20'000});
    platform.links = {{20e6}};
    platform.bytes_in_per_unit = platform.bytes_out_per_unit = 4000;
    platform.links_known = true;
    for (std::size_t device = 0; device < 4; ++device) platform.workers[device].link = 0;
    return platform;
}

bool fell_back(const GuardedPolicy& policy) { return policy.report().note.ends_with("took over"); }

}  // namespace

TEST_CASE("a virtual run takes as long as the real one") {
    for (const char* machines : {"A", "AB"}) {
        FakePlatform platform = plb_hec_machines(machines, 16384);
        platform.links_known = true;
        const LoadDescription load = platform.load(16384);
        for (const char* name : {"plb-hec", "hdss"}) {
            INFO(machines << " " << name);
            const auto real = find_policy(name)->make(), rehearsed = find_policy(name)->make();
            CHECK(virtual_makespan(load, *rehearsed, recorded_functions(load)) ==
                  Approx(run(platform, *real, load).makespan_s).epsilon(0.1));
        }
    }
}

TEST_CASE("auto says why it does not plan from what earlier runs learnt") {
    const FakePlatform platform = plb_hec_machines("A", 16384);
    LoadDescription load = platform.load(16384);
    load.recorded.learnt = true;
    const auto policy = find_policy("auto")->make();
    policy->begin(load);
    CHECK(policy->report().chosen == "plb-hec");
    CHECK_THAT(policy->report().note, ContainsSubstring("times are what earlier runs learnt"));
}

TEST_CASE("a policy that refuses a load takes forever") {
    class Refusing final : public Policy {
        void begin(const LoadDescription&) override { throw PolicyError("no"); }
        Units next_block(int, double, const Progress&) override { return 0; }
    };
    Refusing policy;
    const LoadDescription load = plain_platform({1, 2}).load(100);
    CHECK(std::isinf(virtual_makespan(load, policy, recorded_functions(load))));
}

TEST_CASE("a guarded policy does what it plans where the record is right") {
    const std::vector<double> speeds = {4000, 1000};
    const FakePlatform platform = plain_platform(speeds, 1e-3);
    const LoadDescription load = platform.load(100'000);
    GuardedPolicy policy(std::make_unique<Planned>(speeds), *find_policy("plb-hec"), recorded_functions(load),
                         recorded_links(load));
    const FakeRun result = run(platform, policy, load);
    CHECK_FALSE(fell_back(policy));
    CHECK(result.blocks.size() == 4);  // an eighth to see, and the rest
    CHECK(result.units_of(0) == 80'000);
    CHECK(result.makespan_s == Approx(20).epsilon(0.01));
}

TEST_CASE("a guarded policy falls back on the adaptive one where the record is wrong") {
    const std::vector<double> speeds = {4000, 1000, 1000};
    const FakePlatform recorded = plain_platform(speeds, 1e-3), real = slowed(recorded, 0, 3);
    const LoadDescription load = recorded.load(100'000);
    GuardedPolicy policy(std::make_unique<Planned>(speeds), *find_policy("plb-hec"), recorded_functions(load),
                         recorded_links(load));
    const FakeRun result = run(real, policy, load);
    CHECK(fell_back(policy));
    CHECK(result.done);
    CHECK(result.makespan_s < 1.1 * 100'000 / (4000.0 / 3 + 2000));
    // When that is seen of the first processor, the others have computed one part each.
    CHECK(policy.report().models.at(1).samples >= 6);
    Planned unguarded(speeds);
    CHECK(run(real, unguarded, load).makespan_s > 45);
}

TEST_CASE("a guarded policy does not take a spike for a wrong record") {
    const std::vector<double> speeds = {4000, 1000};
    FakePlatform platform = plain_platform(speeds, 1e-3);
    const LoadDescription load = platform.load(100'000);
    platform.workers[0].spikes = {{0, 2}};
    GuardedPolicy policy(std::make_unique<Planned>(speeds), *find_policy("plb-hec"), recorded_functions(load),
                         recorded_links(load));
    CHECK(run(platform, policy, load).done);
    CHECK_FALSE(fell_back(policy));
}

TEST_CASE("a load that runs again goes by its plan or without it, whichever took less") {
    const std::vector<double> speeds = {4000, 1000};
    const FakePlatform right = plain_platform(speeds, 1e-3), wrong = slowed(right, 0, 3);
    const LoadDescription load = right.load(100'000);
    const auto guarded = [&] {
        return GuardedPolicy(std::make_unique<Planned>(speeds), *find_policy("plb-hec"), recorded_functions(load),
                             recorded_links(load));
    };
    // What contradicted the record was over after one run.
    GuardedPolicy disturbed = guarded();
    run(wrong, disturbed, load);
    CHECK(fell_back(disturbed));
    run(slowed(wrong, 1, 3), disturbed, load);  // the adaptive policy's own run: it took longer
    CHECK(fell_back(disturbed));
    const FakeRun planned = run(right, disturbed, load);
    CHECK_FALSE(fell_back(disturbed));
    CHECK(planned.units_of(0) == 80'000);
    // The record is wrong for good: without it the load takes less than with the part of the first run that was
    // planned.
    GuardedPolicy misled = guarded();
    const double first_s = run(wrong, misled, load).makespan_s;
    for (int i = 0; i < 4; ++i) {
        const FakeRun result = run(wrong, misled, load);
        CHECK(result.done);
        CHECK(result.makespan_s <= 1.02 * first_s);
    }
    CHECK(fell_back(misled));
    // Nor does a run in between that was disturbed make those after it longer.
    GuardedPolicy both = guarded();
    const double before_s = run(wrong, both, load).makespan_s;
    run(slowed(wrong, 1, 3), both, load);
    for (int i = 0; i < 4; ++i) CHECK(run(wrong, both, load).makespan_s <= 1.02 * before_s);
}

TEST_CASE("a load that runs again goes without a plan that did not know that devices share a link") {
    const FakePlatform platform = four_on_one_link();
    LoadDescription load = platform.load(40'000);
    const auto automatic = find_policy("auto")->make();
    const double first_s = run(platform, *automatic, load).makespan_s;
    for (load.run = 2; load.run < 6; ++load.run) CHECK(run(platform, *automatic, load).makespan_s < 0.7 * first_s);
    CHECK(automatic->report().note.ends_with("plb-hec took over"));
}

TEST_CASE("a plan is not given up for the time that planning took") {
    const FakePlatform platform = plain_platform({4000, 1000}, 1e-3);
    for (const bool planning : {false, true}) {
        LoadDescription load = platform.load(100'000);
        const auto automatic = find_policy("auto")->make();
        automatic->begin(load);
        for (const int p : {0, 1}) {
            FinishedBlock block{.id = p, .processor = p, .first = p * 80'000, .units = p == 0 ? 80'000 : 20'000};
            block.given_s = planning ? 10 : 0;  // ... or the data took so long
            block.start_s = 10;
            block.end_s = 30;
            block.busy_s = 20;
            automatic->block_finished(block);
        }
        load.run = 2;
        automatic->begin(load);
        CHECK(automatic->report().note.ends_with("plb-hec took over") == !planning);
    }
}

TEST_CASE("no plan is given up for the time that data took which stay from then on") {
    const FakePlatform platform = four_on_one_link();
    LoadDescription load = platform.load(40'000);
    const auto automatic = find_policy("auto")->make();
    run(platform, *automatic, load);
    load.run = 2;
    load.staying = 0.5;
    automatic->begin(load);
    CHECK(automatic->report().note == "");
}

TEST_CASE("a guarded policy does not cut blocks whose fixed costs are high") {
    const FakePlatform platform = plain_platform({1000, 1000}, 5);
    const LoadDescription load = platform.load(20'000);
    GuardedPolicy policy(std::make_unique<Planned>(std::vector<double>{1, 1}), *find_policy("plb-hec"),
                         recorded_functions(load), recorded_links(load));
    CHECK(run(platform, policy, load).blocks.size() == 2);
}

TEST_CASE("without a record auto does what plb-hec does") {
    const FakePlatform platform = plb_hec_machines("AB", 16384);
    LoadDescription load = platform.load(16384);
    load.recorded = {};
    const auto automatic = find_policy("auto")->make(), adaptive = find_policy("plb-hec")->make();
    CHECK(run(platform, *automatic, load).makespan_s == run(platform, *adaptive, load).makespan_s);
    CHECK(automatic->report().chosen == "plb-hec");
}

TEST_CASE("with a record auto is as good as the best policy that is registered, and tells what it chose") {
    for (const char* machines : {"A", "AB", "ABC", "ABCD"})
        for (Units order : {4096, 16384, 65536}) {
            INFO(machines << " " << order);
            FakePlatform platform = plb_hec_machines(machines, order);
            platform.links_known = true;
            const LoadDescription load = platform.load(order);
            double best_s = 1e300;
            for (const PolicyEntry& entry : registered_policies()) {
                if (std::string_view(entry.name) == "auto") continue;
                try {
                    const auto policy = entry.make();
                    best_s = std::min(best_s, run(platform, *policy, load).makespan_s);
                } catch (const PolicyError&) {
                }
            }
            const auto policy = find_policy("auto")->make();
            CHECK(run(platform, *policy, load).makespan_s <= 1.06 * best_s);
            CHECK(policy->report().chosen == "hpopta");
        }
}

TEST_CASE("auto copes with a record of a machine whose largest device has become slower") {
    constexpr std::size_t kTeslaK20c = 9, kTitan = 17;
    struct Case {
        const char* machines;
        Units order;
        std::size_t device;
        double most;  ///< times as long as plb-hec, which knew nothing
    };
    for (const auto& [machines, order, device, most] :
         {Case{"A", 16384, kTeslaK20c, 1.15}, Case{"A", 65536, kTeslaK20c, 1.1}, Case{"AB", 16384, kTeslaK20c, 1.25},
          Case{"ABC", 65536, kTeslaK20c, 1.05}, Case{"ABCD", 16384, kTitan, 1.2}, Case{"ABCD", 65536, kTitan, 1.05}}) {
        INFO(machines << " " << order);
        FakePlatform platform = plb_hec_machines(machines, order);
        platform.links_known = true;
        const LoadDescription load = platform.load(order);
        const FakePlatform real = slowed(platform, device, 3);
        const auto automatic = find_policy("auto")->make(), adaptive = find_policy("plb-hec")->make();
        CHECK(run(real, *automatic, load).makespan_s <= most * run(real, *adaptive, load).makespan_s);
    }
}

TEST_CASE("a guarded policy counts half of a link's latency for the way of a block to its device") {
    // A part costs 25 ms more than the whole block of 1 s: worth it. With the way back it would not be.
    FakePlatform platform = plain_platform({1000});
    platform.links = {{1e9}};
    platform.bytes_in_per_unit = platform.bytes_out_per_unit = 1;
    platform.links_known = true;
    platform.workers[0].link = 0;
    platform.workers[0].latency_s = 0.025;
    const LoadDescription load = platform.load(1000);
    GuardedPolicy guarded(std::make_unique<Planned>(std::vector<double>{1}), *find_policy("plb-hec"),
                          recorded_functions(load), recorded_links(load));
    CHECK(run(platform, guarded, load).blocks.at(0).units == 125);
}

TEST_CASE("the rest of a block of which a guarded policy handed out a part waits for memory, and is one block") {
    FakePlatform platform = plain_platform({1000}, 0.01);
    platform.links = {{1e5}};
    platform.bytes_out_per_unit = 1;
    platform.links_known = true;
    platform.workers[0].link = 0;
    platform.workers[0].memory_units = 1000;
    const LoadDescription load = platform.load(1000);
    GuardedPolicy guarded(std::make_unique<Planned>(std::vector<double>{1}), *find_policy("plb-hec"),
                          recorded_functions(load), recorded_links(load));
    const FakeRun result = run(platform, guarded, load);
    REQUIRE(result.blocks.size() == 2);
    CHECK(result.blocks.at(1).units == 875);
}
