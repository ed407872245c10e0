// SPDX-License-Identifier: LGPL-2.1-or-later
// The application fft2d as a program.
#include <complex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "codelets/io/npy.hpp"
#include "test/apps/run_app.hpp"
#include "test/catch.hpp"

using namespace apportion;
using nlohmann::json;

namespace {

using Complex = std::complex<double>;

void write_matrix(const std::string& path, std::size_t rows, const std::vector<Complex>& elements) {
    Matrix by_rows(ElementType::complex128, elements.size() / rows, rows);
    for (std::size_t k = 0; k < elements.size(); ++k)
        *static_cast<Complex*>(by_rows.at(k % by_rows.rows(), k / by_rows.rows())) = elements[k];
    write_npy_rows(path, by_rows, {rows, by_rows.rows()});
}

std::vector<Complex> read_elements(const std::string& path) {
    const Matrix by_rows = read_npy_rows(path, NpyElements::complex);
    std::vector<Complex> elements;
    for (std::size_t i = 0; i < by_rows.columns(); ++i)
        for (std::size_t j = 0; j < by_rows.rows(); ++j)
            elements.push_back(*static_cast<const Complex*>(by_rows.at(j, i)));
    return elements;
}

}  // namespace

TEST_CASE("fft2d --json prints one object, with a report of each pass") {
    const AppFolder folder;
    const json object = folder.json("fft2d --size 40,24 --type float --repeat 3");
    CHECK(object.at("app") == "fft2d");
    CHECK(object.at("size") == json({40, 24}));
    CHECK(object.at("type") == "complex64");
    CHECK(object.at("inverse") == false);
    CHECK(object.at("runs").size() == 3);
    CHECK(object.at("verified") == true);
    double seconds = 0;
    std::vector<int> rows;
    for (const json& part : object.at("report").at("parts")) {
        rows.push_back(part.at("units"));
        int units = 0;
        for (const json& processor : part.at("processors")) units += processor.at("units").get<int>();
        CHECK(units == rows.back());
        seconds += part.at("makespan_seconds").get<double>();
    }
    CHECK(rows == std::vector{40, 24});
    CHECK(object.at("seconds").get<double>() == Approx(seconds));
}

TEST_CASE("fft2d transforms a matrix from a file into a file, and back") {
    const AppFolder folder;
    const std::vector<Complex> matrix = {1, 2, Complex(0, 3), 4, Complex(5, 1), -6};
    write_matrix(folder.file("a.npy"), 2, matrix);
    REQUIRE(folder.run("fft2d --in a.npy --out b.npy").status == 0);
    const std::vector<Complex> transform = read_elements(folder.file("b.npy"));
    REQUIRE(transform.size() == 6);
    CHECK(std::abs(transform[0] - Complex(6, 4)) < 1e-14);                      // the sum of all
    CHECK(std::abs(transform[3] - Complex(1 + 2 - 4 - 5 + 6, 3 - 1)) < 1e-14);  // the rows' difference
    REQUIRE(folder.run("fft2d --inverse --in b.npy --out c.npy").status == 0);
    const std::vector<Complex> again = read_elements(folder.file("c.npy"));
    for (std::size_t k = 0; k < 6; ++k) CHECK(std::abs(again[k] - matrix[k]) < 1e-14);
    check_says(
        folder.run("fft2d --inverse --in b.npy", "STARPU_SCHED=plb-hec"),
        {"inverse of 2 x 3", "complex128", "plb-hec", "GFLOP/s", "3 units in", "2 units in", "CPU 1", "verified: yes"});
}

TEST_CASE("fft2d takes a handicap and one call of FFTW in turn") {
    const AppFolder folder;
    const json object = folder.json("fft2d --size 64 --peer --repeat 2", "APPORTION_HANDICAP=1=3");
    CHECK(object.at("verified") == true);
    CHECK(object.at("peer").at("runs").size() == 2);
}

TEST_CASE("fft2d refuses what is no matrix of complex numbers") {
    const AppFolder folder;
    check_refused(folder.run("fft2d"), "give --size");
    check_refused(folder.run("fft2d --size 3,4,5"), "give one size or M,N");
    check_refused(folder.run("fft2d --size 0"), "--size");
    check_refused(folder.run("fft2d --size 3000000000"), "is too large");
    check_refused(folder.run("fft2d --size 100000"), "choose a smaller size");
    check_refused(folder.run("fft2d --size 8", "APPORTION_HANDICP=1=3"), "APPORTION_HANDICAP");
    check_refused(folder.run("fft2d --size 8 --in x.npy"), "excludes");
    check_refused(folder.run("fft2d --size 8 --out /dev/null"), "is not a regular file");
    check_refused(folder.run("fft2d --in none.npy"), "cannot be opened");
    write_npy(folder.file("real.npy"), Matrix(ElementType::float64, 2, 2));
    check_refused(folder.run("fft2d --in real.npy"), "has real elements");
    write_matrix(folder.file("nan.npy"), 2, {1, 2, 3, 4, Complex(0, NAN), 6});
    check_refused(folder.run("fft2d --in nan.npy"), "the element in row 1, column 1 (from 0)");
    const Matrix vector(ElementType::complex64, 5, 1);
    write_npy_rows(folder.file("vector.npy"), vector, {5});
    check_refused(folder.run("fft2d --in vector.npy"), "a matrix with 2 dimensions is needed, and it has 1");
}
