// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <cmath>
#include <numeric>

#include "test/catch.hpp"
#include "tools/apportion/command.hpp"
#include "tools/apportion/profile_measure.hpp"

using namespace apportion;

namespace {

/// Three processors whose speeds rise with the size; no clock.
class FakeSubject final : public ProfileSubject {
  public:
    explicit FakeSubject(Units granularity = 1) {
        kernel_ = "fake";
        processors_ = {"slow", "fast", "card"};
        granularity_ = granularity;
    }
    static double seconds_of(std::size_t processor, Units units) {
        constexpr double kSpeed[] = {100, 300, 2000}, kHalf[] = {1, 30, 500};
        return (static_cast<double>(units) + kHalf[processor]) / kSpeed[processor];
    }
    std::vector<double> run(std::span<const Units> units) override {
        ++runs;
        std::vector<double> seconds;
        for (std::size_t p = 0; p < units.size(); ++p) {
            if (units[p] > fits[p]) throw DoesNotFit(p, "too large");
            seconds.push_back(units[p] == 0 ? 0 : seconds_of(p, units[p]));
        }
        return seconds;
    }

    int runs = 0;
    std::vector<Units> fits = std::vector<Units>(3, kNoLimit);
};

struct Outcome {
    Balance balance;
    std::vector<PartialTimes> times = std::vector<PartialTimes>(3);
};

Outcome balance(FakeSubject& subject, Units units, double within,
                std::vector<PartialTimes> known = std::vector<PartialTimes>(3)) {
    Outcome outcome;
    MeasureOptions options;
    options.warm_up_s = 0;
    MeasureWatcher watcher;
    watcher.finished = [&](const MeasuredPoint& p) {
        if (p.does_not_fit.empty()) outcome.times[p.processor][p.point.units] = p.point.seconds;
    };
    outcome.balance = balance_profile(subject, units, within, options, watcher, std::move(known));
    return outcome;
}

double true_difference(const std::vector<Units>& shares) {
    std::vector<double> seconds;
    for (std::size_t p = 0; p < shares.size(); ++p) seconds.push_back(FakeSubject::seconds_of(p, shares[p]));
    return 1 - std::ranges::min(seconds) / std::ranges::max(seconds);
}

}  // namespace

TEST_CASE("a few distributions are enough for times that are as close as was asked for") {
    for (const double within : {0.1, 0.02, 0.004}) {
        FakeSubject subject;
        const Outcome outcome = balance(subject, 10000, within);
        CHECK(std::accumulate(outcome.balance.shares.begin(), outcome.balance.shares.end(), Units{0}) == 10000);
        CHECK(outcome.balance.difference <= within);
        CHECK(true_difference(outcome.balance.shares) == Approx(outcome.balance.difference).margin(1e-9));
        CHECK(outcome.balance.distributions <= 6);
        for (const PartialTimes& times : outcome.times) CHECK(std::ssize(times) <= outcome.balance.distributions);
    }
}

TEST_CASE("the first distribution gives everybody the same, whole granules at a time") {
    FakeSubject subject(8);
    const Outcome outcome = balance(subject, 800, 1);  // any difference will do
    CHECK(outcome.balance.shares == std::vector<Units>{272, 264, 264});
    CHECK(outcome.balance.distributions == 1);
}

TEST_CASE("what an interrupted search has found is not measured again") {
    FakeSubject subject;
    const Outcome first = balance(subject, 10000, 0.02);
    const int runs = subject.runs;
    const Outcome second = balance(subject, 10000, 0.02, first.times);
    CHECK(second.balance.difference <= 0.02);
    CHECK(second.balance.distributions <= 2);
    CHECK(subject.runs - runs < runs);
}

TEST_CASE("where whole units come no nearer, the search ends with the shortest distribution it ran") {
    FakeSubject subject;
    const Outcome outcome = balance(subject, 3, 0.001);
    CHECK(outcome.balance.difference > 0.001);
    CHECK(outcome.balance.distributions < 20);
    CHECK(std::accumulate(outcome.balance.shares.begin(), outcome.balance.shares.end(), Units{0}) == 3);
}

TEST_CASE("a share that does not fit bounds those that follow, and a first one is an error") {
    FakeSubject subject;
    subject.fits[2] = 5000;
    const Outcome outcome = balance(subject, 12000, 0.01);
    REQUIRE_FALSE(outcome.balance.shares.empty());
    CHECK(outcome.balance.shares[2] <= 5000);
    CHECK(std::accumulate(outcome.balance.shares.begin(), outcome.balance.shares.end(), Units{0}) == 12000);
    subject.fits[2] = 10;
    CHECK_THROWS_AS(balance(subject, 12000, 0.01), UserError);
}
