// SPDX-License-Identifier: LGPL-2.1-or-later
// The fft2d workloads inside StarPU, under the scheduler that STARPU_SCHED names.
#include "codelets/fft2d/fft2d.hpp"

#include <starpu.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>
#include <vector>

#include "codelets/fft2d/fft2d_kernels.hpp"
#include "codelets/fft2d/fft_rows.hpp"
#include "test/catch.hpp"
#include "test/folder.hpp"

using namespace apportion;

namespace {

using Complex = std::complex<double>;

struct Shape {
    std::size_t rows, columns;
};

Complex at(const Matrix& by_rows, std::size_t i, std::size_t j) {
    const void* element = by_rows.at(j, i);
    if (by_rows.type() == ElementType::complex128) return *static_cast<const Complex*>(element);
    const auto single = *static_cast<const std::complex<float>*>(element);
    return {single.real(), single.imag()};
}

/// Row and column sums by the definition, in O(MN (M + N)).
std::vector<Complex> defined_transform(const Fft2dProblem& p) {
    const std::size_t m = p.rows(), n = p.columns();
    const double sign = p.inverse ? 2 : -2, scale = p.inverse ? 1.0 / static_cast<double>(m * n) : 1;
    const auto root = [&](std::size_t k, std::size_t of) {
        return std::polar(1.0, sign * std::numbers::pi * static_cast<double>(k % of) / static_cast<double>(of));
    };
    std::vector<Complex> rows(m * n), all(m * n);
    for (std::size_t i = 0; i < m; ++i)
        for (std::size_t q = 0; q < n; ++q)
            for (std::size_t j = 0; j < n; ++j) rows[i * n + q] += at(p.input, i, j) * root(j * q, n);
    for (std::size_t r = 0; r < m; ++r)
        for (std::size_t q = 0; q < n; ++q)
            for (std::size_t i = 0; i < m; ++i) all[r * n + q] += scale * rows[i * n + q] * root(i * r, m);
    return all;
}

/// Both passes as loads, `times` times, each verified.
void transform(const std::shared_ptr<Fft2dProblem>& problem, FftPlanning planning = FftPlanning::estimate,
               int times = 1) {
    const auto rows = make_fft2d_pass(problem, Fft2dPass::rows, planning);
    const auto columns = make_fft2d_pass(problem, Fft2dPass::columns, planning);
    Load loads[] = {Load(load_options(*rows)), Load(load_options(*columns))};
    for (int run = 0; run < times; ++run) {
        rows->spoil_result();
        columns->spoil_result();
        for (Load& load : loads) load.run();
        CHECK(rows->verify().correct);
        CHECK(columns->verify().correct);
    }
}

double energy(const Matrix& by_rows) {
    double sum = 0;
    for (std::size_t i = 0; i < by_rows.columns(); ++i)
        for (std::size_t j = 0; j < by_rows.rows(); ++j) sum += std::norm(at(by_rows, i, j));
    return sum;
}

}  // namespace

TEST_CASE("matrices of any shape and type are transformed as the definition says") {
    for (const ElementType type : {ElementType::complex64, ElementType::complex128})
        for (const bool inverse : {false, true})
            for (const auto& [m, n] :
                 {Shape{1, 1}, Shape{1, 7}, Shape{13, 1}, Shape{16, 16}, Shape{31, 37}, Shape{64, 33}, Shape{9, 100}}) {
                INFO(m << " x " << n);
                const auto problem = std::make_shared<Fft2dProblem>(random_fft2d(type, m, n, 3));
                problem->inverse = inverse;
                transform(problem);
                const std::vector<Complex> expected = defined_transform(*problem);
                double worst = 0;
                for (std::size_t i = 0; i < m; ++i)
                    for (std::size_t j = 0; j < n; ++j)
                        worst = std::max(worst, std::abs(at(problem->output, i, j) - expected[i * n + j]));
                CHECK(worst < (type == ElementType::complex64 ? 1e-4 : 1e-12));
            }
}

TEST_CASE("a transform keeps the energy, and its inverse gives the matrix back") {
    const auto there = std::make_shared<Fft2dProblem>(random_fft2d(ElementType::complex128, 96, 250, 5));
    transform(there, FftPlanning::estimate, 2);
    CHECK(energy(there->output) == Approx(96 * 250 * energy(there->input)).epsilon(1e-12));
    auto back = std::make_shared<Fft2dProblem>(random_fft2d(ElementType::complex128, 96, 250, 5));
    for (std::size_t i = 0; i < 96; ++i)
        std::memcpy(back->input.at(0, i), there->output.at(0, i), 250 * sizeof(Complex));
    back->inverse = true;
    transform(back);
    double worst = 0;
    for (std::size_t i = 0; i < 96; ++i)
        for (std::size_t j = 0; j < 250; ++j)
            worst = std::max(worst, std::abs(at(back->output, i, j) - at(there->input, i, j)));
    CHECK(worst < 1e-13);
}

TEST_CASE("what measured plans were is kept for each type of numbers") {
    const Folder cache;
    const Setting here("XDG_CACHE_HOME", cache.path());
    for (const FftPlanning planning : {FftPlanning::estimate, FftPlanning::measure}) {
        CHECK_FALSE(std::filesystem::exists(fft_wisdom_file("fftwf-wisdom")));
        transform(std::make_shared<Fft2dProblem>(random_fft2d(ElementType::complex64, 60, 48, 8)), planning);
    }
    CHECK(std::filesystem::exists(fft_wisdom_file("fftwf-wisdom")));
    CHECK_FALSE(std::filesystem::exists(fft_wisdom_file("fftw-wisdom")));
}

TEST_CASE("rows are transformed wherever they lie, in batches of any size", "[once]") {
    constexpr std::size_t kLength = 50, kInLd = 56, kOtherLd = 53, kOutLd = 90, kMost = 83;
    const auto rows = make_fft_rows({.type = ElementType::complex64,
                                     .length = kLength,
                                     .in_ld = kInLd,
                                     .inverse = false,
                                     .planning = FftPlanning::estimate,
                                     .workers = 2});
    CHECK(rows->batch() > 1);
    std::vector<std::complex<float>> in(kInLd * kMost + 8), expected(kLength * kOutLd), out(kLength * kOutLd);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = {static_cast<float>(i % 17), static_cast<float>(i % 5)};
    for (const std::size_t count : {std::size_t{1}, rows->batch() - 1, rows->batch(), kMost})
        for (const std::size_t ld : {kInLd, kOtherLd})
            for (const std::size_t offset : {0, 1}) {
                const auto* const from = in.data() + offset;
                for (std::size_t i = 0; i < count; ++i)  // one by one, from the beginning of a batch
                    rows->run(0, from + i * ld, ld, expected.data() + i, kOutLd, 1);
                rows->run(1, from, ld, out.data(), kOutLd, count);
                double worst = 0;
                for (std::size_t j = 0; j < kLength; ++j)
                    for (std::size_t i = 0; i < count; ++i)
                        worst = std::max<double>(worst, std::abs(out[j * kOutLd + i] - expected[j * kOutLd + i]));
                CHECK(worst < 1e-3);
                CHECK(std::abs(out[0]) > 0);
            }
}

TEST_CASE("verification notices one element of many", "[once]") {
    const auto problem = std::make_shared<Fft2dProblem>(random_fft2d(ElementType::complex128, 40, 60, 1));
    fft2d_by_one_call(problem, 2, FftPlanning::estimate)();
    REQUIRE(verify_fft2d(*problem).correct);
    auto& wrong = *static_cast<Complex*>(problem->output.at(17, 33));
    SECTION("never computed") { wrong = std::nan(""); }
    SECTION("zero") { wrong = 0; }
    SECTION("conjugate") { wrong = std::conj(wrong); }
    CHECK_FALSE(verify_fft2d(*problem).correct);
}

TEST_CASE("a device's batch and memory follow the length of a row", "[once]") {
    CHECK(fft2d_device_batch(1 << 10, 16) == 1 << 12);
    CHECK(fft2d_device_batch(1000, 16) == 1 << 12);
    CHECK(fft2d_device_batch(1 << 30, 16) == 1);
    CHECK(fft2d_device_bytes_per_row(1000, 8) == 16000);
}
