// SPDX-License-Identifier: LGPL-2.1-or-later
//
// auto, and what it is made of: virtual runs and guarded policies.
#include <algorithm>
#include <cmath>

#include "policies/guarded_policy.hpp"
#include "policies/virtual_run.hpp"
#include "test/catch.hpp"
#include "test/fake_platform.hpp"

using namespace apportion;
using namespace apportion::test;

namespace {

/// The load with the platform's true times as its record.
LoadDescription recorded_load(const FakePlatform& platform, Units units) {
    LoadDescription load = platform.load(units);
    load.recorded = {};
    for (const FakeWorker& worker : platform.workers) {
        ProcessorProfile profile{worker.name, {}};
        const Units most = std::min(units, worker.memory_units);
        for (Units x = std::max<Units>(1, units / 512); x < most; x += x / 4 + 1)
            profile.points.push_back({x, worker.seconds(static_cast<double>(x)), 0, 0});
        profile.points.push_back({most, worker.seconds(static_cast<double>(most)), 0, 0});
        load.recorded.processors.push_back(profile);
    }
    return load;
}

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

}  // namespace

TEST_CASE("a virtual run takes as long as the real one") {
    for (const char* machines : {"A", "AB"}) {
        FakePlatform platform = plb_hec_machines(machines, 16384);
        platform.links_known = true;
        const LoadDescription load = recorded_load(platform, 16384);
        for (const char* name : {"plb-hec", "hdss"}) {
            INFO(machines << " " << name);
            const auto real = find_policy(name)->make(), rehearsed = find_policy(name)->make();
            CHECK(virtual_makespan(load, *rehearsed, recorded_functions(load)) ==
                  Approx(run(platform, *real, load).makespan_s).epsilon(0.1));
        }
    }
}

TEST_CASE("a policy that refuses a load takes for ever") {
    class Refusing final : public Policy {
        void begin(const LoadDescription&) override { throw PolicyError("no"); }
        Units next_block(int, double, const Progress&) override { return 0; }
    };
    Refusing policy;
    const LoadDescription load = recorded_load(plain_platform({1, 2}), 100);
    CHECK(std::isinf(virtual_makespan(load, policy, recorded_functions(load))));
}

TEST_CASE("a guarded policy does what it plans where the record is right") {
    const std::vector<double> speeds = {4000, 1000};
    const FakePlatform platform = plain_platform(speeds, 1e-3);
    const LoadDescription load = recorded_load(platform, 100'000);
    GuardedPolicy policy(std::make_unique<Planned>(speeds), *find_policy("plb-hec"), recorded_functions(load));
    const FakeRun result = run(platform, policy, load);
    CHECK_FALSE(policy.fell_back());
    CHECK(result.blocks.size() == 4);  // an eighth to see, and the rest
    CHECK(result.units_of(0) == 80'000);
    CHECK(result.makespan_s == Approx(20).epsilon(0.01));
}

TEST_CASE("a guarded policy falls back on the adaptive one where the record is wrong") {
    const std::vector<double> speeds = {4000, 1000};
    const FakePlatform recorded = plain_platform(speeds, 1e-3), real = slowed(recorded, 0, 3);
    const LoadDescription load = recorded_load(recorded, 100'000);
    GuardedPolicy policy(std::make_unique<Planned>(speeds), *find_policy("plb-hec"), recorded_functions(load));
    const FakeRun result = run(real, policy, load);
    CHECK(policy.fell_back());
    CHECK(result.done);
    CHECK(result.makespan_s < 1.1 * 100'000 / (4000.0 / 3 + 1000));
    Planned unguarded(speeds);
    CHECK(run(real, unguarded, load).makespan_s > 55);
}

TEST_CASE("a guarded policy does not take a spike for a wrong record") {
    const std::vector<double> speeds = {4000, 1000};
    FakePlatform platform = plain_platform(speeds, 1e-3);
    const LoadDescription load = recorded_load(platform, 100'000);
    platform.workers[0].spikes = {{0, 2}};
    GuardedPolicy policy(std::make_unique<Planned>(speeds), *find_policy("plb-hec"), recorded_functions(load));
    CHECK(run(platform, policy, load).done);
    CHECK_FALSE(policy.fell_back());
}

TEST_CASE("a guarded policy does not cut blocks whose fixed costs are high") {
    const FakePlatform platform = plain_platform({1000, 1000}, 5);
    const LoadDescription load = recorded_load(platform, 20'000);
    GuardedPolicy policy(std::make_unique<Planned>(std::vector<double>{1, 1}), *find_policy("plb-hec"),
                         recorded_functions(load));
    CHECK(run(platform, policy, load).blocks.size() == 2);
}

TEST_CASE("without a record auto does what plb-hec does") {
    const FakePlatform platform = plb_hec_machines("AB", 16384);
    const auto automatic = find_policy("auto")->make(), adaptive = find_policy("plb-hec")->make();
    CHECK(run(platform, *automatic, platform.load(16384)).makespan_s ==
          run(platform, *adaptive, platform.load(16384)).makespan_s);
    CHECK(automatic->report().chosen == "plb-hec");
    CHECK(automatic->report().predictions.empty());
}

TEST_CASE("with a record auto is as good as the best policy that is registered, and tells what it predicted") {
    for (const char* machines : {"A", "AB", "ABC", "ABCD"})
        for (Units order : {4096, 16384, 65536}) {
            INFO(machines << " " << order);
            FakePlatform platform = plb_hec_machines(machines, order);
            platform.links_known = true;
            const LoadDescription load = recorded_load(platform, order);
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
            CHECK(run(platform, *policy, load).makespan_s <= 1.05 * best_s);
            const PolicyReport report = policy->report();
            CHECK_FALSE(report.predictions.empty());
            CHECK(find_policy(report.chosen));
        }
}

TEST_CASE("auto copes with a record of a machine that has become slower") {
    FakePlatform platform = plb_hec_machines("AB", 16384);
    platform.links_known = true;
    const LoadDescription load = recorded_load(platform, 16384);
    const FakePlatform real = slowed(platform, platform.workers.size() - 1, 3);
    const auto automatic = find_policy("auto")->make(), adaptive = find_policy("plb-hec")->make();
    CHECK(run(real, *automatic, load).makespan_s <= 1.1 * run(real, *adaptive, load).makespan_s);
}
