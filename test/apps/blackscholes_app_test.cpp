// SPDX-License-Identifier: LGPL-2.1-or-later
// The application blackscholes as a program.
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "codelets/io/npy.hpp"
#include "test/apps/run_app.hpp"

using namespace apportion;
using nlohmann::json;

TEST_CASE("blackscholes prices a file of options into a file") {
    const AppFolder folder;
    folder.write("options.csv",
                 "spot,strike,rate,volatility,expiry,type\n42,40,0.1,0.2,0.5,call\n42,40,0.1,0.2,0.5,put\n");
    const std::string in = "blackscholes --in options.csv";
    REQUIRE(folder.run(in + " --method closed --out prices.csv").status == 0);
    CHECK(folder.read("prices.csv")
              .starts_with("spot,strike,rate,volatility,expiry,type,price\n42,40,0.1,0.2,0.5,call,4.75942"));

    const json object = folder.json(in + " --paths 100000 --out prices.npy");
    CHECK(object.at("app") == "blackscholes");
    CHECK(object.at("size") == 2);
    CHECK(object.at("method") == "monte-carlo");
    CHECK(object.at("paths") == 100000);
    CHECK(object.at("verified") == true);
    CHECK(object.at("million_paths_per_second").get<double>() > 0);
    const Matrix prices = read_npy(folder.file("prices.npy"));
    REQUIRE(prices.rows() == 2);
    REQUIRE(prices.columns() == 2);
    const auto at = [&](std::size_t i, std::size_t j) { return element(prices, i, j); };
    CHECK(std::abs(at(0, 0) - 4.759422) < 5 * at(0, 1));
    CHECK(std::abs(at(1, 0) - 0.808599) < 5 * at(1, 1));
    CHECK(at(0, 1) < 0.02);
}

TEST_CASE("a Monte Carlo price is the same bits under every policy") {
    const AppFolder folder;
    const std::string command = "blackscholes --size 97 --paths 1000 --seed 4 --out prices.csv";
    REQUIRE(folder.run(command, "STARPU_SCHED=equal STARPU_NCPU=1").status == 0);
    const std::string expected = folder.read("prices.csv");
    for (const char* environment : {"STARPU_SCHED=plb-hec", "STARPU_SCHED=dmda APPORTION_BLOCKS=13",
                                    "STARPU_SCHED=greedy APPORTION_HANDICAP=1=3"}) {
        INFO(environment);
        REQUIRE(folder.run(command, environment).status == 0);
        CHECK(folder.read("prices.csv") == expected);
    }
    REQUIRE(folder.run("blackscholes --size 97 --paths 1000 --seed 5 --out prices.csv").status == 0);
    CHECK(folder.read("prices.csv") != expected);
}

TEST_CASE("blackscholes is timed in turn with its peers") {
    const AppFolder folder;
    for (const char* peer : {"loop", "reference"}) {
        const json object = folder.json(std::string("blackscholes --size 50 --paths 200 --repeat 2 --peer ") + peer);
        CHECK(object.at("peer").at("runs").size() == 2);
    }
    CHECK(folder.run("blackscholes --size 1000 --type float --method closed").out.find("million options/s") !=
          std::string::npos);
}

TEST_CASE("input of blackscholes that makes no sense is refused") {
    const AppFolder folder;
    folder.write("options.csv",
                 "spot,strike,rate,volatility,expiry,type\n42,40,0.1,0.2,0.5,call\n42,-40,0.1,0.2,0.5,put\n");
    check_refused(folder.run("blackscholes --in options.csv --out prices.csv"), "options.csv:3: strike is -40");
    CHECK(folder.read("prices.csv").empty());
    check_refused(folder.run("blackscholes --in none.csv"), "cannot be opened");
    check_refused(folder.run("blackscholes"), "give --size N, or --in");
    check_refused(folder.run("blackscholes --size 0"), "--size");
    check_refused(folder.run("blackscholes --size 5,6"), "give one number of options");
    check_refused(folder.run("blackscholes --size 5 --in x.csv"), "excludes");
    check_refused(folder.run("blackscholes --size 5 --paths 1"), "--paths");
    check_refused(folder.run("blackscholes --size 5 --method tree"), "--method");
    check_refused(folder.run("blackscholes --size 5 --out none/prices.csv"), "there is no folder");
    check_refused(folder.run("blackscholes --size 2000000000"), "choose a smaller size");
}
