// SPDX-License-Identifier: LGPL-2.1-or-later
// The applications as programs: what they print, what they write and how they end.
#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "codelets/io/npy.hpp"
#include "test/apps/run_app.hpp"

using namespace apportion;
using nlohmann::json;

TEST_CASE("matmul --json prints one object that says what ran, how fast and whether it is right") {
    const AppFolder folder;
    const json object = folder.json("matmul --size 70,90,50 --repeat 3", "STARPU_SCHED=greedy");
    CHECK(object.at("app") == "matmul");
    CHECK(object.at("size") == json({70, 90, 50}));
    CHECK(object.at("type") == "float");
    CHECK(object.at("policy") == "greedy");
    CHECK(object.at("seconds") > 0.0);
    CHECK(object.at("gflops").get<double>() == Approx(2e-9 * 70 * 90 * 50 / object.at("seconds").get<double>()));
    CHECK(object.at("runs").size() == 3);
    CHECK(object.at("verified") == true);
    CHECK(object.at("max_error") <= object.at("tolerance"));
    std::int64_t units = 0;
    for (const json& processor : object.at("report").at("processors"))
        units += processor.at("units").get<std::int64_t>();
    CHECK(units == 90);
}

TEST_CASE("without verification matmul claims none") {
    const AppFolder folder;
    const json object = folder.json("matmul --size 20 --no-verify");
    CHECK(object.at("verified").is_null());
    CHECK(object.at("max_error").is_null());
}

TEST_CASE("matmul's table names the policy, the processors and the verification") {
    const AppFolder folder;
    check_says(folder.run("matmul --size 64 --type double", "STARPU_SCHED=equal"),
               {"64 x 64", "double", "equal", "GFLOP/s", "CPU 0", "idle", "verified: yes"});
}

TEST_CASE("an application tells its version") {
    const AppFolder folder;
    const Result result = folder.run("matmul --version");
    CHECK(result.status == 0);
    CHECK(result.out.starts_with("matmul 0."));
}

TEST_CASE("under auto an application's table says what was chosen and why") {
    const AppFolder folder;
    check_says(folder.run("matmul --size 64", "STARPU_SCHED=auto"), {"chose plb-hec: there is no recorded profile"});
}

TEST_CASE("a misspelt option of an application gets the nearest one as advice") {
    const AppFolder folder;
    const Result result = folder.run("matmul --szie=64");
    CHECK(result.status == 2);
    CHECK_THAT(result.err, ContainsSubstring("--szie=64 (did you mean --size?)"));
}

TEST_CASE("an empty value of an option of an application is refused") {
    const AppFolder folder;
    for (const char* option : {"--size", "--out", "--type"}) {
        const Result result = folder.run(std::string("matmul ") + option + " ''");
        CHECK(result.status == 2);
        CHECK_THAT(result.err, ContainsSubstring(std::string(option) + ": "));
    }
    CHECK_THAT(folder.run("jacobi --out ''").err,
               ContainsSubstring("--out: its value is empty; give one, or leave the option out"));
}

TEST_CASE("a result that standard output cannot take is a failure") {
    const AppFolder folder;
    for (const char* command : {"matmul --size 20", "matmul --size 20 --json", "matmul --help", "matmul --version",
                                "hello_blocks", "hello_blocks --json"}) {
        const Result result = folder.run(std::string(command) + " 1>/dev/full 2>complaint #");
        INFO(command);
        CHECK(result.status == 1);
        CHECK(folder.read("complaint").find("standard output cannot be written: ") != std::string::npos);
    }
}

TEST_CASE("matmul times one OpenBLAS call in turn with the load") {
    const AppFolder folder;
    const json object = folder.json("matmul --size 96 --peer");
    CHECK(object.at("runs").size() == 5);
    CHECK(object.at("peer").at("runs").size() == 5);
    CHECK(object.at("peer").at("speed_ratio").get<double>() ==
          Approx(object.at("peer").at("seconds").get<double>() / object.at("seconds").get<double>()));
}

TEST_CASE("matmul computes the rectangles of a plan, and refuses what is none") {
    const AppFolder folder;
    const std::string command = "matmul --size 40,30,20 --rectangles plan.json";
    folder.write("plan.json", plan_of(4, {{"CPU 1", {{0, 0, 3, 4}}}, {"CPU 0", {{3, 0, 1, 4}}}}));
    const json object = folder.json(command, "STARPU_NCPU=2");
    CHECK(object.at("verified") == true);
    const json& report = object.at("report");
    CHECK(report.at("processors").at(0).at("rectangles") == json({{30, 0, 10, 30}}));
    CHECK(report.at("processors").at(1).at("units") == 30 * 30);
    CHECK(report.at("elements_read") == 20 * (30 + 30 + 10 + 30));
    CHECK(report.at("elements_read_in_whole_columns") == 20 * (2 * 40 + 30));
    CHECK(folder.run(command, "STARPU_NCPU=2")
              .out.find("processors read 2000 elements of A and B; in whole columns of C they would read 2200\n") !=
          std::string::npos);

    const auto check_plan = [&](const std::string& plan, const std::string& why) {
        folder.write("plan.json", plan);
        check_refused(folder.run(command, "STARPU_NCPU=2"), why);
    };
    folder.write("plan.json", plan_of(4, {{"CPU 0+CPU 1", {{0, 0, 3, 4}}}, {"CPU 0", {{3, 0, 1, 4}}}}));
    CHECK(folder.run(command, "STARPU_NCPU=2").out.find("verified: yes") != std::string::npos);
    check_plan(plan_of(4, {{"CPU 0+CPU 7", {{0, 0, 4, 4}}}}), "has no worker 'CPU 7' here");
    check_plan(plan_of(4, {{"CPU 1", {{0, 0, 3, 4}}}, {"card", {{3, 0, 1, 4}}}}), "has no worker 'card' here");
    check_plan(plan_of(4, {{"CPU 1", {{0, 0, 3, 4}}}, {"CPU 0", {{3, 0, 1, 3}}}}), "are not the whole matrix");
    check_plan(plan_of(4, {{"CPU 1", {{0, 0, 3, 4}}}, {"CPU 0", {{2, 0, 1, 4}}}}), "two rectangles overlap");
    check_plan(plan_of(4, {{"CPU 1", {{0, 0, 3, 4}, {2, 3, 2, 1}}}, {"CPU 0", {{3, 0, 1, 3}}}}),
               "two rectangles overlap");
    check_plan(plan_of(4, {{"CPU 1", {{0, 0, 3, 4}}}, {"CPU 0", {{4, 0, 1, 4}}}}), "is not within the matrix");
    check_plan(plan_of(4, {{"CPU 1", {{0, 0, 3, 4}}}, {"CPU 0", {{3, 0, -1, 4}}}}), "is no plan of a matrix");
    check_plan(plan_of(4, {{"CPU 1", {{0, 0, 3, 4}}}}).substr(2), "is no plan of a matrix");
    check_plan(R"({"units": 16, "shares": [{"processor": "CPU 0", "rectangles": 4}]})", "is no plan of a matrix");
    check_plan(R"({"units": 16.9, "shares": []})", "is no plan of a matrix");
    check_plan(R"({"units": 1e300, "shares": []})", "is no plan of a matrix");
    check_refused(folder.run("matmul --size 4 --rectangles none.json"), "cannot be opened");
    check_refused(folder.run("matmul --size 4 --peer --rectangles plan.json"), "excludes");
}

TEST_CASE("a processor whose part is no rectangle reads a row or column of it once") {
    const AppFolder folder;
    // Square corners of two processors.
    folder.write("plan.json", plan_of(4, {{"CPU 0", {{0, 1, 1, 3}, {1, 0, 2, 4}, {3, 0, 1, 3}}},
                                          {"CPU 1", {{0, 0, 1, 1}}},
                                          {"CPU 2", {{3, 3, 1, 1}}}}));
    const json object = folder.json("matmul --size 80 --repeat 2 --rectangles plan.json", "STARPU_NCPU=3");
    CHECK(object.at("verified") == true);
    CHECK(object.at("report").at("elements_read") == 80 * 20 * 12);
    for (std::size_t w = 0; w < 3; ++w)
        CHECK(object.at("report").at("processors").at(w).at("blocks") == std::array{7, 1, 1}[w]);
}

TEST_CASE("matmul multiplies matrices from files into a file") {
    const AppFolder folder;
    Matrix a(ElementType::float64, 2, 3), b(ElementType::float64, 3, 2);
    for (std::size_t i = 0; i < 2; ++i)
        for (std::size_t l = 0; l < 3; ++l) {
            *static_cast<double*>(a.at(i, l)) = static_cast<double>(1 + 3 * i + l);
            *static_cast<double*>(b.at(l, i)) = static_cast<double>(7 + 2 * l + i);
        }
    write_npy(folder.file("a.npy"), a);
    write_npy(folder.file("b.npy"), b);
    REQUIRE(folder.run("matmul --a a.npy --b b.npy --out c.npy").status == 0);
    const Matrix c = read_npy(folder.file("c.npy"));
    REQUIRE(c.rows() == 2);
    REQUIRE(c.columns() == 2);
    // [1 2 3; 4 5 6] [7 8; 9 10; 11 12] = [58 64; 139 154]
    CHECK(element(c, 0, 0) == 58);
    CHECK(element(c, 0, 1) == 64);
    CHECK(element(c, 1, 0) == 139);
    CHECK(element(c, 1, 1) == 154);

    write_npy(folder.file("single.npy"), Matrix(ElementType::float32, 3, 2));
    const std::string a_file = "matmul --a a.npy --b ";
    check_refused(folder.run(a_file + "a.npy"), "columns of A must be as many as the rows of B");
    check_refused(folder.run(a_file + "single.npy"), "different element types");
    check_refused(folder.run(a_file + "none.npy"), "cannot be opened");
    check_refused(folder.run(a_file + "/dev/null"), "is not a regular file");
    check_refused(folder.run("matmul --a a.npy"), "--a requires --b");
    check_refused(folder.run("matmul --size 3 --a a.npy --b b.npy"), "excludes");
    check_refused(folder.run("matmul --a a.npy --b b.npy --out none/c.npy"), "there is no folder");
    check_refused(folder.run("matmul --a a.npy --b b.npy --out /dev/null"), "is not a regular file");
}

TEST_CASE("a result does not depend on the policy or on handicaps") {
    const AppFolder folder;
    const std::string command = "matmul --size 80,77,50 --seed 5 --out c.npy";
    REQUIRE(folder.run(command, "STARPU_SCHED=equal").status == 0);
    const Matrix expected = read_npy(folder.file("c.npy"));
    for (const char* environment :
         {"STARPU_SCHED=plb-hec", "STARPU_SCHED=dmda", "STARPU_SCHED=greedy APPORTION_HANDICAP=0=3"}) {
        INFO(environment);
        REQUIRE(folder.run(command, environment).status == 0);
        const Matrix c = read_npy(folder.file("c.npy"));
        double worst = 0;
        for (std::size_t j = 0; j < c.columns(); ++j)
            for (std::size_t i = 0; i < c.rows(); ++i)
                worst = std::max(worst, std::abs(element(c, i, j) - element(expected, i, j)));
        CHECK(worst < 1e-4);
    }
}

TEST_CASE("sizes that make no product are refused") {
    const AppFolder folder;
    for (const char* size :
         {"0", "-5", "5x", "1.5", "x", "''", "1,2", "1,2,3,4", "1,0,3", ",", "99999999999999999999"}) {
        INFO(size);
        check_refused(folder.run(std::string("matmul --size=") + size), "--size");
    }
    check_refused(folder.run("matmul"), "give --size");
    check_refused(folder.run("matmul --size 3000000000"), "is too large");
    check_refused(folder.run("matmul --size 2000000000"), "does not fit any address space");
    check_refused(folder.run("matmul --size 10000000"), "choose a smaller size");
}

TEST_CASE("options and environment that make no sense are refused") {
    const AppFolder folder;
    check_refused(folder.run("matmul --size 8 --type half"), "--type");
    check_refused(folder.run("matmul --size 8 --repeat 0"), "--repeat");
    check_refused(folder.run("matmul --size 8 --bogus"), "--bogus");
    check_refused(folder.run("matmul --size 8", "STARPU_SCHED=nonsense"), "nonsense is not a known scheduler");
    check_refused(folder.run("matmul --size 8", "STARPU_NCPU=0 STARPU_NCUDA=0 STARPU_NOPENCL=0"), "no worker");
    check_refused(folder.run("matmul --size 8", "APPORTION_HANDICAP=99=2"), "there is no worker 99");
    check_refused(folder.run("hello_blocks", "STARPU_SCHED=nonsense"), "nonsense is not a known scheduler");
    check_refused(folder.run("hello_blocks --bogus"), "usage");
}

TEST_CASE("hello_blocks verifies itself under every kind of scheduler") {
    const AppFolder folder;
    for (const char* scheduler : {"equal", "greedy", "plb-hec", "eager", "lws"}) {
        const json object = folder.json("hello_blocks", std::string("STARPU_SCHED=") + scheduler);
        CHECK(object.at("app") == "hello_blocks");
        CHECK(object.at("policy") == scheduler);
        CHECK(object.at("verified") == true);
        CHECK(object.at("report").at("units") == 1 << 20);
    }
    CHECK(folder.run("hello_blocks").out.find("verified: true") != std::string::npos);
}
