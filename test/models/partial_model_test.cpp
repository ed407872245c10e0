// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/partial_model.hpp"

#include "test/catch.hpp"

using namespace apportion;
using Verdict = PartialModel::Verdict;

TEST_CASE("a partial model goes through what was measured and keeps the speed beyond") {
    PartialModel model;
    CHECK_FALSE(model.function());
    CHECK(model.add({10, 1}) == Verdict::used);
    CHECK(model.function()->seconds(100) == Approx(10));
    CHECK(model.add({100, 5}) == Verdict::used);
    CHECK(model.function()->seconds(100) == Approx(5));
    CHECK(model.function()->seconds(200) == Approx(10));
}

TEST_CASE("measurements of about one size are averaged, the latest eight of them") {
    PartialModel model;
    for (double seconds : {9.0, 11.0, 10.0, 10.0}) model.add({100, seconds});
    CHECK(model.function()->points().size() == 1);
    CHECK(model.function()->seconds(100) == Approx(10));
    for (int i = 0; i < 8; ++i) model.add({101, 12.12});
    CHECK(model.samples() == 8);
    CHECK(model.function()->seconds(101) == Approx(12.12));
}

TEST_CASE("in a partial model one contradiction is a spike, two in a row are a change") {
    PartialModel model;
    model.add({100, 10});
    CHECK(model.add({100, 200}) == Verdict::spike);
    CHECK(model.function()->seconds(100) == Approx(10));
    CHECK(model.add({100, 10}) == Verdict::used);
    CHECK(model.add({100, 30}) == Verdict::spike);
    CHECK(model.add({100, 3}) == Verdict::spike);  // the other way
    CHECK(model.add({100, 30}) == Verdict::spike);
    CHECK(model.add({100, 32}) == Verdict::changed);
    CHECK(model.function()->seconds(100) == Approx(31));
}

TEST_CASE("what is far from the measured sizes cannot contradict them") {
    PartialModel model;
    model.add({100, 10});
    CHECK(model.add({1000, 20}) == Verdict::used);
    CHECK(model.add({10, 5}) == Verdict::used);
    CHECK(model.add({10, -1}) == Verdict::spike);
    CHECK(model.samples() == 3);
}

TEST_CASE("as printed every measurement is a point, also one that contradicts the others") {
    PartialModel model(PartialModel::Belief::as_printed);
    model.add({100, 10});
    CHECK(model.add({101, 202}) == Verdict::used);
    CHECK(model.function()->points().size() == 2);
    CHECK(model.function()->seconds(101) == Approx(202));
    model.add({100, 20});
    CHECK(model.function()->seconds(100) == Approx(15));
    CHECK(model.samples() == 3);
}
