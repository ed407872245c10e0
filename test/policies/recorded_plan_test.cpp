// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/shared/recorded_plan.hpp"

#include <cmath>
#include <numeric>

#include "test/catch.hpp"

using namespace apportion;

namespace {

ProcessorProfile profile_of(const std::vector<Units>& sizes, double (*seconds)(double)) {
    ProcessorProfile profile{"processor", {}};
    for (const Units x : sizes) profile.points.push_back({x, seconds(static_cast<double>(x)), 0, 0});
    return profile;
}

LoadDescription load_of(Units units, std::vector<ProcessorProfile> profiles, Units granularity = 1) {
    LoadDescription load;
    load.units = units;
    load.granularity = granularity;
    load.recorded.processors = std::move(profiles);
    load.processors.resize(load.recorded.processors.size());
    return load;
}

std::vector<Units> every(Units step, Units to) {
    std::vector<Units> sizes;
    for (Units x = step; x <= to; x += step) sizes.push_back(x);
    return sizes;
}

double affine(double x) { return 0.1 + x / 1000; }
double rough(double x) { return affine(x) * (std::fmod(x, 8) == 0 ? 1 : 1.5); }

double rougher(double x) { return affine(x) * (std::fmod(x, 128) == 0 ? 1 : 1.5); }

}  // namespace

TEST_CASE("a profile with few sizes is sparse, one with nearly all multiples of a step is fine") {
    CHECK_FALSE(recorded_sizes(load_of(1000, {profile_of({10, 20, 50, 100}, rough)})).fine[0]);
    const RecordedSizes fine = recorded_sizes(load_of(1000, {profile_of(every(4, 1000), rough)}));
    CHECK(fine.fine[0]);
    CHECK(fine.step == 4);
    const RecordedSizes coarse = recorded_sizes(load_of(1000, {profile_of(every(4, 1000), rough)}, 6));
    CHECK(coarse.fine[0]);
    CHECK(coarse.step == 12);  // blocks are multiples of the granularity and of recorded sizes
    // Where the steps are, it looks smooth; but between them it is not.
    std::vector<Units> regular = every(64, 8000);
    regular.insert(regular.begin(), {4, 12, 20, 27, 36, 44, 60});
    CHECK(recorded_sizes(load_of(8000, {profile_of(regular, rough)})).fine[0]);
    // Neighbours tell nothing wrong: steps would only cut off.
    CHECK_FALSE(recorded_sizes(load_of(1000, {profile_of(every(4, 1000), affine)})).fine[0]);
    // Each processor's part is judged alone; what divides the fine one's step is the step of all.
    const RecordedSizes mixed =
        recorded_sizes(load_of(8000, {profile_of(every(64, 8000), rougher), profile_of({10, 8000}, affine)}));
    CHECK(mixed.fine == std::vector<bool>{true, false});
    CHECK(mixed.steps == std::vector<Units>{64, 1});
    CHECK(mixed.step == 4);
    CHECK(mixed.common == 64);
}

TEST_CASE("a sparse profile is interpolated, a fine one is not") {
    const LoadDescription load = load_of(1000, {profile_of({100, 200, 400}, affine)});
    const ShareTimes sparse(load, 0, recorded_sizes(load));
    CHECK(sparse.kernel_seconds(200) == Approx(affine(200)));
    CHECK(sparse.kernel_seconds(300) == Approx(affine(300)));
    CHECK(sparse.kernel_seconds(50) == Approx(affine(50)));  // fixed costs stay
    CHECK(sparse.kernel_seconds(1) == Approx(affine(1)));
    CHECK(std::isinf(sparse.kernel_seconds(401)));
    const LoadDescription fine_load = load_of(1000, {profile_of(every(10, 1000), rough)});
    const ShareTimes fine(fine_load, 0, recorded_sizes(fine_load));
    CHECK(fine.kernel_seconds(500) == Approx(rough(500)));
    CHECK(std::isinf(fine.kernel_seconds(505)));
}

TEST_CASE("a size that only another processor has is a hole") {
    LoadDescription load =
        load_of(1000, {profile_of({100, 200, 300, 400}, affine), profile_of({100, 200, 400}, affine)});
    const ShareTimes times(load, 1, recorded_sizes(load));
    CHECK(std::isinf(times.kernel_seconds(300)));
    CHECK(std::isinf(times.kernel_seconds(250)));
    CHECK(times.kernel_seconds(150) == Approx(affine(150)));
    CHECK(times.without_holes().kernel_seconds(300) == Approx(affine(300)));
    CHECK(times.best(300).blocks == 2);  // of 150
}

TEST_CASE("a share above the memory is as many blocks as are best, in sizes that add up") {
    LoadDescription load = load_of(1000, {profile_of({1, 10, 100, 1000}, affine)});
    load.processors[0].memory_units = 300;
    const ShareTimes times(load, 0, recorded_sizes(load));
    const ShareRun run = times.best(1000);
    CHECK(run.blocks == 4);
    CHECK(run.seconds == Approx(4 * 0.1 + 1));
    CHECK(times.blocks(1000) == BlockRuns{{250, 4}});
    CHECK(times.blocks(998) == BlockRuns{{250, 2}, {249, 2}});
}

TEST_CASE("blocks have the fastest recorded size where that pays") {
    // 64 units in 1 s, all other sizes at half the speed.
    const LoadDescription load = load_of(
        640, {profile_of(every(1, 640), [](double x) { return std::fmod(x, 64) == 0 && x < 65 ? x / 64 : x / 32; })});
    const ShareTimes times(load, 0, recorded_sizes(load));
    CHECK(times.best(640).blocks == 10);
    CHECK(times.best(640).seconds == Approx(10));
}

TEST_CASE("a link takes its time in the direction in which data travel") {
    LoadDescription load = load_of(1000, {profile_of({500, 1000}, [](double x) { return x / 1000; })});
    load.links = {{{0, 0.002}, {}}};  // data come, hardly any results go
    load.processors[0].own_memory = true;
    const ShareTimes times(load, 0, recorded_sizes(load));
    CHECK(times.best(1000).seconds == Approx(2 + 0.5));  // the last block's kernel follows all transfers
}

TEST_CASE("where one direction holds up the other, as many transfers count as there are") {
    LoadDescription load = load_of(1000, {profile_of(every(100, 1000), [](double x) { return x / 1000; })});
    const LoadDescription::Way way{0, 0.01}, both{0, 0.02};  // a one-way link, ten times as slow as the kernel
    load.processors[0].own_memory = true;
    const auto best = [&](const LoadDescription::Link& link) {
        load.links = {link};
        return ShareTimes(load, 0, recorded_sizes(load)).best(1000);
    };
    CHECK(best({way, way, both}).seconds == Approx(20).epsilon(0.001));  // the link is never idle
    CHECK(best({way, way}).seconds == Approx(10 + 2 * 0.1 + 1).epsilon(0.2));
    load.processors[0].memory_units = 100;  // in which no second block fits: the link is idle while one is computed
    const ShareRun filling = best({way, way, both});
    CHECK(filling.blocks >= 10);
    CHECK(filling.seconds >= 20);
    CHECK(filling.seconds <= 20 + 1 + 1e-9);
}

TEST_CASE("transfers hide behind kernels where two blocks fit, and add up where they do not") {
    LoadDescription load = load_of(1000, {profile_of(every(100, 1000), [](double x) { return x / 100; })});
    load.links = {{0.02, 0.002}};  // 0.01 s + 0.001 s a unit in each direction
    load.processors[0].own_memory = true;
    const ShareTimes times(load, 0, recorded_sizes(load));
    const ShareRun run = times.best(1000);
    CHECK(run.overlapped);
    // The more blocks, the shorter the first and last transfers; each costs the runtime something.
    const double block = 1000.0 / static_cast<double>(run.blocks);
    CHECK(run.seconds == Approx(10 + 2 * (0.01 + 0.001 * block)).margin(0.001));
    // With a fixed cost, blocks that fill the memory are better than two half as large.
    load.recorded.processors = std::vector{profile_of(every(25, 1000), [](double x) { return 1 + x / 100; })};
    load.processors[0].memory_units = 100;
    const ShareRun filling = ShareTimes(load, 0, recorded_sizes(load)).best(1000);
    CHECK_FALSE(filling.overlapped);
    CHECK(filling.blocks == 10);
    CHECK(filling.seconds == Approx(10 * (2 + 0.11) + 0.11));
}

TEST_CASE("steps divide the load where they can, and the rest is given to who ends first") {
    const LoadDescription load =
        load_of(1'000'003, {profile_of({1, 1000, 1'000'000}, affine), profile_of({1, 1000, 1'000'000}, affine)});
    const RecordedSizes sizes = recorded_sizes(load);
    std::vector<ShareTimes> times;
    for (std::size_t p = 0; p < 2; ++p) times.emplace_back(load, p, sizes);
    const RecordedProblem even = recorded_problem(load, times, sizes, 1'000'000, {0, 0}, {false, false});
    CHECK(even.granules_left == 0);
    CHECK(even.shares.processors[0].points.size() <= 2048);
    const RecordedProblem odd = recorded_problem(load, times, sizes, 1'000'003, {0, 0}, {false, false});
    CHECK(odd.granules_left > 0);
    std::vector<Units> shares{odd.shares.granularity, 0};
    shares[0] = odd.shares.units;
    shares = complete_shares(odd, shares);
    CHECK(std::accumulate(shares.begin(), shares.end(), Units{0}) == 1'000'003);
    CHECK(shares[1] == odd.granules_left);
}

TEST_CASE("what is left is added to nobody where nobody is left") {
    const LoadDescription load = load_of(1000, {profile_of({100, 1000}, affine), profile_of({100, 1000}, affine)});
    const RecordedSizes sizes = recorded_sizes(load);
    std::vector<ShareTimes> times;
    for (std::size_t p = 0; p < 2; ++p) times.emplace_back(load, p, sizes);
    const RecordedProblem problem = recorded_problem(load, times, sizes, 1000, {0, 0}, {true, true});
    CHECK(complete_shares(problem, {0, 0}) == std::vector<Units>{0, 0});
}

TEST_CASE("steps are found at once for loads of any size, and divide them where that can be") {
    for (const Units units : {Units{2048}, Units{1'000'003}, Units{1'000'000'000'039}, Units{10'000'000'000'037},
                              Units{1} << 60, (Units{1} << 61) - 1}) {
        INFO(units << " units");
        const LoadDescription load = load_of(units, {profile_of({1, 1000, units}, affine)});
        const RecordedSizes sizes = recorded_sizes(load);
        const std::vector<ShareTimes> times{{load, 0, sizes}};
        const RecordedProblem problem = recorded_problem(load, times, sizes, units, {0}, {false});
        const Units steps = problem.shares.units / problem.shares.granularity;
        CHECK(steps <= 2048);
        CHECK(steps >= 1024);
        CHECK(problem.shares.units + problem.granules_left == units);
        CHECK((problem.granules_left == 0) == (units % 2 == 0 && units < Units{1} << 61));
    }
}

TEST_CASE("a share of more blocks than fit any memory is counted, not listed") {
    const Units units = Units{1} << 60;
    const LoadDescription load = load_of(units, {profile_of({1, 10, 100, 1000}, affine)});
    const ShareTimes times(load, 0, recorded_sizes(load));
    const BlockRuns blocks = times.blocks(units - 1);
    CHECK(blocks.total() == units - 1);
    CHECK(blocks.runs().size() <= 3);
    CHECK(blocks.front() <= 1000);
}

TEST_CASE("blocks are taken from the front in parts and dropped from the back") {
    BlockRuns blocks{{10, 3}, {7, 2}};
    CHECK(blocks.take_front(4) == 4);
    CHECK(blocks == BlockRuns{{6, 1}, {10, 2}, {7, 2}});
    CHECK(blocks.take_front(100) == 6);
    blocks.drop_back(9);
    CHECK(blocks == BlockRuns{{10, 2}, {5, 1}});
    blocks.drop_back(15);
    CHECK(blocks == BlockRuns{{10, 1}});
    blocks.drop_back(11);
    CHECK(blocks.empty());
}
