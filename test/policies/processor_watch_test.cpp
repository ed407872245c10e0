// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/processor_watch.hpp"

#include <vector>

#include "test/catch.hpp"

using namespace apportion;
using Verdict = ProcessorWatch::Verdict;
using Copies = ProcessorWatch::Copies;

namespace {

constexpr double kFactor = 50;
const std::vector<int> kNobody;

/// Two processors of different kinds; each has computed blocks of 100 units in 10 s, one after the other.
struct Watched {
    ProcessorWatch watch{kFactor};
    double now_s = 0;

    Watched() {
        const Processor processors[] = {{.name = "a", .kind = 0}, {.name = "b", .kind = 1}};
        watch.begin(processors);
        for (int k = 0; k < 2; ++k, now_s += 10)
            for (int p : {0, 1}) watch.finished(p, 100, now_s, now_s + 10);
    }
    Verdict judge(Units units, double waited_s, Copies copies = Copies::costly,
                  const std::vector<int>& idle = kNobody) const {
        return watch.judge(0, units, now_s, now_s + waited_s, copies, idle);
    }
};

Verdict judge(const ProcessorWatch& watch, int processor, Units units, double given_s, double now_s,
              Copies copies = Copies::costly, const std::vector<int>& idle = kNobody) {
    return watch.judge(processor, units, given_s, now_s, copies, idle);
}

}  // namespace

TEST_CASE("a block is on time, late or silent by what the last blocks of its processor took") {
    const Watched w;
    CHECK(w.judge(100, 10) == Verdict::on_time);
    CHECK(w.judge(100, 19.9) == Verdict::on_time);
    CHECK(w.judge(100, 20.1) == Verdict::late);  // the other processor would have computed it by now
    CHECK(w.judge(100, 10 + 499) == Verdict::late);
    CHECK(w.judge(100, 10 + 501) == Verdict::silent);
    CHECK(judge(w.watch, 0, 100, w.now_s - 5, w.now_s + 20.1) == Verdict::late);  // it waited for the block before
}

TEST_CASE("where copies are cheap, more than noise is late; while others idle, any delay that they can mend") {
    const Watched w;
    const std::vector<int> other{1};
    CHECK(w.judge(100, 10.9, Copies::cheap) == Verdict::on_time);
    CHECK(w.judge(100, 11.1, Copies::cheap) == Verdict::late);  // kLongestDelay_s
    CHECK(w.watch.late_at_s(0, 100, w.now_s, Copies::cheap) == Approx(w.now_s + 11));
    CHECK(w.watch.late_at_s(0, 100, w.now_s, Copies::costly) == Approx(w.now_s + 20));
    CHECK(w.judge(100, 10.1, Copies::cheap, other) == Verdict::on_time);
    CHECK(w.judge(100, 10.3, Copies::cheap, other) == Verdict::late);
    CHECK(w.judge(100, 10.3, Copies::costly, other) == Verdict::on_time);
    // A much larger block than any before: 240 s are a guess, and the other one needs as long as it has waited.
    CHECK(w.judge(2400, 239, Copies::cheap, other) == Verdict::on_time);
    CHECK(w.judge(2400, 244, Copies::cheap, other) == Verdict::on_time);
    CHECK(w.judge(2400, 245, Copies::cheap, other) == Verdict::late);
}

TEST_CASE("of a larger block, idle ones take over what they would have done well before") {
    ProcessorWatch watch(kFactor);
    const Processor processors[] = {{.name = "a", .kind = 0}, {.name = "b", .kind = 1}, {.name = "c", .kind = 2}};
    watch.begin(processors);
    watch.finished(0, 10, 0, 10);      // with a start-up that nobody knows of
    watch.finished(1, 1000, 0, 10);    // needs 10 s for the block below
    watch.finished(2, 1000, 0, 1000);  // is slow
    CHECK(judge(watch, 0, 1000, 10, 10 + 9, Copies::cheap, {1}) == Verdict::on_time);
    CHECK(judge(watch, 0, 1000, 10, 10 + 11, Copies::cheap, {1}) == Verdict::late);
    CHECK(judge(watch, 0, 1000, 10, 10 + 11, Copies::cheap, kNobody) == Verdict::on_time);
    CHECK(judge(watch, 0, 1000, 10, 10 + 500, Copies::cheap, {2}) == Verdict::on_time);  // the better half is busy
    CHECK(judge(watch, 0, 1000, 10, 10 + 11, Copies::costly, {1}) == Verdict::on_time);
}

TEST_CASE("what a block should take follows the sizes before it, or those of its kind") {
    ProcessorWatch watch(kFactor);
    const Processor processors[] = {{.name = "a", .kind = 0}, {.name = "b", .kind = 0}};
    const auto expected = [&](int p, Units units) {  // less the delay, which is a second
        return watch.late_at_s(p, units, 100, Copies::cheap) - 100 - ProcessorWatch::kLongestDelay_s;
    };
    watch.begin(processors);
    watch.finished(0, 100, 0, 10);
    CHECK(expected(0, 200) == Approx(20));  // in proportion
    CHECK(expected(0, 50) == Approx(7.5));  // half of it may be fixed
    watch.finished(0, 200, 10, 26);
    CHECK(expected(0, 150) == Approx(13));  // on the line through both
    CHECK(expected(0, 50) == Approx(7));
    CHECK(expected(0, 250) == Approx(20));  // in proportion to the larger
    watch.finished(1, 50, 0, 14);
    CHECK(expected(1, 100) == Approx(20));  // as much longer as on the other one
}

TEST_CASE("neither a spike of 20 times nor a block 24 times as large is silent, nor a small block as long as a large") {
    const Watched w;
    CHECK(w.judge(100, 200) != Verdict::silent);
    CHECK(w.judge(2400, 20 * 240) != Verdict::silent);
    CHECK(w.judge(2400, 2 * 239) == Verdict::on_time);  // the other one would need 240 s
    CHECK(w.judge(1, 9.9) == Verdict::on_time);
    CHECK_FALSE(w.watch.gone(0, 100, 29));
    CHECK(w.watch.gone(0, 100, 31));
}

TEST_CASE("a spike among the last blocks does not make the next ones wait longer, a lasting change does") {
    Watched w;
    w.watch.finished(0, 100, w.now_s, w.now_s + 200);
    w.now_s += 200;
    CHECK(w.judge(100, 20.1) == Verdict::late);
    for (int k = 0; k < 4; ++k, w.now_s += 30) w.watch.finished(0, 100, w.now_s, w.now_s + 30);
    CHECK(w.judge(100, 30 + 9.9) == Verdict::on_time);
    CHECK(w.judge(100, 30 + 10.1) == Verdict::late);
}

TEST_CASE("short blocks are given time") {
    ProcessorWatch watch(kFactor);
    const Processor processors[] = {{.name = "a"}, {.name = "b"}};
    watch.begin(processors);
    watch.finished(0, 1, 0, 1e-6);
    watch.finished(1, 1, 0, 1e-6);
    for (const auto& [copies, delay_s] : {std::pair(Copies::cheap, ProcessorWatch::kShortestDelay_s),
                                          std::pair(Copies::costly, ProcessorWatch::kShortestCostlyDelay_s)}) {
        CHECK(judge(watch, 0, 1, 0, 0.9 * delay_s, copies) == Verdict::on_time);
        CHECK(judge(watch, 0, 1, 0, 1.1 * delay_s, copies) == Verdict::late);
    }
    CHECK(judge(watch, 0, 1, 0, 0.9 * ProcessorWatch::kShortestSilence_s) == Verdict::late);
    CHECK(judge(watch, 0, 1, 0, 1.1 * ProcessorWatch::kShortestSilence_s) == Verdict::silent);
}

TEST_CASE("among many, a block is late when it is late by more than noise, and by no more than a second") {
    ProcessorWatch watch(kFactor);
    std::vector<Processor> processors(100);
    watch.begin(processors);
    for (int p = 0; p < 100; ++p) watch.finished(p, 100, 0, 2);  // 99 need 0.02 s for such a block
    CHECK(judge(watch, 0, 100, 2, 2 + 2 + 0.59) == Verdict::on_time);
    CHECK(judge(watch, 0, 100, 2, 2 + 2 + 0.61) == Verdict::late);
    CHECK(judge(watch, 0, 500, 2, 2 + 10 + 0.99) == Verdict::on_time);
    CHECK(judge(watch, 0, 500, 2, 2 + 10 + 1.01) == Verdict::late);
}

TEST_CASE("a slow processor does not take a fast one's block before that costs less than waiting") {
    ProcessorWatch watch(kFactor);
    const Processor processors[] = {{.name = "fast", .kind = 0}, {.name = "slow", .kind = 1}};
    watch.begin(processors);
    watch.finished(0, 1000, 0, 2);
    watch.finished(1, 10, 0, 2);  // would need 200 s for the block below
    CHECK(judge(watch, 0, 1000, 2, 2 + 2 + 99) == Verdict::on_time);
    CHECK(judge(watch, 0, 1000, 2, 2 + 2 + 101) == Verdict::silent);
    watch.finished(1, 1000, 2, 2 + 50);
    CHECK(judge(watch, 0, 1000, 2, 2 + 2 + 51) == Verdict::late);
}

TEST_CASE("a first block is judged by processors of its kind, or by a multiple of the slowest's time") {
    ProcessorWatch watch(kFactor);
    const Processor processors[] = {{.name = "a", .kind = 0}, {.name = "b", .kind = 0}, {.name = "c", .kind = 1}};
    watch.begin(processors);
    CHECK(judge(watch, 0, 100, 0, 1e9) == Verdict::on_time);  // nobody knows anything
    watch.finished(0, 100, 0, 10);
    CHECK(judge(watch, 1, 100, 0, 19) == Verdict::on_time);
    CHECK(judge(watch, 1, 100, 0, 21) == Verdict::late);
    CHECK(judge(watch, 2, 100, 0, 0.99 * kFactor * kFactor * 10) == Verdict::on_time);
    CHECK(judge(watch, 2, 100, 0, 1.01 * kFactor * kFactor * 10) == Verdict::silent);
}

TEST_CASE("a first block is judged by a forecast where there is one, later ones by what was measured") {
    ProcessorWatch watch(kFactor);
    const Processor processors[] = {{.name = "a", .kind = 0}, {.name = "b", .kind = 1}};
    watch.begin(processors);
    watch.forecast(0, 100, 10);
    watch.forecast(1, 100, 10);
    CHECK_FALSE(watch.has_finished(0));
    CHECK(judge(watch, 0, 200, 0, 29) == Verdict::on_time);
    CHECK(judge(watch, 0, 200, 0, 41) == Verdict::late);
    watch.finished(0, 100, 0, 100);
    CHECK(watch.has_finished(0));
    CHECK(judge(watch, 0, 100, 100, 209) == Verdict::on_time);
    CHECK(judge(watch, 0, 100, 100, 211) == Verdict::late);
}

TEST_CASE("time during which the whole program stood still does not count") {
    Watched w;
    w.watch.resumed(w.now_s + 1000);
    CHECK(w.judge(100, 1000 + 19) == Verdict::on_time);
    CHECK(w.judge(100, 1000 + 21) == Verdict::late);
}

TEST_CASE("lost processors are welcome again in the next run, and what is known stays") {
    Watched w;
    CHECK_FALSE(w.watch.all_lost());
    w.watch.lose(0);
    CHECK(w.watch.lost(0));
    CHECK_FALSE(w.watch.lost(1));
    w.watch.lose(1);
    CHECK(w.watch.all_lost());
    const Processor processors[] = {{.name = "a", .kind = 0}, {.name = "b", .kind = 1}};
    w.watch.begin(processors);
    CHECK_FALSE(w.watch.lost(0));
    w.now_s = 0;
    CHECK(w.judge(100, 19) == Verdict::on_time);
    CHECK(w.judge(100, 21) == Verdict::late);
}
