// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/plb_hec/plb_hec_models.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "test/catch.hpp"

using namespace apportion;

namespace {

FinishedBlock finished(int processor, Units units, double seconds, double start_s = 0) {
    return {0, processor, 0, units, start_s, 0, start_s, start_s + seconds, seconds};
}

LoadDescription load_of(const std::vector<Processor>& processors) {
    LoadDescription load;
    load.units = 1000;
    load.processors = processors;
    return load;
}

int discarded(const PlbHecModels& models) {
    PolicyReport report;
    models.report(report);
    return report.discarded_samples;
}

}  // namespace

TEST_CASE("processors of one kind share a model while they agree") {
    PlbHecModels models;
    models.begin(load_of({{"core 0", 0}, {"core 1", 0}, {"core 2", 0}}));
    models.add(finished(0, 10, 1.0));
    REQUIRE(models.curve(1));  // thought alike until measured
    models.add(finished(1, 10, 1.02));
    CHECK(models.add(finished(2, 10, 4.0)) == SampleVerdict::spike);
    CHECK_FALSE(models.measured(2));
    CHECK(models.curve(2) == models.curve(0));
    CHECK(models.add(finished(2, 10, 4.0)) == SampleVerdict::changed);
    CHECK(models.measured(2));
    CHECK(models.curve(0) == models.curve(1));
    CHECK(models.curve(2) != models.curve(0));
    CHECK(models.curve(0)->seconds(20) == Approx(2).epsilon(0.05));
    CHECK(models.curve(2)->seconds(20) == Approx(8));
}

TEST_CASE("two first blocks that took as long are no spikes, but of cores of another speed") {
    PlbHecModels models;
    models.begin(load_of({{"core 0", 0}, {"core 1", 0}, {"core 2", 0}, {"core 3", 0}, {"core 4", 0}}));
    models.add(finished(0, 10, 1.0));
    CHECK(models.add(finished(1, 10, 7.0)) == SampleVerdict::spike);
    CHECK(models.add(finished(2, 10, 400.0)) == SampleVerdict::spike);  // says something else
    CHECK_FALSE(models.measured(1));
    CHECK(models.add(finished(3, 10, 7.5)) == SampleVerdict::changed);
    CHECK(models.measured(1));
    CHECK(models.measured(3));
    CHECK_FALSE(models.measured(2));
    CHECK(models.curve(1)->seconds(10) == Approx(7));
    CHECK(models.curve(3)->seconds(10) == Approx(7.5));
    CHECK(models.add(finished(4, 10, 6.5)) == SampleVerdict::changed);  // as those that have left
    CHECK(models.curve(0)->seconds(10) == Approx(1));
    CHECK(discarded(models) == 1);
}

TEST_CASE("a first block that was slow by chance does not part a core from its kind") {
    PlbHecModels models;
    models.begin(load_of({{"core 0", 0}, {"core 1", 0}}));
    models.add(finished(0, 10, 1.0));
    CHECK(models.add(finished(1, 10, 400.0)) == SampleVerdict::spike);
    CHECK(models.add(finished(1, 10, 1.1)) == SampleVerdict::used);
    CHECK(models.curve(0) == models.curve(1));
    CHECK(models.measured(1));

    // Nor does what an earlier process learnt of that block alone.
    LoadDescription load = load_of({{"core 0", 0}, {"core 1", 0}});
    load.learnt.resize(2);
    load.learnt[0].points = {{.units = 10, .seconds = 1}, {.units = 100, .seconds = 10}};
    load.learnt[1].points = {{.units = 10, .seconds = 400}};
    PlbHecModels later;
    CHECK(later.begin(load));
    CHECK(later.curve(0) == later.curve(1));
    CHECK_FALSE(later.measured(1));
    CHECK(later.add(finished(1, 10, 400.0)) == SampleVerdict::changed);
    CHECK(later.curve(0) != later.curve(1));
    CHECK(later.curve_of_kind(1) == later.curve(0));
}

TEST_CASE(
    "a first block that took longer than others' larger ones is not believed at once, and waits for the next run") {
    const LoadDescription load = load_of({{"core 0", 0}, {"core 1", 0}});
    PlbHecModels models;
    models.begin(load);
    models.add(finished(0, 1, 0.005));  // a spike, which the next block tells: no block of that size is left
    models.add(finished(0, 12, 0.002));
    models.add(finished(0, 144, 0.012));
    CHECK(models.add(finished(1, 1, 0.15)) == SampleVerdict::spike);
    CHECK(models.curve(1) == models.curve(0));
    CHECK(models.curve(1)->seconds(1) < 0.003);
    CHECK(models.suspected_s(1, 1) == Approx(0.15));
    CHECK(models.suspected_s(0, 1) == 0);
    models.begin(load);
    CHECK(models.suspected_s(1, 1) == 0);
    CHECK(models.add(finished(1, 1, 0.15)) == SampleVerdict::changed);
    CHECK(models.curve(1) != models.curve(0));

    CHECK(models.add(finished(0, 300, 0.025)) == SampleVerdict::used);

    // One slow block of another makes nobody suspicious, nor does a small one that takes less than larger ones tell.
    PlbHecModels others;
    others.begin(load);
    others.add(finished(0, 1, 0.005));
    CHECK(others.add(finished(1, 12, 0.002)) == SampleVerdict::used);
    CHECK(others.add(finished(0, 120, 0.2)) == SampleVerdict::used);
    CHECK(others.curve(0) == others.curve(1));
}

TEST_CASE("a transfer behind a kernel tells nothing of the link, though the runtime takes a moment between two tasks") {
    PlbHecModels models;
    models.begin(load_of({{.name = "card", .kind = 0, .own_memory = true}}));
    models.add({.units = 10, .start_s = 0.01, .end_s = 1, .busy_s = 0.99});
    models.add({.units = 20, .given_s = 0.01, .previous_end_s = 1, .start_s = 1.0001, .end_s = 3, .busy_s = 2});
    CHECK(models.in(0).samples() == 1);
    CHECK(models.in(0).seconds(20) == Approx(0.02));
}

TEST_CASE("one slow block is a spike, two in a row are a change") {
    PlbHecModels models;
    models.begin(load_of({{"core 0", 0}}));
    for (Units units : {10, 20, 40, 80})
        CHECK(models.add(finished(0, units, 0.1 * double(units))) == SampleVerdict::used);
    CHECK(models.add(finished(0, 30, 6.0)) == SampleVerdict::spike);
    CHECK(discarded(models) == 1);
    CHECK(models.curve(0)->seconds(30) == Approx(3));
    CHECK(models.add(finished(0, 35, 3.5)) == SampleVerdict::used);
    CHECK(models.add(finished(0, 30, 6.0)) == SampleVerdict::spike);
    CHECK(models.add(finished(0, 50, 10.0)) == SampleVerdict::changed);
    CHECK(models.curve(0)->seconds(40) == Approx(8));
    CHECK(discarded(models) == 1);
}

TEST_CASE("a processor that becomes slower has the fixed costs of before, as much slower") {
    PlbHecModels models;
    models.begin(load_of({{"core", 0}}));
    const auto seconds = [](Units units) { return 1e-3 + 1e-3 * static_cast<double>(units); };
    for (const Units units : {1, 10, 100, 1000}) models.add(finished(0, units, seconds(units)));
    // The first of the two is slow for its half only: a line through both would begin at a second.
    CHECK(models.add(finished(0, 800, 1.7 * seconds(800))) == SampleVerdict::spike);
    CHECK(models.add(finished(0, 900, 1.6 * seconds(900))) == SampleVerdict::changed);
    CHECK(models.curve(0)->seconds(0) < 0.01);
    CHECK(models.curve(0)->seconds(1000) == Approx(1.65 * seconds(1000)).epsilon(0.1));
    // What an earlier process learnt may be of something else: it is forgotten.
    LoadDescription load = load_of({{"core", 0}});
    load.learnt.resize(1);
    load.learnt[0].points = {{.units = 10, .seconds = 1}, {.units = 1000, .seconds = 10}};
    PlbHecModels later;
    CHECK(later.begin(load));
    CHECK(later.add(finished(0, 10, seconds(10))) == SampleVerdict::spike);
    CHECK(later.add(finished(0, 1000, seconds(1000))) == SampleVerdict::changed);
    CHECK(later.curve(0)->seconds(100) == Approx(seconds(100)).epsilon(0.1));
}

TEST_CASE("cores that are slower than their kind at large blocks alone are told apart before the next run") {
    const LoadDescription load = load_of({{"core 0", 0}, {"core 1", 0}, {"core 2", 0}, {"core 3", 0}});
    const auto seconds = [](int core, double units) { return core < 2 ? 5e-4 + 3e-5 * units : 2e-4 + 6.7e-5 * units; };
    PlbHecModels models;
    models.begin(load);
    for (const Units units : {4, 8, 16, 28, 36, 48})
        for (int core = 0; core < 4; ++core)
            models.add(finished(core, units, seconds(core, static_cast<double>(units))));
    models.begin(load);
    for (int core = 0; core < 4; ++core)
        CHECK(models.curve(core)->seconds(48) == Approx(seconds(core, 48)).epsilon(0.1));
}

TEST_CASE("a core that always takes longer than its kind leaves it, but not by noise") {
    std::mt19937 random(3);
    const double noise = GENERATE(0.0, 0.05, 0.2);
    INFO("noise " << noise);
    const auto noisy = [&](double seconds) {
        return seconds * std::exp(std::normal_distribution<>(0, std::max(noise, 1e-9))(random));
    };
    std::vector<Processor> cores(16);
    for (std::size_t p = 0; p < cores.size(); ++p) cores[p].name = "core " + std::to_string(p);
    PlbHecModels models;
    models.begin(load_of(cores));
    for (int k = 0; k < 40; ++k)
        for (int p = 0; p < 16; ++p) {
            const Units units = 10 + random() % 90;
            models.add(finished(p, units, noisy(0.01 * static_cast<double>(units) * (p == 5 ? 1.4 : 1))));
            REQUIRE(models.curve(p));
        }
    int together = 0;
    for (int p = 0; p < 16; ++p) together += models.curve(p) == models.curve(0);
    CHECK(together >= 12);
    if (noise < 0.1) CHECK(together == 15);
    if (noise < 0.1) CHECK(models.curve(5)->seconds(50) == Approx(0.7).epsilon(0.1));
    CHECK(models.curve(0)->seconds(50) == Approx(0.5).epsilon(0.1));
}

TEST_CASE("the shortest block is remembered however many follow") {
    PlbHecModels models;
    models.begin(load_of({{"core", 0}}));
    models.add(finished(0, 1, 0.002));
    for (int k = 0; k < 200; ++k) models.add(finished(0, 100 + k, 0.001 * (101 + k)));
    CHECK(models.shortest_s(0) == 0.002);
    CHECK(models.curve(0)->smallest_measured() == 1);
}

TEST_CASE("a processor that changes again and again is believed each time") {
    PlbHecModels models;
    models.begin(load_of({{"core 0", 0}}));
    for (Units units : {10, 20, 40, 80}) models.add(finished(0, units, 0.1 * double(units)));
    for (const double seconds : {9.0, 3.0, 9.0, 3.0, 9.0}) {
        CHECK(models.add(finished(0, 30, seconds)) == SampleVerdict::spike);
        CHECK(models.add(finished(0, 30, seconds)) == SampleVerdict::changed);
    }
}

TEST_CASE("where blocks take now this long, now three times, none is a spike") {
    PlbHecModels models;
    models.begin(load_of({{"core 0", 0}}));
    for (Units units : {10, 20, 40, 80}) models.add(finished(0, units, 0.1 * double(units)));
    for (int k = 0; k < 8; ++k) models.add(finished(0, 30, k % 2 ? 3.0 : 9.0));
    for (int k = 0; k < 8; ++k) CHECK(models.add(finished(0, 30, k % 2 ? 3.0 : 9.0)) == SampleVerdict::used);
    CHECK(models.curve(0)->relative_error() > 0.3);
}

TEST_CASE("a slow block that the next run confirms is no spike of that run") {
    PlbHecModels models;
    const LoadDescription load = load_of({{"core 0", 0}});
    models.begin(load);
    for (Units units : {10, 20, 40, 80}) models.add(finished(0, units, 0.1 * double(units)));
    CHECK(models.add(finished(0, 30, 6.0)) == SampleVerdict::spike);
    models.begin(load);
    CHECK(models.add(finished(0, 50, 10.0)) == SampleVerdict::changed);
    CHECK(discarded(models) == 0);
}

TEST_CASE("a first block that was slow is set aside once the others agree without it") {
    PlbHecModels models;
    models.begin(load_of({{"core 0", 0}}));
    models.add(finished(0, 10, 10.0));
    for (Units units : {20, 80, 200}) models.add(finished(0, units, 1 + 0.1 * double(units)));
    CHECK(discarded(models) == 1);
    CHECK(models.curve(0)->seconds(100) == Approx(11));
    CHECK(models.curve(0)->samples() == 3);
}

TEST_CASE("what a node tells with a later grant replaces what it told of smaller ones") {
    PlbHecModels models;
    models.begin(load_of({{.name = "node 0", .own_memory = true}}));
    models.add(finished(0, 64, 1));  // it learnt meanwhile, and needs 0.3 s by now
    FinishedBlock second = finished(0, 200, 0.5, 2);
    second.half_busy_s = 0.35;
    models.add(second);
    REQUIRE(models.sizes_differ(0));
    CHECK(models.curve(0)->seconds(200) == Approx(0.5));
    CHECK(models.curve(0)->seconds(100) == Approx(0.35));
    CHECK(models.curve(0)->seconds(1000) == Approx(1.7));
    FinishedBlock third = finished(0, 40, 0.26, 3);  // what it told of larger ones stays
    third.half_busy_s = 0.23;
    models.add(third);
    CHECK(models.curve(0)->seconds(200) == Approx(0.5));
}

TEST_CASE("a node's fixed costs are the least that it told, for one that becomes slower looks as if it had more") {
    PlbHecModels models;
    models.begin(load_of({{.name = "node 0", .own_memory = true}}));
    CHECK(!models.told_fixed_s(0));
    for (const auto& [units, seconds, half_s] :
         {std::tuple(100, 1.1, 0.6), std::tuple(200, 2.4, 1.8), std::tuple(100, 1.3, 0.7)}) {
        FinishedBlock block = finished(0, units, seconds);
        block.half_busy_s = half_s;
        models.add(block);
    }
    CHECK(models.told_fixed_s(0).value() == Approx(0.1));
}

TEST_CASE("once a node tells its fixed costs, what others of its kind told without theirs counts no more") {
    PlbHecModels models;
    models.begin(load_of({{.name = "node 0", .kind = 3, .own_memory = true},
                          {.name = "node 1", .kind = 3, .own_memory = true},
                          {.name = "node 2", .kind = 3, .own_memory = true}}));
    for (int node = 0; node < 3; ++node) models.add(finished(node, 16, 0.32));
    FinishedBlock second = finished(0, 104, 0.35, 2);
    second.half_busy_s = 0.29;
    models.add(second);
    for (int node = 0; node < 3; ++node) {
        REQUIRE(models.sizes_differ(node));
        CHECK(models.curve(node)->seconds(52) == Approx(0.29));
        CHECK(models.curve(node)->seconds(500) == Approx(0.807).epsilon(0.01));
    }
}

TEST_CASE("a node that has told nothing of its fixed costs, as its kind has, is not believed to be as fast for that") {
    PlbHecModels models;
    models.begin(load_of(
        {{.name = "node 0", .kind = 3, .own_memory = true}, {.name = "node 1", .kind = 3, .own_memory = true}}));
    for (int node = 0; node < 2; ++node) models.add(finished(node, 128, 0.07));
    for (const Units units : {180, 360}) {
        FinishedBlock block = finished(0, units, 0.01 + 0.0004 * static_cast<double>(units), 2);
        block.half_busy_s = 0.01 + 0.0002 * static_cast<double>(units);
        models.add(block);
    }
    CHECK(models.add(finished(1, 480, 0.98)) == SampleVerdict::spike);  // five times as long as node 0 would need
    CHECK(models.suspected(1));
    CHECK(models.add(finished(1, 768, 1.76)) == SampleVerdict::changed);
    CHECK(models.curve(1)->seconds(768) == Approx(1.76).epsilon(0.2));
    CHECK(models.curve(0)->seconds(360) == Approx(0.154));
}

TEST_CASE("a processor's own blocks tell how long it takes at most, whatever its kind does") {
    PlbHecModels models;
    models.begin(load_of({{"core 0", 0}, {"core 1", 0}}));
    models.add(finished(0, 10, 1));
    models.add(finished(0, 20, 1.5));
    CHECK(models.at_most_s(0, 5) == Approx(1));
    CHECK(models.at_most_s(0, 12) == Approx(1.2));
    CHECK(models.at_most_s(0, 40) == Approx(3));
    CHECK(std::isinf(models.at_most_s(1, 10)));
}

TEST_CASE("sizes at which a core takes the same tell nothing of its fixed costs, those of a device do") {
    for (const bool device : {false, true}) {
        PlbHecModels models;
        models.begin(load_of({{"one", 0, device}}));
        for (const Units units : {1, 5, 50}) models.add(finished(0, units, 0.016));  // a step of tiles
        CHECK(models.sizes_differ(0) == device);
        models.add(finished(0, 100, 0.032));
        CHECK(models.sizes_differ(0));
    }
}

TEST_CASE("processors of one kind share what was learnt of them only where one curve says the same as one of each") {
    LoadDescription load = load_of({{"core 0", 0}, {"core 1", 0}, {"core 2", 0}, {"core 3", 0}});
    const double scatter = GENERATE(0.0, 0.1);
    std::mt19937 random(1);
    std::normal_distribution<double> noise(0, scatter);
    const auto learn = [&](double fixed_s, double unit_s, const std::vector<Units>& sizes) {
        load.learnt.push_back({load.processors[load.learnt.size()].name, {}});
        for (const Units units : sizes) {
            const double seconds = fixed_s + unit_s * static_cast<double>(units);
            load.learnt.back().points.push_back({units, seconds * std::exp(noise(random))});
        }
    };
    for (int p = 0; p < 3; ++p) learn(1.21, 0.004, {1, 12, 144, 368, 1536, 2534, 3371, 3480});
    // No block of the last one takes half as long again as others' of about as many units.
    SECTION("it has less fixed costs") { learn(0.97, 0.0057, {1, 12, 144, 368, 1536, 2534}); }
    SECTION("it ran other sizes") { learn(0.97, 0.0057, {2000, 2219, 2220, 2255}); }
    PlbHecModels models;
    REQUIRE(models.begin(load));
    CHECK(models.curve(1) == models.curve(0));
    CHECK(models.curve(2) == models.curve(0));
    if (scatter > 0) return;
    CHECK(models.curve(0)->seconds(3000) == Approx(1.21 + 12));
    CHECK(models.curve(3)->seconds(3000) == Approx(0.97 + 17.1).epsilon(0.03));
}
