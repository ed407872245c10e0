// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/processor_watch.hpp"

#include <vector>

#include "test/catch.hpp"

using namespace apportion;
using Verdict = ProcessorWatch::Verdict;

namespace {

constexpr double kFactor = 50;

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
    Verdict judge(Units units, double waited_s) const { return watch.judge(0, units, now_s, now_s + waited_s); }
};

}  // namespace

TEST_CASE("a block is on time, overdue or silent by what the last blocks of its processor took") {
    const Watched w;
    CHECK(w.judge(100, 10) == Verdict::on_time);
    CHECK(w.judge(100, 19.9) == Verdict::on_time);
    CHECK(w.judge(100, 20.1) == Verdict::overdue);  // the other processor would have computed it by now
    CHECK(w.judge(100, 10 + 499) == Verdict::overdue);
    CHECK(w.judge(100, 10 + 501) == Verdict::silent);
    CHECK(w.watch.judge(0, 100, w.now_s - 5, w.now_s + 20.1) == Verdict::overdue);  // it waited for the block before
}

TEST_CASE("neither a spike of 20 times nor a block 24 times as large is silent, nor a small block as long as a large") {
    const Watched w;
    CHECK(w.judge(100, 200) != Verdict::silent);
    CHECK(w.judge(2400, 20 * 240) != Verdict::silent);
    CHECK(w.judge(2400, 2 * 239) == Verdict::on_time);  // the other one would need 240 s
    CHECK(w.judge(1, 19.9) == Verdict::on_time);
    CHECK_FALSE(w.watch.gone(0, 100, 29));
    CHECK(w.watch.gone(0, 100, 31));
}

TEST_CASE("a spike among the last blocks does not make the next ones wait longer, a lasting change does") {
    Watched w;
    w.watch.finished(0, 100, w.now_s, w.now_s + 200);
    w.now_s += 200;
    CHECK(w.judge(100, 20.1) == Verdict::overdue);
    for (int k = 0; k < 4; ++k, w.now_s += 30) w.watch.finished(0, 100, w.now_s, w.now_s + 30);
    CHECK(w.judge(100, 30 + 9.9) == Verdict::on_time);
    CHECK(w.judge(100, 30 + 10.1) == Verdict::overdue);
}

TEST_CASE("short blocks are given time") {
    ProcessorWatch watch(kFactor);
    const Processor processors[] = {{.name = "a"}, {.name = "b"}};
    watch.begin(processors);
    watch.finished(0, 1, 0, 1e-6);
    watch.finished(1, 1, 0, 1e-6);
    CHECK(watch.judge(0, 1, 0, 0.9 * ProcessorWatch::kShortestDelay_s) == Verdict::on_time);
    CHECK(watch.judge(0, 1, 0, 1.1 * ProcessorWatch::kShortestDelay_s) == Verdict::overdue);
    CHECK(watch.judge(0, 1, 0, 0.9 * ProcessorWatch::kShortestSilence_s) == Verdict::overdue);
    CHECK(watch.judge(0, 1, 0, 1.1 * ProcessorWatch::kShortestSilence_s) == Verdict::silent);
}

TEST_CASE("among many, a block is overdue when it is late by more than noise, and by no more than a second") {
    ProcessorWatch watch(kFactor);
    std::vector<Processor> processors(100);
    watch.begin(processors);
    for (int p = 0; p < 100; ++p) watch.finished(p, 100, 0, 2);  // 99 need 0.02 s for such a block
    CHECK(watch.judge(0, 100, 2, 2 + 2 + 0.59) == Verdict::on_time);
    CHECK(watch.judge(0, 100, 2, 2 + 2 + 0.61) == Verdict::overdue);
    CHECK(watch.judge(0, 500, 2, 2 + 10 + 0.99) == Verdict::on_time);
    CHECK(watch.judge(0, 500, 2, 2 + 10 + 1.01) == Verdict::overdue);
}

TEST_CASE("a slow processor does not take a fast one's block before that costs less than waiting") {
    ProcessorWatch watch(kFactor);
    const Processor processors[] = {{.name = "fast", .kind = 0}, {.name = "slow", .kind = 1}};
    watch.begin(processors);
    watch.finished(0, 1000, 0, 2);
    watch.finished(1, 10, 0, 2);  // would need 200 s for the block below
    CHECK(watch.judge(0, 1000, 2, 2 + 2 + 99) == Verdict::on_time);
    CHECK(watch.judge(0, 1000, 2, 2 + 2 + 101) == Verdict::silent);
    watch.finished(1, 1000, 2, 2 + 50);
    CHECK(watch.judge(0, 1000, 2, 2 + 2 + 51) == Verdict::overdue);
}

TEST_CASE("a first block is judged by processors of its kind, or by a multiple of the slowest's time") {
    ProcessorWatch watch(kFactor);
    const Processor processors[] = {{.name = "a", .kind = 0}, {.name = "b", .kind = 0}, {.name = "c", .kind = 1}};
    watch.begin(processors);
    CHECK(watch.judge(0, 100, 0, 1e9) == Verdict::on_time);  // nobody knows anything
    watch.finished(0, 100, 0, 10);
    CHECK(watch.judge(1, 100, 0, 19) == Verdict::on_time);
    CHECK(watch.judge(1, 100, 0, 21) == Verdict::overdue);
    CHECK(watch.judge(2, 100, 0, 0.99 * kFactor * kFactor * 10) == Verdict::on_time);
    CHECK(watch.judge(2, 100, 0, 1.01 * kFactor * kFactor * 10) == Verdict::silent);
}

TEST_CASE("a first block is judged by a forecast where there is one, later ones by what was measured") {
    ProcessorWatch watch(kFactor);
    const Processor processors[] = {{.name = "a", .kind = 0}, {.name = "b", .kind = 1}};
    watch.begin(processors);
    watch.forecast(0, 100, 10);
    watch.forecast(1, 100, 10);
    CHECK_FALSE(watch.has_finished(0));
    CHECK(watch.judge(0, 200, 0, 29) == Verdict::on_time);
    CHECK(watch.judge(0, 200, 0, 41) == Verdict::overdue);
    watch.finished(0, 100, 0, 100);
    CHECK(watch.has_finished(0));
    CHECK(watch.judge(0, 100, 100, 209) == Verdict::on_time);
    CHECK(watch.judge(0, 100, 100, 211) == Verdict::overdue);
}

TEST_CASE("time during which the whole program stood still does not count") {
    Watched w;
    w.watch.resumed(w.now_s + 1000);
    CHECK(w.judge(100, 1000 + 19) == Verdict::on_time);
    CHECK(w.judge(100, 1000 + 21) == Verdict::overdue);
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
    CHECK(w.judge(100, 21) == Verdict::overdue);
}
