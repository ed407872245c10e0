// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/plb_hec/unit_costs.hpp"

#include <cmath>
#include <utility>

#include "test/catch.hpp"

using namespace apportion;

namespace {

constexpr Units kUnits = 100;

/// Two cores of a kind, and a processor of four times their speed.
LoadDescription load_of_three() {
    LoadDescription load;
    load.units = kUnits;
    load.processors = {{"core 0", 0}, {"core 1", 0}, {"card", 1}};
    return load;
}

double seconds(int processor, double work) { return work / (processor == 2 ? 4 : 1); }

/// A run in blocks of ten units, whose processors change from run to run.
void run(UnitCosts& costs, int number, double (*unit_cost)(Units)) {
    for (Units block = 0; block < 10; ++block) {
        const int processor = static_cast<int>((block * 7 + number * 2) % 3);
        costs.finished(processor, 10 * block, 10, seconds(processor, 10 * unit_cost(10 * block)), 0);
    }
}

double alike(Units) { return 1; }
double dear_end(Units unit) { return unit < 80 ? 1 : 6; }

double by_size_s(int processor, Units units) { return seconds(processor, static_cast<double>(units)); }

}  // namespace

TEST_CASE("what units cost by their place is learnt from runs, whoever computes them") {
    UnitCosts costs;
    costs.reset(load_of_three());
    CHECK_FALSE(costs.known());
    CHECK(costs.work(3, 7) == 7);
    CHECK(costs.units_from(3, 7) == 7);
    for (int number = 0; number < 12; ++number) {
        run(costs, number, dear_end);
        costs.conclude(true, by_size_s);
    }
    REQUIRE(costs.known());
    CHECK(costs.work(0, kUnits) == Approx(kUnits));
    CHECK(costs.work(0, 40) == Approx(20).epsilon(0.1));  // a unit is half of an average one
    CHECK(costs.work(80, 20) == Approx(60).epsilon(0.1));
    CHECK(costs.units_from(60, 20) == Approx(20 + 10 / 3.0).epsilon(0.1));
    CHECK(costs.work(85, 3) == Approx(9).epsilon(0.1));
    CHECK(costs.units_before(80, 20) == Approx(40).epsilon(0.1));
    CHECK(costs.units_before(85, 17) == Approx(5 + 4).epsilon(0.1));
    CHECK(costs.units_before(30, 1000) == Approx(30));
    CHECK(costs.units_from(30, 1000) == Approx(70));
    costs.reset(load_of_three());
    CHECK_FALSE(costs.known());
}

TEST_CASE("one run tells what units cost where the fast computed other places than the slow") {
    UnitCosts costs;
    costs.reset(load_of_three());
    const auto rising = [](Units first, Units units) {  // a unit costs as much as its number
        const double end = static_cast<double>(first + units), begin = static_cast<double>(first);
        return (end * end - begin * begin) / 2;
    };
    // The card has most of the dear end, so that its mean is about a core's.
    Units first = 0;
    for (const auto& [processor, units] : {std::pair{0, 5},
                                           {1, 5},
                                           {2, 2},
                                           {0, 5},
                                           {1, 5},
                                           {0, 5},
                                           {1, 5},
                                           {2, 5},
                                           {0, 3},
                                           {2, 20},
                                           {1, 2},
                                           {2, 20},
                                           {0, 2},
                                           {2, 16}}) {
        costs.finished(processor, first, units, seconds(processor, rising(first, units)), 0);
        first += units;
    }
    REQUIRE(first == kUnits);
    costs.conclude(true, by_size_s);
    for (const Units unit : {20, 40, 60, 80})
        CHECK(costs.work(0, unit) == Approx(kUnits * rising(0, unit) / rising(0, kUnits)).epsilon(0.2));
    CHECK(costs.of_processor(0).unit_s() == Approx(4 * costs.of_processor(2).unit_s()).epsilon(0.2));
}

TEST_CASE("units are unlike where blocks took longer than their sizes say, and the run before told so") {
    UnitCosts costs;
    costs.reset(load_of_three());
    CHECK_FALSE(costs.conclude(false, by_size_s));  // a run without a block tells nothing,
    CHECK(costs.conclude(true, by_size_s));         // nor does it refute anything
    SECTION("alike units never are") {
        for (int number = 0; number < 4; ++number) {
            run(costs, number, alike);
            CHECK_FALSE(costs.conclude(false, by_size_s));
        }
    }
    SECTION("nor are those of which one block was a spike") {
        for (int number = 0; number < 4; ++number) {
            run(costs, number, alike);
            costs.finished(0, 0, 10, 12, 0);
            CHECK_FALSE(costs.conclude(false, by_size_s));
        }
    }
    SECTION("a dear end is there in every run") {
        run(costs, 0, dear_end);
        CHECK(costs.conclude(false, by_size_s));
        for (int number = 1; number < 4; ++number) {
            run(costs, number, dear_end);
            CHECK(costs.conclude(true, by_size_s));
        }
    }
    SECTION("where no processor's own blocks tell, those of all do together") {
        for (Units block = 0; block < 10; ++block)
            costs.finished(static_cast<int>(block % 2), 10 * block, 10, 30 * std::pow(0.5, block), 30);
        CHECK(costs.conclude(false, [](int, Units) { return 0.0; }));
    }
    SECTION("one of a kind that is much slower than another one beside it tells nothing of units") {
        for (Units block = 0; block < 10; ++block) {
            const int core = static_cast<int>(block % 2);
            costs.finished(core, 10 * block, 10, core == 0 ? 30 : 3, 30);
        }
        CHECK_FALSE(costs.conclude(false, [](int, Units) { return 0.0; }));
    }
    SECTION("what is elsewhere in every run is chance") {
        run(costs, 0, dear_end);
        CHECK(costs.conclude(false, by_size_s));
        run(costs, 1, [](Units unit) { return unit < 20 ? 6.0 : 1.0; });
        CHECK_FALSE(costs.conclude(true, by_size_s));
    }
}

TEST_CASE("who had few blocks is thought to be like its kind") {
    UnitCosts costs;
    costs.reset(load_of_three());
    // Core 1 has the dear block alone: it is not core 1 that is slow.
    for (Units block = 0; block < 9; ++block) costs.finished(0, 10 * block, 10, 10, 0);
    costs.finished(1, 90, 10, 60, 0);
    costs.conclude(true, by_size_s);
    CHECK(costs.work(90, 10) > 3 * costs.work(0, 10));
}

TEST_CASE("an open load tells no costs") {
    LoadDescription load = load_of_three();
    load.open = true;
    UnitCosts costs;
    costs.reset(load);
    run(costs, 0, dear_end);
    costs.conclude(false, by_size_s);
    CHECK_FALSE(costs.known());
    CHECK(costs.work(0, 5) == 5);
}

TEST_CASE("another process begins with the costs that were learnt, of the same load") {
    UnitCosts costs;
    LoadDescription load = load_of_three();
    load.units = 100 * kUnits;
    costs.reset(load);
    const Units pieces = GENERATE(10, 5000);  // these become fewer
    const Units its = load.units / pieces;
    for (Units block = 0; block < pieces; ++block) {
        const int processor = static_cast<int>(block % 3);
        const double work = static_cast<double>(its) * dear_end(its * block / 100);
        costs.finished(processor, its * block, its, seconds(processor, work), 0);
    }
    costs.conclude(true, by_size_s);
    LearntUnitCosts learnt = costs.learnt();
    CHECK(learnt.pieces.size() <= 1024);
    learnt.processors.resize(3, {10, 100, 100});
    UnitCosts next;
    next.reset(load);
    REQUIRE(next.begin_as_learnt(learnt));
    CHECK(next.known());
    for (const Units first : {0, 4000, 8000, 9900})
        CHECK(next.work(first, 100) == Approx(costs.work(first, 100)).epsilon(0.02));

    // Of anything else nothing is taken.
    const auto refused = [&](const LearntUnitCosts& other) {
        next.reset(load);
        return !next.begin_as_learnt(other) && !next.known();
    };
    CHECK(refused({}));
    for (const double cost : {0.0, -1.0, std::nan("")}) {
        LearntUnitCosts other = learnt;
        other.pieces[3].cost = cost;
        CHECK(refused(other));
    }
    LearntUnitCosts other = learnt;
    other.units += 1;
    CHECK(refused(other));
    other = learnt;
    other.processors.pop_back();
    CHECK(refused(other));
    other = learnt;
    std::swap(other.pieces[3], other.pieces[4]);
    CHECK(refused(other));
}
