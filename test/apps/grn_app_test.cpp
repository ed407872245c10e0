// SPDX-License-Identifier: LGPL-2.1-or-later
// The application grn as a program.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "codelets/grn/grn.hpp"
#include "test/apps/run_app.hpp"

using namespace apportion;
using nlohmann::json;

TEST_CASE("grn finds planted pairs in a file of expression, the same under every policy") {
    constexpr std::size_t kGenes = 60, kTargets = 12;
    const Expression e = random_expression(kGenes, kGeneratedSamples, kTargets, 3, 6);
    std::ostringstream text;
    text.precision(17);
    for (std::size_t s = 0; s < e.samples; ++s) text << (s > 0 ? "\t" : "") << "sample " << s;
    for (std::size_t g = 0; g < kGenes; ++g) {
        text << '\n' << e.genes[g];
        for (std::size_t s = 0; s < e.samples; ++s) text << '\t' << e.of(g)[s];
    }
    const AppFolder folder;
    folder.write("expression.tsv", text.str());
    std::string expected;
    for (const char* environment : {"STARPU_SCHED=equal STARPU_NCPU=1", "STARPU_SCHED=plb-hec", "STARPU_SCHED=dmda"}) {
        INFO(environment);
        const json object = folder.json("grn --levels 3 --in expression.tsv --out network.tsv", environment);
        CHECK(object.at("size") == kGenes);
        CHECK(object.at("targets") == kGenes);
        CHECK(object.at("samples") == kGeneratedSamples);
        CHECK(object.at("evaluations") == 60 * 60 * 59 / 2);
        CHECK(object.at("verified") == true);
        if (expected.empty()) expected = folder.read("network.tsv");
        CHECK(folder.read("network.tsv") == expected);
    }
    GrnOptions options;
    options.levels = 3;
    const GrnProblem problem = make_grn_problem(e, options);
    std::istringstream lines(expected);
    std::string line;
    std::getline(lines, line);
    CHECK(line == "target\tpredictor_1\tpredictor_2\tentropy\tdetermination");
    for (std::size_t t = 0; t < kTargets; ++t) {
        const auto planted = planted_predictors(kGenes, kTargets, t, 6);
        std::getline(lines, line);
        // Of the 1.58 bits of three equal levels; where a sum's values are not equally many, a threshold splits some.
        const Prediction planned = predict(problem, t, {planted[0], planted[1], 0});
        CHECK(planned.entropy < 0.5);
        CHECK(planned.determination > 0.8);
        CHECK(line == fmt::format("{}\t{}\t{}\t{:.6f}\t{:.6f}", e.genes[t], e.genes[planted[0]], e.genes[planted[1]],
                                  planned.entropy, planned.determination));
    }
}

TEST_CASE("grn's options choose targets and candidates") {
    const AppFolder folder;
    const json object =
        folder.json("grn --size 200 --targets 7 --candidates 20 --out network.tsv", "STARPU_SCHED=greedy");
    CHECK(object.at("targets") == 7);
    CHECK(object.at("candidates") == 20);
    CHECK(object.at("evaluations") == 7 * 20 * 19 / 2);
    for (const char* peer : {"loop", "reference"}) {
        const json timed = folder.json(std::string("grn --size 100 --repeat 2 --peer ") + peer);
        CHECK(timed.at("peer").at("runs").size() == 2);
    }
    CHECK(folder.run("grn --size 100").out.find("million evaluations/s") != std::string::npos);
}

TEST_CASE("input of grn that makes no sense is refused") {
    const AppFolder folder;
    folder.write("one.tsv", "a b c\nG1 1 2 3\n");
    folder.write("three.tsv", "a b c\nG1 1 2 3\nG2 1 2 4\nG3 2 1 5\n");
    check_refused(folder.run("grn --in one.tsv"), "one.tsv has 1 gene; at least 3 are needed");
    check_refused(folder.run("grn --in none.tsv"), "cannot be opened");
    folder.write("nan.tsv", "a b c\nG1 1 2 3\nG2 1 nan 3\nG3 1 2 4\n");
    check_refused(folder.run("grn --in nan.tsv --out network.tsv"),
                  "nan.tsv:3: value 2 of gene G2 is 'nan'; give a finite number");
    CHECK(folder.read("network.tsv").empty());
    check_refused(folder.run("grn --in three.tsv --candidates 4"), "has 3 genes, but 4 candidates");
    check_refused(folder.run("grn"), "give --size N, or --in");
    check_refused(folder.run("grn --size 2"), "--size 2: this has 2 genes");
    check_refused(folder.run("grn --size 50 --targets 0"), "--targets: Value 0 not in range");
    check_refused(folder.run("grn --size 50 --seed -1"),
                  "--seed: '-1' is not usable; give a whole number from 0 to 2^63 - 1");
    check_refused(folder.run("grn --size 50 --levels 4"), "--levels");
    check_refused(folder.run("grn --size 50 --out " + std::string(240, 'x')), "its name is too long");
    check_refused(folder.run("grn --size 50 --out none/network.tsv"), "there is no folder");
}
