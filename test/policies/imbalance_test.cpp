// SPDX-License-Identifier: LGPL-2.1-or-later
//
// imbalance on the fake platform: what it finds where a deliberate imbalance pays, and what trying costs where none
// does.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "test/catch.hpp"
#include "test/fake_platform.hpp"
#include "test/folder.hpp"

using namespace apportion;
using namespace apportion::test;

namespace {

using TimeFunction = std::function<double(double units)>;

LoadDescription without_profile(const FakePlatform& platform, Units units) {
    LoadDescription load = platform.load(units);
    load.recorded = {{}, "", "", "there is no profile"};
    return load;
}

/// Two teams that share 480 units; a run's times are multiplied by what is told of it.
class Teams {
  public:
    explicit Teams(TimeFunction seconds) : seconds_(std::move(seconds)) {
        for (FakeWorker& worker : platform_.workers) {
            worker.kind = 0;
            worker.seconds = [this](double x) { return factor_ * seconds_(x); };
        }
    }

    struct Outcome {
        double total_s = 0;
        double equal_s = 0;    ///< what the runs would have taken with equal shares
        Units last_units = 0;  ///< of the second team, in the last run

        double percent_more() const { return 100 * (total_s / equal_s - 1); }
    };

    Outcome iterate(int runs, bool announced, const std::function<double(int run)>& factor) {
        LoadDescription load = without_profile(platform_, kUnits);
        load.runs_expected = announced ? runs : 0;
        policy = find_policy("imbalance")->make();
        Outcome outcome;
        for (load.run = 1; load.run <= runs; ++load.run) {
            factor_ = factor(load.run);
            const FakeRun result = run(platform_, *policy, load);
            outcome.total_s += result.makespan_s;
            outcome.equal_s += factor_ * seconds_(kUnits / 2.0);
            outcome.last_units = result.units_of(1);
        }
        return outcome;
    }

    static constexpr Units kUnits = 480;
    std::unique_ptr<Policy> policy;

  private:
    FakePlatform platform_ = plain_platform({1, 1});
    TimeFunction seconds_;
    double factor_ = 1;
};

double flat(double units) { return units / 100; }

/// 240 to 247 units are slow.
double with_slow_sizes(double units) { return units / (units >= 240 && units < 248 ? 88 : 100); }

std::function<double(int)> noisy(double deviation, unsigned seed) {
    return [deviation, random = std::mt19937(seed), normal = std::normal_distribution<double>()](int) mutable {
        return std::exp(deviation * normal(random));
    };
}

double quiet(int) { return 1; }

}  // namespace

TEST_CASE("imbalance with a profile takes the offset of Algorithm 1") {
    // Published times of MPDATA teams over x cells (EULAG, Table 1): balanced 1.486, offset 8 1.386.
    FakePlatform platform = plain_platform({100, 100, 100, 100});
    for (FakeWorker& worker : platform.workers) {
        worker.kind = 0;
        worker.seconds = [](double x) {
            return x == 120 ? 1.486 : x < 120 ? 0.01 * x + 0.1 : 1.306 + 0.01 * (x - 120);
        };
    }
    LoadDescription load = platform.load(480);
    std::vector<Units> sizes;
    for (Units x = 4; x <= 240; x += 4) sizes.push_back(x);
    platform.record(load, sizes);
    const auto policy = find_policy("imbalance")->make();
    const FakeRun result = run(platform, *policy, load);
    CHECK(result.units_of(0) == 116);
    CHECK(result.units_of(1) == 124);
    CHECK(result.units_of(2) == 116);
    CHECK(result.makespan_s == Approx(1.346));
    CHECK(policy->report().distributions[0].predicted_end_s == Approx(1.346));
}

TEST_CASE("imbalance takes an offset that is given, and refuses one that is larger than an equal share") {
    FakePlatform platform = plain_platform({100, 100, 100, 100});
    for (FakeWorker& worker : platform.workers) worker.kind = 0;
    const LoadDescription load = without_profile(platform, 480);
    const auto policy = find_policy("imbalance")->make();
    setenv("APPORTION_OFFSET", "9", 1);
    const FakeRun result = run(platform, *policy, load);
    setenv("APPORTION_OFFSET", "121", 1);
    CHECK_THROWS_WITH(policy->begin(load), ContainsSubstring("an equal share of 480 units on 4 processors is 120"));
    unsetenv("APPORTION_OFFSET");
    for (int processor = 0; processor < 4; ++processor)
        CHECK(result.units_of(processor) == (processor % 2 ? 129 : 111));
    CHECK(policy->report().note == "the offset 9 was given");
}

TEST_CASE("the share of each processor is one range of units under imbalance, as planned") {
    FakePlatform platform = plain_platform({100, 100, 100, 100});
    for (FakeWorker& worker : platform.workers) worker.kind = 0;
    const Setting offset("APPORTION_OFFSET", "9");
    const auto policy = find_policy("imbalance")->make();
    policy->begin(without_profile(platform, 480));
    std::vector<Units> firsts;
    for (const OwnedUnits& its : policy->owned()) firsts.push_back(its.first);
    CHECK(firsts == std::vector<Units>{0, 111, 240, 351});
}

TEST_CASE("as published, imbalance tries steps of 4 units until one is slow, and keeps what Algorithm 1 chooses") {
    FakePlatform platform = plain_platform({1, 1, 1, 1});
    for (FakeWorker& worker : platform.workers) {
        worker.kind = 0;
        worker.seconds = [](double x) { return x / (x == 128 ? 110 : 100); };
    }
    const LoadDescription profiled = platform.load(480);
    const Setting offset("APPORTION_OFFSET", "published");
    const auto policy = find_policy("imbalance")->make();
    std::vector<double> larger;
    for (LoadDescription load = profiled; load.run <= 8; ++load.run) {
        CHECK(run(platform, *policy, load).done);
        larger.push_back(policy->report().distributions.at(0).shares_units.at(1));
    }
    CHECK(larger == std::vector<double>{120, 120, 124, 128, 132, 128, 128, 128});
    CHECK(policy->report().note == "tried as published: offset 8 of 120 units found by trying");
}

TEST_CASE("imbalance without a profile finds its offset over the first submissions and keeps it") {
    FakePlatform platform = plain_platform({100, 100, 100, 100});
    for (FakeWorker& worker : platform.workers) {
        worker.kind = 0;
        // 112 to 116 are slow sizes, 128 to 131 fast ones.
        worker.seconds = [](double x) { return x >= 117 && x < 128 ? x / 80 : x / 100; };
    }
    LoadDescription load = without_profile(platform, 480);
    load.runs_expected = 60;
    const auto policy = find_policy("imbalance")->make();
    std::vector<double> makespans_s;
    for (load.run = 1; load.run <= load.runs_expected; ++load.run)
        makespans_s.push_back(run(platform, *policy, load).makespan_s);
    CHECK(makespans_s[0] == Approx(1.5));
    CHECK(makespans_s.back() == Approx(1.28));
    CHECK(std::count(makespans_s.begin(), makespans_s.end(), makespans_s.back()) > 40);
    CHECK(policy->report().distributions[0].shares_units == std::vector<double>{112, 128, 112, 128});
    CHECK(policy->report().note.find("found by trying") != std::string::npos);
}

TEST_CASE("imbalance finds a gain without knowing how often the load runs, and through noise") {
    Teams teams(with_slow_sizes);
    CHECK(teams.iterate(200, false, quiet).last_units == 248);
    for (unsigned seed = 1; seed <= 5; ++seed) {
        INFO("seed " << seed);
        const Teams::Outcome outcome = teams.iterate(100, true, noisy(0.02, seed));
        CHECK(outcome.last_units > 240);
        CHECK(outcome.percent_more() < -3);
    }
}

TEST_CASE("where no imbalance pays, trying costs less than 1 % however often the load runs") {
    Teams teams(flat);
    for (const bool announced : {false, true})
        for (const int runs : {1, 2, 3, 10, 40, 100, 1000}) {
            INFO(runs << " runs, announced: " << announced);
            CHECK(teams.iterate(runs, announced, quiet).percent_more() < 0.5);
            std::vector<double> percent_more;
            for (unsigned seed = 1; seed <= 20; ++seed)
                percent_more.push_back(teams.iterate(runs, announced, noisy(0.05, seed)).percent_more());
            std::sort(percent_more.begin(), percent_more.end());
            CHECK(percent_more[10] < 0.5);
            CHECK(percent_more[18] < 1);
        }
}

TEST_CASE("slow first runs, a slow run on the way or a cliff cost imbalance no more") {
    Teams teams(flat);
    CHECK(teams.iterate(40, true, [](int run) { return run < 4 ? 1.3 : 1; }).percent_more() < 1);
    for (int slow = 1; slow < 20; ++slow) {
        INFO("run " << slow);
        const Teams::Outcome outcome = teams.iterate(40, true, [slow](int run) { return run == slow ? 2 : 1; });
        CHECK(outcome.percent_more() < 1);
        CHECK(outcome.last_units == 240);
    }
    Teams with_cliff([](double units) { return (units > 240 ? 1.4 : 1) * flat(units); });
    CHECK(with_cliff.iterate(100, true, quiet).percent_more() < 0.5);
}

TEST_CASE("imbalance gives up an offset that no longer pays") {
    bool pays = true;
    Teams teams([&pays](double units) { return (pays || units <= 240 ? 1 : 1.3) * with_slow_sizes(units); });
    const Teams::Outcome outcome = teams.iterate(400, true, [&pays](int run) {
        pays = run <= 100;
        return 1.0;
    });
    CHECK(outcome.last_units == 240);
    CHECK(teams.policy->report().distributions[0].predicted_end_s == Approx(with_slow_sizes(240)));
    CHECK(outcome.percent_more() < 0);
}

TEST_CASE("imbalance spends no runs on searching where few are announced") {
    Teams teams(flat);
    for (const int runs : {2, 10}) CHECK(teams.iterate(runs, true, quiet).percent_more() == Approx(0).margin(1e-9));
}
