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
            const json object =
                folder.json(std::string("mpdata --size 24,10,12 --steps 6 --steps-at-once ") + at_once, environment);
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

namespace {

const std::string kInRectangles = "mpdata --size 24,12,9 --steps 5 --rectangles plan.json";

}  // namespace

TEST_CASE("mpdata gives the same bits in rectangles of one, two and four workers, and of a team of cores") {
    const AppFolder folder;
    json whole;
    const auto check = [&](const std::string& environment, const std::string& arguments) {
        INFO(environment << ' ' << arguments);
        const json object = folder.json(arguments, environment);
        CHECK(object.at("verified") == true);
        CHECK(object.at("runs").size() == 5);
        const json now{object.at("mass_change"), object.at("smallest"), object.at("largest")};
        if (whole.is_null()) whole = now;
        CHECK(now == whole);
        return object;
    };
    check("STARPU_NCPU=1", "mpdata --size 24,12,9 --steps 5");
    folder.write("plan.json", plan_of(12, {{"CPU 0", {{0, 0, 12, 12}}}}));
    CHECK(check("STARPU_NCPU=1", kInRectangles).at("policy") == "rectangles");
    folder.write("plan.json",
                 plan_of(12, {{"CPU 1", {{0, 0, 5, 12}}}, {"CPU 0", {{5, 0, 7, 12}}}, {"CPU 2", {{0, 0, 0, 0}}}}));
    check("STARPU_NCPU=2", kInRectangles);
    folder.write("plan.json", plan_of(12, {{"CPU 0", {{0, 5, 6, 7}}},
                                           {"CPU 1", {{0, 0, 7, 5}}},
                                           {"CPU 2", {{6, 5, 6, 7}}},
                                           {"CPU 3", {{7, 0, 5, 5}}}}));
    const json four = check("STARPU_NCPU=4", kInRectangles).at("report").at("processors");
    CHECK(four.at(0).at("rectangles") == json({{0, 10, 6, 14}}));
    CHECK(four.at(3).at("rectangles") == json({{7, 0, 5, 10}}));
    CHECK(four.at(3).at("units") == 50);
    folder.write("plan.json", plan_of(12, {{"CPU 1-3", {{0, 4, 12, 8}}}, {"CPU 0", {{0, 0, 12, 4}}}}));
    const json team = check("STARPU_NCPU=4", kInRectangles).at("report").at("processors");
    CHECK(team.at(1).at("rectangles") == json({{0, 8, 12, 5}}));
    CHECK(team.at(3).at("rectangles") == json({{0, 18, 12, 6}}));
}

TEST_CASE("mpdata refuses plans that are none of its domain") {
    const AppFolder folder;
    const auto refused = [&](const std::string& plan, const std::string& reason) {
        folder.write("plan.json", plan);
        check_refused(folder.run(kInRectangles, "STARPU_NCPU=2"), reason);
    };
    refused(plan_of(4, {{"CPU 0", {{0, 0, 4, 2}}}, {"CPU 1-2", {{0, 2, 4, 2}}}}), "has no worker 'CPU 2' here");
    refused(plan_of(5, {{"CPU 0", {{0, 0, 5, 5}}}}),
            "is of 5 x 5 blocks, which the domain's 24 x 12 columns cannot be divided");
    refused(plan_of(24, {{"CPU 0", {{0, 0, 23, 24}}}, {"CPU 1", {{23, 0, 1, 24}}}}), "is of 24 x 24 blocks");
    check_refused(folder.run(kInRectangles + " --peer"), "excludes");
    check_refused(folder.run(kInRectangles + " --steps-at-once 5"), "excludes");
}

TEST_CASE("mpdata draws the field, tells what happened to it, and is timed in turn with a loop") {
    const AppFolder folder;
    check_says(folder.run("mpdata --size 16 --steps 2 --body sphere --plot field.png"),
               {"16 x 16 x 16 cells", "mass changed by", "values from 0 to", "verified: yes"});
    CHECK(folder.read("field.png").starts_with("\x89PNG"));
    const json object = folder.json("mpdata --size 16 --steps 3 --peer");
    CHECK(object.at("peer").at("runs").size() == 3);
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
