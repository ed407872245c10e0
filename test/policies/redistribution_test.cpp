// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/shared/redistribution.hpp"

#include <numeric>

#include "test/catch.hpp"

using namespace apportion;

namespace {

using Shares = std::vector<double>;

/// Processors of constant speed.
SecondsOfShare speeds(const Shares& units_per_s) {
    return [units_per_s](std::size_t p, double units) { return units / units_per_s[p]; };
}

LoadDescription load_of(Units units, std::size_t processors, int run, int runs_expected = 0) {
    LoadDescription load;
    load.units = units;
    load.processors.resize(processors);
    load.run = run;
    load.runs_expected = runs_expected;
    return load;
}

double sum(const Shares& shares) { return std::accumulate(shares.begin(), shares.end(), 0.0); }

}  // namespace

TEST_CASE("as many runs are expected to come as there have been, unless the application says") {
    CHECK(runs_to_come(load_of(1, 1, 2)) == 1);
    CHECK(runs_to_come(load_of(1, 1, 9)) == 8);
    CHECK(runs_to_come(load_of(1, 1, 2, 10)) == 9);
    CHECK(runs_to_come(load_of(1, 1, 12, 10)) == 1);
}

TEST_CASE("the least movement takes from the late what they cannot do and from nobody else") {
    const Shares moved = least_movement(Shares{60, 20, 20}, Shares{25, 25, 50});
    CHECK(moved[0] == Approx(25));
    CHECK(moved[1] == Approx(20 + 35 * 5.0 / 35));
    CHECK(moved[2] == Approx(20 + 35 * 30.0 / 35));
    CHECK(least_movement(Shares{20, 20}, Shares{25, 25}) == Shares{20, 20});
}

TEST_CASE("whole shares are whole granules that cover the load, and stay what they are") {
    CHECK(whole_shares(Shares{3.4, 2.6, 4}, 1) == std::vector<Units>{3, 3, 4});
    CHECK(whole_shares(Shares{16, 8}, 8) == std::vector<Units>{16, 8});
    CHECK(whole_shares(Shares{10, 7}, 8) == std::vector<Units>{16, 8});
    CHECK(whole_shares(Shares{0, 0}, 8) == std::vector<Units>{0, 0});
    CHECK(whole_shares(Shares{1e10, 5}, 1) == std::vector<Units>{10000000000, 5});
    for (const double units : {1e9, 1e9 + 1, 1e12 + 2})
        for (int processors = 2; processors < 12; ++processors) {
            const std::vector<Units> whole =
                whole_shares(Shares(static_cast<std::size_t>(processors), units / processors), 1);
            CHECK(std::accumulate(whole.begin(), whole.end(), Units{0}) == static_cast<Units>(units));
        }
}

TEST_CASE("an unbalanced distribution is left for a balanced one") {
    Rebalancer rebalancer;
    const auto decision = rebalancer.decide(load_of(100, 2, 2), {Shares{50, 50}, Shares{12.5, 50}}, speeds({4, 1}));
    CHECK(decision.worthwhile);
    CHECK(decision.shares[0] == Approx(80).epsilon(0.02));
    CHECK(sum(decision.shares) == Approx(100));
    CHECK(decision.run_s == Approx(20).epsilon(0.02));
}

TEST_CASE("a gain that is smaller than noise moves nothing") {
    Rebalancer rebalancer;
    const auto decision = rebalancer.decide(load_of(100, 2, 9), {Shares{51, 49}, Shares{51, 49}}, speeds({1, 1}));
    CHECK_FALSE(decision.worthwhile);
    CHECK(decision.shares == Shares{51, 49});
}

TEST_CASE("units move only when the runs to come gain more than the links cost") {
    LoadDescription load = load_of(100, 2, 3, 0);
    load.staying = 1;
    load.links = {{0, 1.0}, {0, 0}};  // 80 units cost 80 s, a run gains 30 s
    const auto decides = [&] {
        Rebalancer rebalancer;
        const EndedRun ended{Shares{50, 50}, Shares{12.5, 50}};
        return rebalancer.decide(load, ended, speeds({4, 1})).worthwhile ||  // else data moved in that run
               rebalancer.decide(load, ended, speeds({4, 1})).worthwhile;
    };
    CHECK_FALSE(decides());
    SECTION("more runs") { load.runs_expected = 10; }
    SECTION("no data are there") { load.staying = 0; }
    CHECK(decides());
}

TEST_CASE("of what gains most in the long run, as much moves as the runs to come pay for") {
    LoadDescription load = load_of(100, 3, 2, 0);
    load.staying = 1;
    load.links = {{0, 1.0}, {0, 100.0}, {0, 0}};  // two fast devices, one behind a slow link, and a slow core
    const SecondsOfShare model = speeds({10, 10, 1});
    const auto shares = [&](int runs) {
        load.runs_expected = runs;
        return Rebalancer().decide(load, {Shares{10, 10, 80}, Shares{80, 80, 80}, false}, model).shares;
    };
    CHECK(shares(2) == Shares{10, 10, 80});  // one run: 61 units would take 61 s to gain 60
    // More runs use the nearer device alone, 10 s of them move; with very many, both.
    const Shares few = shares(11), many = shares(10'001);
    CHECK(few[0] == Approx(81.8).epsilon(0.03));
    CHECK(few[1] == 10);
    CHECK(many[0] == Approx(many[1]).epsilon(0.03));
    CHECK(sum(few) == Approx(100));
    CHECK(sum(many) == Approx(100));
}

TEST_CASE("a distribution is thought over when as many runs have told of it again") {
    Rebalancer rebalancer;
    int asked = 0;
    for (int run = 2; run <= 18; ++run)
        rebalancer.decide(load_of(100, 2, run), {Shares{50, 50}, Shares{50, 50}}, [&](std::size_t, double units) {
            asked += units == 50 && run == 6 ? 1 : 0;  // the fifth
            return units;
        });
    CHECK(asked == 0);
}

TEST_CASE("a processor with another share has the data of all of it brought anew") {
    LoadDescription load = load_of(100, 2, 2);
    load.staying = 0.5;
    load.links = {{0, 0}, {3, 2.0}};
    CHECK(moving_seconds(load, Shares{50, 50}, Shares{49, 51}) == Approx(3 + 51));
    CHECK(moving_seconds(load, Shares{50, 50}, Shares{50, 50}) == 0);
    CHECK(moving_seconds(load, Shares{50, 50}, Shares{49, 51}, true) == Approx(3 + 1));
    CHECK(moving_seconds(load, Shares{50, -1}, Shares{49, 51}, true) == Approx(3 + 51));
}

TEST_CASE("a share that grows keeps its blocks where that is as good, and is made anew where it is not") {
    LoadDescription load = load_of(100, 2, 2, 3);
    load.staying = 1;
    load.links = {{0, 1.0}, {0, 0}};  // bringing all that the device is to have takes longer than two runs gain
    const double launch_s = GENERATE(0.0, 6.0);
    const SecondsOfShare model = [&](std::size_t p, double units) {
        return p == 0 ? units / 10 + (units > 0 ? launch_s : 0) : units;
    };
    const auto decide = [&](bool grows, Units runs) {
        load.runs_expected = static_cast<int>(runs);
        return Rebalancer().decide(load, {Shares{60, 40}, Shares{model(0, 60), 40}, false, grows}, model);
    };
    CHECK_FALSE(decide(false, 3).worthwhile);
    const Redistribution grown = decide(true, 3);
    CHECK(grown.worthwhile);
    CHECK_FALSE(grown.anew[0]);
    CHECK(grown.shares[0] > 60);
    const Redistribution anew = decide(true, 1000);  // one launch less in each run
    CHECK(anew.anew[0] == (launch_s > 0));
    CHECK(model(0, anew.shares[0]) == Approx(anew.shares[1]).margin(1.5));

    load.processors[0].memory_units = 60;  // what stays there fits, and nothing beside it
    CHECK_FALSE(decide(true, 3).worthwhile);
}

TEST_CASE("what is decided is the current distribution, unless another one is worth it") {
    Rebalancer rebalancer;
    const SecondsOfShare model = speeds({1, 1.2});
    const Shares before{50, 50}, tried{45, 55};
    rebalancer.decide(load_of(100, 2, 2), {before, Shares{50, 45}}, model);
    for (int run = 3; run < 12; ++run)  // a little worse: not worth the way back
        CHECK(rebalancer.decide(load_of(100, 2, run), {tried, Shares{50.5, 50.5}}, speeds({1, 1})).shares == tried);
}

TEST_CASE("runs in which data moved tell what that costs, and not how good a distribution is") {
    LoadDescription load = load_of(100, 2, 11);
    load.staying = 1;
    load.links = {{0, 0}, {0, 2.0}};  // 50 units travel for 100 s, and 80 for 160, of which ten runs gain 300
    const SecondsOfShare model = speeds({1, 4});
    const Shares before{50, 50};
    Rebalancer rebalancer;
    const auto decides = [&](const Shares& shares, double second_s) {
        return rebalancer.decide(load, {shares, Shares{shares[0], second_s}}, model);
    };
    const bool slow_links = GENERATE(false, true);
    CHECK_FALSE(decides(before, slow_links ? 300 : 100).worthwhile);
    CHECK_FALSE(decides(before, 12.5).worthwhile);  // it took less: data may have moved still
    const Redistribution decision = decides(before, 12.5);
    CHECK(decision.worthwhile == !slow_links);
    if (slow_links) return;
    CHECK(decision.shares[1] == Approx(80).epsilon(0.02));
    for (const double second_s : {180, 100, 20, 20})
        CHECK(decides(decision.shares, second_s).shares == decision.shares);
}

TEST_CASE("what was measured counts, not what the model says") {
    // The model thinks the second processor three times as fast as it is.
    Rebalancer rebalancer;
    const auto decision = rebalancer.decide(load_of(100, 2, 2), {Shares{50, 50}, Shares{50, 50}}, speeds({1, 3}));
    CHECK_FALSE(decision.worthwhile);
}

TEST_CASE("one slow run is a spike, two are a change") {
    Rebalancer rebalancer;
    const SecondsOfShare model = speeds({1, 1});
    const Shares shares{50, 50};
    for (int run = 2; run < 6; ++run)
        CHECK_FALSE(rebalancer.decide(load_of(100, 2, run), {shares, Shares{50, 50}}, model).worthwhile);
    CHECK_FALSE(rebalancer.decide(load_of(100, 2, 6), {shares, Shares{50, 1000}}, model).worthwhile);
    CHECK_FALSE(rebalancer.decide(load_of(100, 2, 7), {shares, Shares{50, 50}}, model).worthwhile);
    CHECK_FALSE(rebalancer.decide(load_of(100, 2, 8), {shares, Shares{50, 150}}, model).worthwhile);
    const auto decision = rebalancer.decide(load_of(100, 2, 9), {shares, Shares{50, 150}}, model);
    CHECK(decision.worthwhile);
    CHECK(decision.shares[0] == Approx(75).epsilon(0.02));
}

TEST_CASE("what a first run took is known, and what turns out to be worse is taken back") {
    Rebalancer rebalancer;
    const SecondsOfShare model = speeds({10, 30});  // they disturb each other, and take five times as long
    const Shares first{40, 60};
    const auto decision = rebalancer.decide(load_of(100, 2, 2), {first, Shares{10, 10}, false}, model);
    CHECK(decision.worthwhile);
    CHECK(decision.run_s == Approx(2.5).epsilon(0.02));
    const EndedRun slow{decision.shares, Shares{12.5, 12.5}};
    CHECK_FALSE(rebalancer.decide(load_of(100, 2, 3), slow, model).worthwhile);  // it was decided in that run
    const auto back = rebalancer.decide(load_of(100, 2, 4), slow, model);
    CHECK(back.worthwhile);
    CHECK(back.shares == first);
    // Others promise 10 %, but the last promise was not kept.
    for (const int run : {5, 6})
        CHECK_FALSE(rebalancer.decide(load_of(100, 2, run), {first, {8, 10}}, model).worthwhile);
    CHECK(rebalancer.decide(load_of(100, 2, 7), {first, {8, 10}}, model).worthwhile);
}

TEST_CASE("where no promise is kept, shares are moved as often as the number of runs can be halved") {
    Rebalancer rebalancer;
    const Shares equal{50, 50};
    Shares shares = equal;
    int moved = 0;
    for (int run = 2; run < 1026; ++run) {
        const Shares ends = shares == equal ? Shares{5, 1.7} : Shares{5.3, 5.3};
        const auto decision = rebalancer.decide(load_of(100, 2, run), {shares, ends}, speeds({10, 30 + 0.01 * run}));
        if (!decision.worthwhile) continue;
        if (shares == equal) ++moved;
        shares = decision.shares;
    }
    CHECK(moved > 2);
    CHECK(moved <= 10);
    CHECK(shares == equal);
}

TEST_CASE("a processor that becomes slower little by little is given less") {
    Rebalancer rebalancer;
    Shares shares{50, 50};
    double slow = 1;
    for (int run = 2; run < 100; ++run, slow *= 1.01) {
        const SecondsOfShare model = speeds({10 / slow, 10});
        const Shares ends{shares[0] * slow / 10, shares[1] / 10};
        const auto decision = rebalancer.decide(load_of(100, 2, run), {shares, ends}, model);
        if (decision.worthwhile) shares = decision.shares;
    }
    CHECK(shares[0] < 40);
}

TEST_CASE("after a run that could not keep its shares nothing before counts") {
    Rebalancer rebalancer;
    const SecondsOfShare model = speeds({1, 1});
    const Shares before{50, 50}, after{75, 25};
    CHECK_FALSE(rebalancer.decide(load_of(100, 2, 2), {before, Shares{50, 50}}, model).worthwhile);
    const auto decision = rebalancer.decide(load_of(100, 2, 3), {after, Shares{75, 75}, false}, speeds({1, 0.33}));
    CHECK_FALSE(decision.worthwhile);
    CHECK(decision.shares == after);
}

TEST_CASE("what an earlier process found best is thought over after as many runs, or once two take longer") {
    const Shares shares{50, 50}, ends{50, 50};
    const SecondsOfShare model = speeds({1, 2});  // another one says so
    for (const int runs : {1, 5, 8}) {
        Rebalancer rebalancer;
        rebalancer.resume(shares, 50, runs);
        CHECK_FALSE(rebalancer.decide(load_of(100, 2, 2), {shares, Shares{90, 90}}, model).worthwhile);  // data move
        int kept = 0;
        for (int run = 3; run < 30; ++run, ++kept)
            if (rebalancer.decide(load_of(100, 2, run), {shares, Shares{50, 25}}, model).worthwhile) break;
        CHECK(kept + 1 == (runs == 1 ? 1 : 8));
    }
    for (const bool longer : {true, false}) {
        INFO((longer ? "runs take longer" : "shares could not be kept"));
        Rebalancer rebalancer;
        rebalancer.resume(shares, 50, 1000);
        if (longer)
            CHECK_FALSE(rebalancer.decide(load_of(100, 2, 2), {shares, Shares{90, 45}}, model).worthwhile);
        else
            rebalancer.shares_not_kept();
        const auto decision = rebalancer.decide(load_of(100, 2, 3), {shares, Shares{90, 45}, longer}, model);
        CHECK(decision.worthwhile);
        CHECK(decision.shares[0] == Approx(33.3).epsilon(0.03));
    }
}
