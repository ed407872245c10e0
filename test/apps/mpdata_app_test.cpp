// SPDX-License-Identifier: LGPL-2.1-or-later
// The application mpdata as a program.
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "test/apps/run_app.hpp"

using namespace apportion;
using nlohmann::json;

TEST_CASE("mpdata keeps mass, sign and bounds, and gives the reference's bits under every cut") {
    const AppFolder folder;
    json first;
    for (const char* environment : {"STARPU_SCHED=equal STARPU_NCPU=1", "STARPU_SCHED=plb-hec APPORTION_HANDICAP=1=3",
                                    "STARPU_SCHED=dmda APPORTION_BLOCKS=7"})
        for (const char* at_once : {"1", "3"}) {
            INFO(environment << ", " << at_once << " at once");
            const Result result = folder.run(
                std::string("mpdata --size 24,10,12 --steps 6 --json --steps-at-once ") + at_once, environment);
            REQUIRE(result.status == 0);
            const json object = json::parse(result.out);
            CHECK(object.at("verified") == true);
            CHECK(object.at("max_error") == 0.0);
            CHECK(object.at("size") == json({24, 10, 12}));
            CHECK(object.at("runs").size() == 6 / std::stoul(at_once));
            CHECK(std::abs(object.at("mass_change").get<double>()) < 1e-14);
            CHECK(object.at("smallest") >= 0.0);
            const json now{object.at("mass_change"), object.at("smallest"), object.at("largest")};
            if (first.is_null()) first = now;
            CHECK(now == first);
        }
}

TEST_CASE("mpdata draws the field, tells what happened to it, and is timed in turn with a loop") {
    const AppFolder folder;
    const Result result = folder.run("mpdata --size 16 --steps 2 --body sphere --plot field.png");
    REQUIRE(result.status == 0);
    for (const char* part : {"16 x 16 x 16 cells", "mass changed by", "values from 0 to", "verified: yes"}) {
        INFO(part);
        CHECK(result.out.find(part) != std::string::npos);
    }
    CHECK(folder.read("field.png").starts_with("\x89PNG"));
    const Result timed = folder.run("mpdata --size 16 --steps 3 --loop-peer --json");
    REQUIRE(timed.status == 0);
    CHECK(json::parse(timed.out).at("peer").at("runs").size() == 3);
}

TEST_CASE("mpdata refuses what cannot be computed") {
    const AppFolder folder;
    check_refused(folder.run("mpdata --size 16 --courant 1.01"), "the scheme is unstable above 1");
    check_refused(folder.run("mpdata --size 16 --courant nan"), "the scheme is unstable above 1");
    check_refused(folder.run("mpdata --size 16 --courant 0"), "nothing moves at 0");
    check_refused(folder.run("mpdata"), "--size is required");
    check_refused(folder.run("mpdata --size 0"), "--size 0");
    check_refused(folder.run("mpdata --size 4,4"), "give one size or NX,NY,NZ");
    check_refused(folder.run("mpdata --size 2,8,8"), "2 planes are fewer than the 3");
    check_refused(folder.run("mpdata --size 16 --steps 5 --steps-at-once 2"), "a multiple of --steps-at-once 2");
    check_refused(folder.run("mpdata --size 16 --steps 0"), "--steps");
    check_refused(folder.run("mpdata --size 16 --repeat 2"), "give --steps");
    check_refused(folder.run("mpdata --size 100000"), "choose a smaller size");
    check_refused(folder.run("mpdata --size 16 --plot none/field.png"), "there is no folder");
    check_refused(folder.run("mpdata --size 16 --plot field.gif"), "field.gif");
}
