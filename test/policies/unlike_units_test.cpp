// SPDX-License-Identifier: LGPL-2.1-or-later
//
// plb-hec where units are unlike: rows of triangular matrices, points of Mandelbrot's set, one device beside cores.
#include "policies/plb_hec/unlike_units.hpp"

#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "policies/shared/nothing_in_flight.hpp"
#include "test/catch.hpp"
#include "test/fake_platform.hpp"
#include "test/policies/one_computes.hpp"

using namespace apportion;

namespace {

constexpr Units kUnits = 60000;

/// Work of the first units, in those of an average one; `place` in [0, 1].
double work_until(const std::string& units, double place) {
    if (units == "rising") return place * place;
    if (units == "falling") return place * (2 - place);
    constexpr double kMiddle = 0.45, kWidth = 0.12;  // a hump
    const auto risen = [](double x) { return 0.1 * x + 0.4 * std::erf((x - kMiddle) / kWidth); };
    return (risen(place) - risen(0)) / (risen(1) - risen(0));
}

test::FakePlatform machine(const std::string& units, bool device) {
    std::vector<double> speeds = {1000, 4000, 2000, 1000, 8000};
    if (device) speeds.push_back(40000);
    test::FakePlatform platform = test::plain_platform(speeds, 1e-4);
    for (std::size_t p = 0; p < speeds.size(); ++p) platform.workers[p].kind = static_cast<int>(p);
    if (device) {
        platform.workers.back().seconds = [](double x) { return 3e-3 + x / 40000; };
        platform.workers.back().link = 0;
        platform.links = {{1e10}};
        platform.bytes_in_per_unit = platform.bytes_out_per_unit = 1000;
    }
    platform.work = [units](Units first, Units count) {
        const auto place = [](Units unit) { return static_cast<double>(unit) / static_cast<double>(kUnits); };
        return static_cast<double>(kUnits) *
               (work_until(units, place(first + count)) - work_until(units, place(first)));
    };
    platform.stall_factor = 50;
    return platform;
}

FinishedBlock finished(int processor, Units units, double seconds, double start_s) {
    return {0, processor, 0, units, start_s, start_s, start_s, start_s + seconds, seconds};
}

double unknown(int, Units) { return 0; }

LoadDescription load_of_two() {
    LoadDescription load;
    load.units = 1000;
    load.processors = {{"core 0", 0}, {"core 1", 1}};
    return load;
}

}  // namespace

TEST_CASE("plb-hec ends loads of unlike units nearly as early as can be, in every run") {
    const std::string units = GENERATE("rising", "falling", "hump");
    const bool device = GENERATE(false, true);
    const test::FakePlatform platform = machine(units, device);
    const double least_s = static_cast<double>(kUnits) / (device ? 56000 : 16000);
    const auto policy = find_policy("plb-hec")->make();
    for (int run = 1; run <= 4; ++run) {
        LoadDescription load = platform.load(kUnits);
        load.run = run;
        const test::FakeRun result = test::run(platform, *policy, load);
        INFO(units << (device ? " with a device" : "") << ", run " << run << ": " << result.makespan_s / least_s);
        REQUIRE(result.done);
        Units sum = 0;
        for (std::size_t p = 0; p < platform.workers.size(); ++p) sum += result.units_of(static_cast<int>(p));
        CHECK(sum == kUnits);
        CHECK(result.makespan_s < 1.5 * least_s);
    }
}

TEST_CASE("few unlike units are handed out one by one, from the second run on by what they cost") {
    // As sixteen cores of one kind beside one of four times their speed, and two to nine units for each.
    const std::string units = GENERATE("rising", "falling", "hump");
    const Units count = GENERATE(37, 60, 150);
    std::vector<double> speeds(16, 1);
    speeds.push_back(4);
    test::FakePlatform platform = test::plain_platform(speeds, 1e-5);
    for (std::size_t p = 0; p < speeds.size(); ++p) platform.workers[p].kind = p < 16 ? 0 : 1;
    platform.work = [&](Units first, Units its) {
        const auto until = [&](Units unit) {
            return static_cast<double>(count) *
                   work_until(units, static_cast<double>(unit) / static_cast<double>(count));
        };
        return until(first + its) - until(first);
    };
    const double dearest = std::max(platform.work(0, 1), platform.work(count - 1, 1));
    auto policy = find_policy("plb-hec")->make();
    LoadDescription load = platform.load(count);
    const bool processes = GENERATE(false, true);  // each run is one of another process
    for (int run = 1; run <= 4; ++run) {
        if (!processes) load.run = run;
        const test::FakeRun result = test::run(platform, *policy, load);
        INFO(units << ", " << count << " units, run " << run << ": " << result.makespan_s);
        REQUIRE(result.done);
        // A list schedule ends within a unit of the least that is possible.
        if (run > 1) CHECK(result.makespan_s < static_cast<double>(count) / 20 + std::max(dearest, 4.0));
        if (!processes) continue;
        load.learnt_costs = *policy->report().unit_costs;
        policy = find_policy("plb-hec")->make();
    }
}

TEST_CASE("data of unlike units stay where blocks took about as long, whatever the curves promise of others") {
    // Adaptive factoring makes blocks of about one duration: to the curves all of it is a fixed cost.
    constexpr Units kRows = 2294;
    const bool rising = GENERATE(true, false);
    test::FakePlatform platform;
    platform.workers.resize(12);
    for (std::size_t p = 0; p < 12; ++p) {
        platform.workers[p].kind = p < 6 ? 1 : 2;
        platform.workers[p].seconds = [](double x) { return 2e-6 + 294e-6 * x; };
    }
    test::FakeWorker& device = platform.workers.front();
    device.kind = device.link = 0;
    device.latency_s = 1e-5;
    device.seconds = [](double x) { return 15e-6 + 15e-6 * x; };
    platform.links = {{1e10}};
    platform.bytes_in_per_unit = 120;
    platform.bytes_out_per_unit = 2400;
    platform.work = [rising](Units first, Units count) {
        const auto until = [&](Units unit) {
            const double place = static_cast<double>(unit) / static_cast<double>(kRows);
            return static_cast<double>(kRows) * work_until(rising ? "rising" : "falling", place);
        };
        return until(first + count) - until(first);
    };
    const auto policy = find_policy("plb-hec")->make();
    LoadDescription load = platform.load(kRows);
    load.staying = 1;
    double first_s = 0;
    test::FakeRun before;
    for (load.run = 1; load.run <= 10; ++load.run) {
        const test::FakeRun result = test::run(platform, *policy, load, load.run > 1 ? &before : nullptr);
        if (load.run == 1) first_s = result.makespan_s;
        INFO("run " << load.run << ": " << result.makespan_s << " s, the first " << first_s << " s");
        CHECK(result.done);
        CHECK(result.makespan_s < 1.2 * first_s);
        before = result;
    }
}

TEST_CASE("unlike units whose data stay are shared out by what they cost at their place") {
    // A hundredth of the rows has nearly all of the work, as in a sparse matrix.
    constexpr Units kRows = 6000;
    std::vector<double> speeds(12, 1);
    test::FakePlatform platform = test::plain_platform(speeds, 1e-3);
    for (test::FakeWorker& worker : platform.workers) worker.kind = 0;
    test::FakeWorker& device = platform.workers.front();
    device.kind = 1;
    device.link = 0;
    device.latency_s = 1e-5;
    device.seconds = [](double x) { return 1e-2 + x / 10; };
    platform.links = {{1e10}};
    platform.bytes_in_per_unit = platform.bytes_out_per_unit = 100;
    platform.work = [](Units first, Units its) {
        const auto until = [](Units row) {
            return 4 * static_cast<double>(std::min<Units>(row, 60)) + 0.01 * static_cast<double>(row);
        };
        return until(first + its) - until(first);
    };
    const double least_s = platform.work(0, kRows) / (11 + 10);
    const auto policy = find_policy("plb-hec")->make();
    LoadDescription load = platform.load(kRows);
    load.staying = 1;
    test::FakeRun before;
    for (load.run = 1; load.run <= 8; ++load.run) {
        const test::FakeRun result = test::run(platform, *policy, load, load.run > 1 ? &before : nullptr);
        INFO("run " << load.run << ": " << result.makespan_s / least_s);
        REQUIRE(result.done);
        // In the first run the device has all dear rows, as if all rows were dear to it; the second one shows that.
        if (load.run > 2) CHECK(result.makespan_s < 1.6 * least_s);
        before = result;
    }
}

TEST_CASE("blocks whose time or speed falls with their size tell that units are unlike") {
    UnlikeUnits units;
    units.begin(load_of_two(), unknown);
    double now_s = 0;
    const auto block = [&](int processor, Units size, double seconds) {
        units.finished(finished(processor, size, seconds, now_s));
        now_s += seconds;
    };
    for (const int p : {0, 1})
        for (const Units size : {1, 10, 100, 50, 20, 10}) block(p, size, 0.5 + 0.01 * static_cast<double>(size));
    CHECK_FALSE(units.found());  // fixed costs
    for (int i = 0; i < 4; ++i) block(0, 10, 5);
    CHECK_FALSE(units.found());  // one that became slower
    for (int i = 0; i < 4; ++i) block(1, 10, 5);
    CHECK(units.found());

    units.begin(load_of_two(), unknown);
    CHECK(units.found());  // and so it is in the next run
    units = {};
    units.begin(load_of_two(), unknown);
    CHECK_FALSE(units.found());
    for (const double seconds : {0.5, 0.5, 5.0, 0.5, 5.0, 0.5, 5.0}) block(0, 10, seconds), block(1, 10, seconds);
    CHECK_FALSE(units.found());  // chance: now longer, now shorter
    for (const double seconds : {5.0, 5.0, 5.0, 2.5, 1.25, 0.6}) block(0, 10, seconds), block(1, 10, seconds);
    CHECK(units.found());
    LoadDescription other = load_of_two();
    other.units = 999;
    units.begin(other, unknown);
    CHECK_FALSE(units.found());  // but not of another load
    CHECK_FALSE(units.measured(0));
}

TEST_CASE("blocks of unlike units are a tenth of a chunk, and as long as fixed costs ask for") {
    UnlikeUnits units;
    units.begin(load_of_two(), unknown);
    double now_s = 0;
    for (const int p : {0, 1})
        for (int i = 0; i < 10; ++i) units.finished(finished(p, 10, 10, now_s)), now_s += 10;
    // No variance: the chunk is the share, 400 units of 800.
    CHECK(units.next_block(0, now_s, NothingInFlight(800)) == 40);
    units.finished(finished(0, 1, 6, now_s));  // five of these six seconds are fixed costs
    now_s += 6;
    for (int i = 0; i < 10; ++i) units.finished(finished(0, 10, 10, now_s)), now_s += 10;
    CHECK(units.next_block(0, now_s, NothingInFlight(800)) == 100);
    CHECK(units.next_block(0, now_s, NothingInFlight(100)) == 50);
    CHECK(units.next_block(1, now_s, NothingInFlight(800)) == 40);
}

TEST_CASE("nobody waits for one that takes much longer than its blocks before") {
    const test::OneComputes computes(1, 1, 5);
    UnlikeUnits units;
    units.begin(load_of_two(), unknown);
    for (int i = 0; i < 10; ++i) {
        units.finished(finished(0, 1, 100, 0));
        units.finished(finished(1, 10, 10, 0));
    }
    CHECK(units.next_block(0, 1.5, computes) == 0);
    CHECK(units.next_block(0, 2.5, computes) > 0);
}

TEST_CASE("while two blocks take much longer than they should, a unit may be as dear") {
    struct Running final : Progress {
        std::vector<BlockInFlight> block = {{.id = 1, .units = 10, .given_s = 0, .begun_s = 0}};
        std::vector<int> by;
        Units remaining() const override { return 5; }
        std::span<const BlockInFlight> in_flight(int processor) const override {
            return std::ranges::count(by, processor) > 0 ? std::span<const BlockInFlight>(block)
                                                         : std::span<const BlockInFlight>();
        }
        Units room(int) const override { return kNoLimit; }
    } running;
    LoadDescription load;
    load.units = 1000;
    for (const char* name : {"core 0", "core 1", "core 2", "card 0", "card 1"})
        load.processors.push_back({.name = name, .kind = name[1] == 'a', .own_memory = name[1] == 'a'});
    UnlikeUnits units;
    units.begin(load, unknown);
    for (int p = 0; p < 5; ++p) units.finished(finished(p, 10, 1, 0));
    const auto too_dear = [&](double now_s) { return units.may_be_too_dear(1, 4, now_s, running); };
    running.by = {3, 4};
    CHECK_FALSE(too_dear(1.9));
    CHECK_FALSE(too_dear(3.9));  // even four times as dear it ends in time
    CHECK(too_dear(4.1));
    running.by = {4};
    CHECK_FALSE(too_dear(100));  // it may hang
    running.by = {3, 4};
    CHECK_FALSE(units.may_be_too_dear(0.1, 0.4, 100, running));  // nobody would do it much sooner
}

TEST_CASE("who needs longer for a unit than the others for all that is left gets none") {
    UnlikeUnits units;
    units.begin(load_of_two(), unknown);
    double now_s = 0;
    for (int i = 0; i < 10; ++i) {
        units.finished(finished(0, 1, 100, now_s));
        units.finished(finished(1, 10, 10, now_s));
        now_s += 100;
    }
    CHECK(units.next_block(0, now_s, NothingInFlight(200)) > 0);
    CHECK(units.next_block(0, now_s, NothingInFlight(50)) == 0);
    CHECK(units.next_block(1, now_s, NothingInFlight(50)) > 0);
    units.set_lost(1, true);
    CHECK(units.next_block(0, now_s, NothingInFlight(50)) > 0);
}

TEST_CASE("a block that ended late counts as any other of its processor") {
    UnlikeUnits units;
    units.begin(load_of_two(), unknown);
    for (int i = 0; i < 10; ++i) {
        units.finished(finished(0, 10, 10, 0));
        units.finished(finished(1, 10, 10, 0));
    }
    const auto ends_within = [&](double seconds) {
        return !units.outlasts_others(1, seconds, 0, NothingInFlight(100));
    };
    SECTION("of the run before") {
        units.begin(load_of_two(), unknown);
        units.late_block_ended(0, 10, 120);
    }
    SECTION("of this run") {
        units.late_block_ended(0, 10, 120);
        units.begin(load_of_two(), unknown);
    }
    CHECK(ends_within(199));  // 110 units took 220 s
    CHECK_FALSE(ends_within(201));
}

TEST_CASE("in another run a first block of cheap units does not make their processor a fast one") {
    const LoadDescription load = load_of_two();
    UnlikeUnits unlike;
    unlike.begin(load, unknown);
    for (int block = 0; block < 10; ++block)
        for (const int processor : {0, 1})
            unlike.finished(finished(processor, 4, block % 2 == 0 ? 2 : 6, 10 * block));  // a second a unit
    unlike.begin(load, unknown);
    unlike.finished(finished(0, 1, 1e-3, 0));
    const Units next = unlike.next_block(0, 1e-3, NothingInFlight(999));
    CHECK(next >= 10);
    CHECK(next <= 100);
}

TEST_CASE("slow cores that were thought fast by another core's blocks do not make units look unlike") {
    LoadDescription load;
    load.units = 4096;
    for (int core = 0; core < 4; ++core) load.processors.push_back({"core " + std::to_string(core), 0});
    const auto policy = find_policy("plb-hec")->make();
    policy->begin(load);
    for (const auto& [units, fast_s, slow_s] :
         {std::tuple<Units, double, double>{1, 0.0058, 0.0058}, {12, 0.0129, 0.0767}, {7, 0.0098, 0.0480}}) {
        policy->block_finished(finished(0, units, fast_s, 0));
        for (const int slow : {1, 2, 3}) policy->block_finished(finished(slow, units, slow_s, 0));
    }
    load.run = 2;
    policy->begin(load);
    CHECK(policy->report().note.empty());
}

TEST_CASE("few units of a first run are computed from both ends, and no core's block exceeds what it has computed") {
    // Four cores and a card of thirty times their speed; a core would need 19 s for the first unit, the card 30 s for
    // all.
    constexpr Units kFew = 80;
    test::FakePlatform platform = test::plain_platform({1, 1, 1, 1, 30}, 1e-5);
    for (std::size_t p = 0; p < 5; ++p) platform.workers[p].kind = p < 4 ? 0 : 1;
    platform.workers.back().link = 0;
    platform.links = {{1e10}};
    platform.bytes_in_per_unit = platform.bytes_out_per_unit = 100;
    platform.stall_factor = 50;
    platform.work = [](Units first, Units count) {
        const auto until = [](Units unit) { return 800 * work_until("falling", static_cast<double>(unit) / kFew); };
        return until(first + count) - until(first);
    };
    const auto policy = find_policy("plb-hec")->make();
    const test::FakeRun result = test::run(platform, *policy, platform.load(kFew));
    REQUIRE(result.done);
    CHECK(result.makespan_s < 1.5 * 800 / 34);
    Units of_card = 0;
    std::vector<Units> computed(5);
    for (const test::FakeBlock& block : result.blocks)
        if (block.processor == 4) of_card = std::max(of_card, block.first);
    for (const test::FakeBlock& block : result.blocks) {
        if (block.processor == 4) continue;
        Units& before = computed[static_cast<std::size_t>(block.processor)];
        CHECK(block.units <= std::max<Units>(before, 1));
        before += block.units;
        if (!block.again) CHECK(block.first + block.units > of_card / 2);
    }
}
