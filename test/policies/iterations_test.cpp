// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Loads that run again: balanced after a few runs, and then nothing moves without need.
#include <algorithm>

#include "policies/planners/continuous/geometric.hpp"
#include "policies/shared/redistribution.hpp"
#include "test/catch.hpp"
#include "test/fake_platform.hpp"

using namespace apportion;
using namespace apportion::test;

namespace {

constexpr Units kUnits = 100'000;

struct Iteration {
    FakeRun run;
    Units moved = 0;        ///< since the iteration before
    double difference = 0;  ///< of the processors' times, relative to the longest
};

class Application {
  public:
    Application(const char* policy, const FakePlatform& platform)
        : platform_(platform), policy_(find_policy(policy)->make()) {}

    Iteration iterate(const FakePlatform& now) {
        LoadDescription load = now.load(kUnits);
        load.run = ++runs_;
        load.staying = runs_ > 1 ? 1 : 0;
        Iteration result;
        result.run = run(now, *policy_, load, runs_ > 1 ? &last_ : nullptr);
        result.moved = runs_ > 1 ? moved_units(last_, result.run) : 0;
        double first_s = 1e300, last_s = 0;
        for (int p = 0; p < static_cast<int>(now.workers.size()); ++p) {
            first_s = std::min(first_s, result.run.end_of(p));
            last_s = std::max(last_s, result.run.end_of(p));
        }
        result.difference = (last_s - first_s) / last_s;
        last_ = result.run;
        return result;
    }

    /// With noise of its own in every iteration.
    Iteration iterate() {
        platform_.seed = static_cast<unsigned>(runs_) + 1;
        return iterate(platform_);
    }

  private:
    FakePlatform platform_;
    std::unique_ptr<Policy> policy_;
    int runs_ = 0;
    FakeRun last_;
};

FakePlatform one_slow() { return plain_platform({1000, 250, 1000, 1000}, 1e-4); }

FakePlatform noisy(FakePlatform platform) {
    for (FakeWorker& worker : platform.workers) worker.noise = 0.03;
    return platform;
}

const char* const kPolicies[] = {"fpm-dynamic", "plb-hec"};

}  // namespace

TEST_CASE("a load with one processor four times slower is balanced after five runs and stays where it is") {
    for (const char* policy : kPolicies) {
        INFO(policy);
        Application application(policy, one_slow());
        for (int i = 0; i < 4; ++i) application.iterate();
        for (int i = 0; i < 10; ++i) {
            const Iteration iteration = application.iterate();
            CHECK(iteration.difference <= 0.1);
            CHECK(iteration.moved == 0);
        }
    }
}

TEST_CASE("noise moves nothing once a load is balanced") {
    for (const char* policy : kPolicies) {
        INFO(policy);
        Application application(policy, noisy(one_slow()));
        for (int i = 0; i < 5; ++i) application.iterate();
        for (int i = 0; i < 30; ++i) CHECK(application.iterate().moved == 0);
    }
}

TEST_CASE("one run with a spike moves units once afterwards, at most") {
    for (const char* policy : kPolicies) {
        INFO(policy);
        Application application(policy, noisy(one_slow()));
        for (int i = 0; i < 5; ++i) application.iterate();
        FakePlatform spiked = one_slow();
        for (int block = 0; block < 8; ++block) spiked.workers[0].spikes.emplace_back(block, 20);
        CHECK(application.iterate(spiked).run.makespan_s > 33);  // 31 without it
        application.iterate();                                   // what others took over may return, once
        for (int i = 0; i < 5; ++i) CHECK(application.iterate().moved == 0);
    }
}

TEST_CASE("a processor that becomes three times slower is given less within three runs") {
    FakePlatform slower = one_slow();
    slower.workers[0].drift_at_s = 0;
    slower.workers[0].drift_factor = 3;
    const double best_s = kUnits / (1000 / 3.0 + 250 + 1000 + 1000);
    for (const char* policy : kPolicies) {
        INFO(policy);
        Application application(policy, one_slow());
        for (int i = 0; i < 5; ++i) application.iterate();
        for (int i = 0; i < 3; ++i) application.iterate(slower);
        const Iteration adapted = application.iterate(slower);
        CHECK(adapted.difference <= 0.1);
        CHECK(adapted.run.makespan_s <= 1.1 * best_s);
        application.iterate(slower);
        CHECK(application.iterate(slower).moved == 0);
    }
}

TEST_CASE("plb-hec gives a device behind a slow link what it does in all the runs to come, if its data stay") {
    FakePlatform platform = plain_platform({10'000, 1000, 1000, 1000}, 1e-4);
    platform.workers[0].link = 0;
    platform.links = {{1e6}};
    platform.bytes_in_per_unit = 1e3;  // the link carries as much as a core computes
    platform.links_known = true;
    const auto units_of_device = [&](double staying, int runs_expected) {
        const auto policy = find_policy("plb-hec")->make();
        LoadDescription load = platform.load(kUnits);
        load.runs_expected = runs_expected;
        const FakeRun first = run(platform, *policy, load);
        CHECK(first.units_of(0) < 0.3 * kUnits);
        load.run = 2;
        load.staying = staying;
        const FakeRun second = run(platform, *policy, load, &first);
        CHECK(second.units_of(0) + second.units_of(1) + second.units_of(2) + second.units_of(3) == kUnits);
        return static_cast<double>(second.units_of(0));
    };
    CHECK(units_of_device(1, 100) == Approx(kUnits / 1.3).epsilon(0.03));
    CHECK(units_of_device(1, 2) < 0.3 * kUnits);    // to move them takes three times as long as that run
    CHECK(units_of_device(0, 100) < 0.3 * kUnits);  // nothing of them stays
}

TEST_CASE("plb-hec moves no data because a core is late, where that takes longer than to wait") {
    FakePlatform platform = plain_platform({10'000, 1000, 1000, 1000}, 1e-4);
    platform.workers[0].link = 0;
    platform.links = {{1e6}};
    platform.bytes_in_per_unit = 1e3;
    platform.links_known = true;
    const auto policy = find_policy("plb-hec")->make();
    LoadDescription load = platform.load(kUnits);
    load.runs_expected = 1000;
    FakeRun last = run(platform, *policy, load);
    load.staying = 1;
    for (std::size_t core = 1; core < platform.workers.size(); ++core) platform.workers[core].noise = 0.4;
    Units moved = 0;
    for (load.run = 2; load.run <= 60; ++load.run) {
        platform.seed = static_cast<unsigned>(load.run);
        const FakeRun now = run(platform, *policy, load, &last);
        if (load.run > 20) moved += moved_units(last, now);
        last = now;
    }
    CHECK(moved < 4 * kUnits);  // of forty times as many as there are
}

TEST_CASE("plb-hec waits for a late processor as long as moving the data takes, over all its blocks") {
    FakePlatform platform = plain_platform({2000, 1000, 1000, 1000}, 1e-4);
    platform.workers[0].link = 0;
    platform.links = {{1e9}};
    platform.bytes_in_per_unit = 1e3;
    platform.links_known = true;
    for (const double moving_s : {0.1, 6.0, 25.0})
        for (const double slower : {3, 10, 30}) {
            INFO(moving_s << " s to move, " << slower << " times slower");
            const auto policy = find_policy("plb-hec")->make();
            LoadDescription load = platform.load(kUnits);
            load.runs_expected = 2;
            const FakeRun first = run(platform, *policy, load);
            load.staying = 1;
            load.run = 2;
            load.links[0] = {moving_s, 0};
            FakePlatform disturbed = platform;
            disturbed.workers[1].seconds = [slower](double units) { return slower * (1e-4 + units / 1000); };
            CHECK(run(disturbed, *policy, load, &first).makespan_s < 25 + 1.2 * moving_s);  // 20 s undisturbed
        }
}

namespace {

FakePlatform behind_slow_link() {
    FakePlatform platform = plain_platform({10'000, 1000, 1000, 1000}, 1e-4);
    platform.workers[0].link = 0;
    platform.links = {{1e6}};
    platform.bytes_in_per_unit = 1e3;  // the link carries as much as a core computes
    platform.links_known = true;
    return platform;
}

/// A load for a process that knows what blocks took in a run, and how that was distributed.
LoadDescription load_after(const FakePlatform& platform, const FakeRun& last, double run_s, int runs) {
    LoadDescription load = platform.load(kUnits);
    load.learnt = load.recorded.processors;
    load.learnt_distribution = {std::vector<std::vector<Units>>(platform.workers.size()), runs, run_s};
    for (const FakeBlock& block : last.blocks)
        load.learnt_distribution.blocks[static_cast<std::size_t>(block.processor)].push_back(block.units);
    return load;
}

}  // namespace

TEST_CASE("plb-hec begins a process with the blocks that the one before ended with, if data stayed there") {
    const FakePlatform platform = behind_slow_link();
    FakePlatform there = platform;  // the data are
    there.bytes_in_per_unit = 0;
    const auto policy = find_policy("plb-hec")->make();
    LoadDescription load = platform.load(kUnits);
    load.runs_expected = 100;
    FakeRun last = run(platform, *policy, load);
    load.staying = 1;
    for (load.run = 2; load.run <= 10; ++load.run) last = run(there, *policy, load, &last);
    REQUIRE(last.units_of(0) > 0.7 * kUnits);

    LoadDescription later = load_after(platform, last, last.makespan_s, 8);
    later.runs_expected = GENERATE(0, 9);
    const auto next = find_policy("plb-hec")->make();
    FakeRun now = run(platform, *next, later);
    CHECK(next->report().note == "blocks of the process before repeated");
    later.staying = 1;
    for (later.run = 2; later.run <= 10; ++later.run) {
        const FakeRun before = now;
        now = run(there, *next, later, &before);
        CHECK(moved_units(before, now) == 0);
        CHECK(now.makespan_s < 1.01 * last.makespan_s);
    }

    for (const bool other_size : {true, false}) {  // what does not fit the load is no beginning
        LoadDescription other = load_after(platform, last, last.makespan_s, 8);
        if (other_size)
            other.learnt_distribution.blocks[1].push_back(1);
        else
            other.runs_expected = 8;  // the first moves all data, and seven are too few
        const auto anew = find_policy("plb-hec")->make();
        CHECK(run(platform, *anew, other).units_of(0) < 0.3 * kUnits);
        CHECK(anew->report().note.empty());
    }
}

TEST_CASE("plb-hec leaves the blocks of the process before when a processor is not what it was there") {
    FakePlatform platform = one_slow();
    const auto policy = find_policy("plb-hec")->make();
    LoadDescription load = platform.load(kUnits);
    FakeRun last = run(platform, *policy, load);
    load.staying = 1;
    for (load.run = 2; load.run <= 10; ++load.run) last = run(platform, *policy, load, &last);
    LoadDescription later = load_after(platform, last, last.makespan_s, 1000);
    for (const double slower : {1.4, 3.0}) {
        INFO(slower << " times slower");
        FakePlatform changed = one_slow();
        changed.workers[0].seconds = [slower](double units) { return 1e-4 + slower * units / 1000; };
        const auto next = find_policy("plb-hec")->make();
        later.run = 1;
        later.staying = 0;
        FakeRun now = run(changed, *next, later);
        later.staying = 1;
        for (later.run = 2; later.run <= 10; ++later.run) now = run(changed, *next, later, &now);
        CHECK(now.makespan_s < 1.1 * kUnits / (1000 / slower + 250 + 1000 + 1000));
    }
}

TEST_CASE("fpm-dynamic refines its models round by round in a single run") {
    const FakePlatform platform = plain_platform({4000, 1000, 500}, 1e-3);
    const auto policy = find_policy("fpm-dynamic")->make();
    const FakeRun result = run(platform, *policy, platform.load(kUnits));
    CHECK(result.makespan_s < 1.1 * kUnits / 5500);
    const PolicyReport report = policy->report();
    CHECK(report.distributions.at(0).reason == "initial blocks");
    CHECK(report.distributions.at(1).reason == "refined models");
    CHECK(report.models.at(0).samples >= 2);
}

TEST_CASE("a round of fpm-dynamic is its shares and no more, behind a barrier") {
    const FakePlatform platform = plain_platform({4000, 1000, 500}, 1e-3);
    const auto policy = find_policy("fpm-dynamic")->make();
    const FakeRun result = run(platform, *policy, platform.load(kUnits, 1, 100));
    const double second_s = policy->report().distributions.at(1).at_s;
    Units first_round = 0;
    double end_s = 0;
    for (const FakeBlock& block : result.blocks)
        if (block.given_s < second_s) first_round += block.units, end_s = std::max(end_s, block.end_s);
    CHECK(first_round == 3 * 100);
    CHECK(second_s == Approx(end_s));
}

TEST_CASE("a load that runs again under fpm-dynamic gives a device no more than whose results are home in time") {
    FakePlatform platform = plain_platform({100, 1000});
    platform.links = {{1000}};
    platform.workers[1].link = 0;
    platform.bytes_out_per_unit = 10;  // a unit's results travel ten times as long as it is computed
    LoadDescription load = platform.load(1000);
    const auto policy = find_policy("fpm-dynamic")->make();
    for (load.run = 1; load.run < 3; ++load.run) run(platform, *policy, load);
    CHECK(run(platform, *policy, load).makespan_s < 1.1 * 1000 / (100 + 1 / (1 / 1000.0 + 1 / 100.0)));
}

TEST_CASE("fpm-dynamic-published begins with equal shares and goes on as algorithm 1 of its paper") {
    Application application("fpm-dynamic-published", one_slow());
    const Iteration first = application.iterate();
    for (int p = 0; p < 4; ++p) CHECK(first.run.units_of(p) == kUnits / 4);
    const Iteration second = application.iterate();
    CHECK(second.run.units_of(1) == Approx(kUnits / 13.0).epsilon(0.01));
    CHECK(second.difference < 0.01);
    CHECK(application.iterate().moved < kUnits / 100);
}

TEST_CASE("fpm-dynamic-published adds what each run took to its models as algorithm 1 does, and nothing else") {
    FakePlatform platform = plain_platform({1400, 1000});
    platform.workers[0].seconds = [](double units) { return units / (units > 54'000 ? 700 : 1400); };  // memory ends
    Application application("fpm-dynamic-published", platform);
    std::vector<std::vector<BlockTime>> s(2);
    std::vector<double> d(2, kUnits / 2.0);
    std::vector<double> shares_of_first;
    for (int iteration = 0; iteration < 12; ++iteration) {
        INFO("iteration " << iteration + 1);
        const FakeRun run = application.iterate().run;
        std::vector<std::optional<PiecewiseLinear>> models;
        for (std::size_t i = 0; i < 2; ++i) {
            const Units units = whole_shares(d, 1)[i];
            REQUIRE(run.units_of(static_cast<int>(i)) == units);
            s[i].push_back({static_cast<double>(units), platform.workers[i].seconds(static_cast<double>(units))});
            models.push_back(PiecewiseLinear::through(s[i], PiecewiseLinear::Shape::restricted));
        }
        shares_of_first.push_back(static_cast<double>(run.units_of(0)));
        d = geometric_partition(models, kUnits, std::vector<double>{kUnits, kUnits}).shares;
    }
    CHECK(shares_of_first[1] > 58'000);
    CHECK(shares_of_first[2] < 54'000);  // the first time beyond the memory's end counts
}

TEST_CASE("fpm-dynamic begins another load with the models it has") {
    const FakePlatform platform = plain_platform({4000, 1000});
    const auto policy = find_policy("fpm-dynamic")->make();
    run(platform, *policy, platform.load(50'000));
    const FakeRun other = run(platform, *policy, platform.load(20'000));
    CHECK(other.blocks.size() == 2);
    CHECK(other.makespan_s == Approx(4).epsilon(0.02));
}
