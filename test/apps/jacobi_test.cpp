// SPDX-License-Identifier: LGPL-2.1-or-later
// The applications jacobi and jacobi_batch as programs.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "codelets/io/npy.hpp"
#include "codelets/jacobi/linear_system.hpp"
#include "test/apps/run_app.hpp"
#include "test/catch.hpp"
#include "test/codelets/plain_jacobi.hpp"

using namespace apportion;
using nlohmann::json;

namespace {

const std::string kMatrix =
    "%%MatrixMarket matrix coordinate real general\n"
    "5 5 7\n1 1 4\n2 2 5\n2 1 1\n3 3 -6\n4 4 8\n1 4 2\n5 5 1\n";

void write_array(const std::string& path, const std::vector<std::size_t>& shape, const std::vector<double>& values) {
    Matrix by_rows(ElementType::float64, shape.back(), values.size() / shape.back());
    for (std::size_t k = 0; k < values.size(); ++k)
        *static_cast<double*>(by_rows.at(k % shape.back(), k / shape.back())) = values[k];
    write_npy_rows(path, by_rows, shape);
}

std::vector<double> read_array(const std::string& path) {
    const Matrix by_rows = read_npy_rows(path, NpyElements::real);
    std::vector<double> values;
    for (std::size_t j = 0; j < by_rows.columns(); ++j)
        for (std::size_t i = 0; i < by_rows.rows(); ++i) values.push_back(element(by_rows, i, j));
    return values;
}

/// Of the plain loops, until no element changes by more than the tolerance times the largest.
std::size_t iterations_needed(const LinearSystem& system, double tolerance) {
    Matrix x(system.type(), system.n(), 1), x_new(system.type(), system.n(), 1);
    for (std::size_t k = 1;; ++k) {
        plain_jacobi_iteration(system, x, x_new);
        double step = 0, size = 0;
        for (std::size_t i = 0; i < system.n(); ++i) {
            double& from = *static_cast<double*>(x.at(i, 0));
            const double to = element(x_new, i, 0);
            step = std::max(step, std::abs(to - from));
            size = std::max(size, std::abs(to));
            from = to;
        }
        if (step <= tolerance * size) return k;
    }
}

}  // namespace

TEST_CASE("jacobi --json tells convergence, the time of an iteration and the imbalance of each") {
    const AppFolder folder;
    const json object = folder.json("jacobi --size 90 --tolerance 0.01 --peer --repeat 2", "STARPU_SCHED=plb-hec");
    CHECK(object.at("app") == "jacobi");
    CHECK(object.at("size") == 90);
    CHECK(object.at("sparse") == false);
    CHECK(object.at("converged") == true);
    CHECK(object.at("verified") == true);
    CHECK(object.at("runs").size() == 2);
    CHECK(object.at("peer").at("runs").size() == 2);
    const std::size_t iterations = iterations_needed(random_system(ElementType::float64, 90, 1), 0.01);
    CHECK(iterations > 1);
    CHECK(object.at("iterations") == iterations);
    CHECK(object.at("imbalance_percent").size() == iterations);
    CHECK(object.at("report").at("units") == 90);
    CHECK(object.at("report").at("run") == 2 * iterations);
}

TEST_CASE("jacobi solves systems from Matrix Market and .npy files") {
    const AppFolder folder;
    folder.write("a.mtx", kMatrix);
    REQUIRE(folder.run("jacobi --a a.mtx --out x.npy").status == 0);
    for (const double x : read_array(folder.file("x.npy"))) CHECK(x == Approx(1).epsilon(1e-9));

    folder.write("b.mtx", "%%MatrixMarket matrix array real general\n5 1\n6\n7\n-6\n8\n1\n");
    const std::string files = "jacobi --a a.mtx --b ";
    REQUIRE(folder.run(files + "b.mtx --out x.npy").status == 0);
    CHECK(read_array(folder.file("x.npy"))[1] == Approx(6.0 / 5).epsilon(1e-9));
    write_array(folder.file("b.npy"), {5}, {0, 0, 0, 0, 0});
    CHECK(folder.run(files + "b.npy --iterations 3").status == 0);
    write_array(folder.file("b.npy"), {5}, {6, 7, -6, 8, 1});
    const json object = folder.json(files + "b.npy");
    CHECK(object.at("sparse") == true);

    write_array(folder.file("a.npy"), {2, 2}, {2, 1, -1, 4});
    write_array(folder.file("b2.npy"), {2, 1}, {4, 7});
    REQUIRE(folder.run("jacobi --a a.npy --b b2.npy --out x.npy").status == 0);
    CHECK(read_array(folder.file("x.npy"))[0] == Approx(1).epsilon(1e-9));
    CHECK(read_array(folder.file("x.npy"))[1] == Approx(2).epsilon(1e-9));
}

TEST_CASE("jacobi's table shows iterations and imbalance") {
    const AppFolder folder;
    check_says(folder.run("jacobi --size 50 --type float --iterations 9", "APPORTION_HANDICAP=1=3"),
               {"50 x 50", "float", "9 iterations", "imbalance", "verified: yes"});
}

TEST_CASE("jacobi says why a system is not solved") {
    const AppFolder folder;
    const auto refused = [&](const std::string& matrix, const std::string& reason, int status = 2,
                             const std::string& options = "") {
        folder.write("bad.mtx", matrix);
        check_refused(folder.run("jacobi --a bad.mtx" + options), reason, status);
    };
    const std::string array = "%%MatrixMarket matrix array real general\n";
    refused(array + "2 2\n1\n2\n2\n1\n", "diverged after", 1);
    refused(array + "2 2\n1\n2\n2\n1\n", "row 1 (from 1) is not diagonally dominant: 1 on the diagonal, 2 beside", 1);
    // Neither grows nor shrinks; so does a singular one.
    refused(array + "2 2\n1\n1\n-1\n1\n", "has not converged after 50 iterations", 1, " --limit 50");
    refused(array + "2 2\n1\n1\n1\n1\n",
            "has not converged after 1001 iterations (x changed by 2 in the last, 2e-10 is needed): row 1", 1);
    refused(array + "2 2\n0\n2\n2\n1\n", "a zero on the diagonal of row 1");
    refused(array + "2 3\n1\n2\n2\n1\n5\n6\n", ":2: the matrix is 2 x 3");
    write_array(folder.file("a.npy"), {2, 3}, {1, 2, 3, 4, 5, 6});
    check_refused(folder.run("jacobi --a a.npy"), "must be square, and is 2 x 3");
    write_array(folder.file("a.npy"), {2, 2}, {1, 0, NAN, 4});
    check_refused(folder.run("jacobi --a a.npy"), "row 2, column 1 (from 1) is not finite");
    folder.write("a.mtx", kMatrix);
    const std::string files = "jacobi --a a.mtx --b ";
    write_array(folder.file("b.npy"), {3}, {1, 2, 3});
    check_refused(folder.run(files + "b.npy"), "has 3 elements, but");
    write_array(folder.file("b.npy"), {5}, {1, 2, 3, NAN, 5});
    check_refused(folder.run(files + "b.npy"), "b.npy: the element in row 0, column 3 (from 0) is not finite");
    write_npy_rows(folder.file("b.npy"), Matrix(ElementType::float32, 5, 1), {5});
    check_refused(folder.run(files + "b.npy"), "another element type");
    folder.write("empty", "");
    check_refused(folder.run("jacobi --a empty"), "is not a .npy file");
    check_refused(folder.run("jacobi"), "give --size");
    check_refused(folder.run("jacobi --size 3,4"), "give one number of unknowns");
    check_refused(folder.run("jacobi --size 0"), "--size");
    check_refused(folder.run("jacobi --size 4 --b x"), "--b requires --a");
    check_refused(folder.run("jacobi --size 1000000"), "choose a smaller size");
}

TEST_CASE("jacobi_batch solves many systems, generated or from files") {
    const AppFolder folder;
    const json object = folder.json("jacobi_batch --size 7,20 --iterations 60", "STARPU_SCHED=plb-hec");
    CHECK(object.at("size") == json({7, 20, 60}));
    CHECK(object.at("residual") < std::pow(1.1, -60) * 1.01);
    CHECK(object.at("verified") == true);
    CHECK(object.at("report").at("units") == 7);
    CHECK(json::parse(folder.run("jacobi_batch --size 5 --json --iterations 3").out).at("size") == json({64, 5, 3}));

    write_array(folder.file("a.npy"), {2, 2, 2}, {2, 1, -1, 4, 5, 0, 0, 10});
    write_array(folder.file("b.npy"), {2, 2}, {4, 7, 5, 5});
    const std::string files = "jacobi_batch --a a.npy --b b.npy";
    REQUIRE(folder.run(files + " --peer --repeat 1 --out x.npy").status == 0);
    const std::vector<double> x = read_array(folder.file("x.npy"));
    REQUIRE(x.size() == 4);
    CHECK(x[0] == Approx(1));
    CHECK(x[1] == Approx(2));
    CHECK(x[2] == Approx(1));
    CHECK(x[3] == Approx(0.5));

    write_array(folder.file("a.npy"), {2, 2, 2}, {2, 1, -1, 4, 1, 2, 2, 1});
    check_refused(folder.run(files), "system 2 (from 1) diverged within 1300 iterations", 1);
    write_array(folder.file("a.npy"), {2, 2, 2}, {2, 1, -1, 4, 1, 1, 1, 1});
    check_refused(folder.run(files), "system 2 (from 1) has come no closer to a solution in 1300 iterations", 1);
    write_array(folder.file("a.npy"), {2, 2, 2}, {2, 1, -1, 4, 5, 0, 0, 0});
    check_refused(folder.run(files), "a zero on the diagonal of system 2, row 2");
    write_array(folder.file("a.npy"), {2, 2, 2}, {2, 1, -1, 4, 5, NAN, 0, 1});
    check_refused(folder.run(files), "system 2, row 1 (both from 1) has an element that is not finite");
    write_array(folder.file("a.npy"), {2, 2, 1}, {2, 1, -1, 4});
    check_refused(folder.run(files), "must have 3 dimensions");
    write_array(folder.file("a.npy"), {1, 2, 2}, {2, 1, -1, 4});
    check_refused(folder.run(files), "must be a matrix of 1 x 2");
    check_refused(folder.run("jacobi_batch"), "give --size");
    check_refused(folder.run("jacobi_batch --size 1,2,3"), "systems and unknowns");
    check_refused(folder.run("jacobi_batch --size 3 --iterations 0"), "--iterations");
    check_refused(folder.run("jacobi_batch --size 99999,9999"), "choose a smaller size");
}
