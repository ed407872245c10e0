// SPDX-License-Identifier: LGPL-2.1-or-later
// The CUDA kernels, as C++ on the host, compute what the CPU kernels compute.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "codelets/blackscholes/blackscholes.hpp"
#include "codelets/blackscholes/blackscholes_kernels.hpp"
#include "codelets/common/codelet.hpp"
#include "codelets/common/device_worker.hpp"
#include "codelets/grn/grn.hpp"
#include "codelets/jacobi/jacobi_kernels.hpp"
#include "codelets/mpdata/mpdata.hpp"
#include "test/catch.hpp"
#include "test/codelets/cuda/buffers.hpp"
#include "test/codelets/cuda/stand_in.hpp"

using namespace apportion;

namespace {

template <class T>
starpu_matrix_interface matrix(const T* data, std::size_t nx, std::size_t ny, std::size_t ld) {
    starpu_matrix_interface m = matrix_buffer(data, nx, ny, sizeof(T));
    m.ld = static_cast<std::uint32_t>(ld);
    return m;
}
template <class T>
starpu_vector_interface vector(const T* data, std::size_t count) {
    return vector_buffer(data, count, sizeof(T));
}

/// Of kernels that take what is left one after the other, as they do beyond the largest grid of CUDA.
unsigned largest_grid = ~0u;

template <class... Buffers>
void run(void (*function)(void* buffers[], void* arg), void* arg, Buffers... buffers) {
    stand_in::reset();
    stand_in::state().memory_exists = true;
    stand_in::state().largest_grid = largest_grid;
    void* pointers[] = {&buffers...};
    function(pointers, arg);
    CHECK(stand_in::state().failures == std::vector<std::string>{});
    forget_device_workers();
    CHECK(stand_in::state().problems == std::vector<std::string>{});
}

/// Something between -1 and 1.
double some(std::size_t i) { return std::sin(static_cast<double>(i * i % 1009)); }

template <class T>
void check_close(const std::vector<T>& found, const std::vector<T>& expected) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
        if (!(std::abs(found[i] - expected[i]) <= 50 * std::numeric_limits<T>::epsilon()))
            FAIL_CHECK(i << ": " << found[i] << " instead of " << expected[i]);
}

template <class T>
void check_change(const JacobiChange<T>& found, const JacobiChange<T>& expected) {
    CHECK(found.step == Approx(expected.step));
    CHECK(found.size == Approx(expected.size));
}

template <class T>
void check_dense(std::size_t n, std::size_t rows) {
    INFO(n << " unknowns, " << rows << " rows");
    std::vector<T> a(n * rows), x(n), x_new(rows), expected(rows);
    std::vector<JacobiTerms<T>> terms(rows);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(some(i) / static_cast<double>(n));
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(some(7 * i));
    for (std::size_t i = 0; i < rows; ++i) terms[i] = {static_cast<T>(some(3 * i)), T(2)};
    JacobiChange<T> change, expected_change;
    jacobi_dense({a.data(), n, rows, n, terms.data(), x.data(), x.data(), expected.data(), &expected_change});
    run(jacobi_dense_cuda, nullptr, matrix(a.data(), n, rows, n), vector(terms.data(), rows), vector(x.data(), n),
        vector(x.data(), rows), vector(x_new.data(), rows), vector(&change, 1));
    check_close(x_new, expected);
    check_change(change, expected_change);
}

template <class T>
void check_batch(std::size_t n, std::size_t systems, std::uint64_t iterations) {
    INFO(n << " unknowns, " << systems << " systems, " << iterations << " iterations");
    std::vector<T> a(n * n * systems), b(n * systems), x(n * systems, T(-1)), expected(n * systems);
    for (std::size_t i = 0; i < a.size(); ++i)
        a[i] = i / n % n == i % n ? T(2) : static_cast<T>(some(i) / static_cast<double>(n));
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(some(5 * i));
    jacobi_batch(BatchSystems<T>{a.data(), n, b.data(), n, expected.data(), n, n, systems, iterations});
    run(jacobi_batch_cuda, &iterations, matrix(a.data(), n, n * systems, n), matrix(b.data(), n, systems, n),
        matrix(x.data(), n, systems, n));
    check_close(x, expected);
}

void check_time_steps(int steps) {
    MpdataField field(20, {9, 140, steps});
    rotating_body(field, MpdataBody::cone, 0.9);
    MpdataGrid g = field.grid();
    const int first = 4, planes = 11;
    const std::size_t read = planes + 2 * static_cast<std::size_t>(g.halo());
    std::vector<double> result(planes * g.plane(), std::nan("")), expected(result.size());
    const double* const psi = field.plane(first - g.halo());
    const double* const courant = field.courant_planes(first - g.halo());
    mpdata_advance(g, psi, courant, expected.data(), planes);
    run(mpdata_cuda, &g, matrix(psi, g.plane(), read, g.plane()), matrix(courant, 3 * g.plane(), read, 3 * g.plane()),
        matrix(result.data(), g.plane(), planes, g.plane()));
    CHECK((result == expected));
}

void check_prices(ElementType type, std::uint64_t paths) {
    BlackScholesProblem p = random_blackscholes(type, 600, {paths, 3});
    price_by_one_call(p);
    Matrix results = blackscholes_results(type, 600, p.parameters);
    fill_nan(results);
    KernelArgument argument{{0, 600, 0, 0}, &p.parameters};
    const auto interface = [&]<class T>(const Matrix& m, T) {
        return matrix(static_cast<const T*>(m.at(0, 0)), m.rows(), m.columns(), m.ld());
    };
    if (type == ElementType::float32)
        run(blackscholes_cuda, &argument, interface(p.options, 0.f), interface(results, 0.f));
    else
        run(blackscholes_cuda, &argument, interface(p.options, 0.), interface(results, 0.));
    // The host's fused operations are a library's here; the device's and the CPU kernel's are instructions.
    for (std::size_t column = 0; column < results.columns(); ++column)
        for (std::size_t i = 0; i < 600; ++i)
            CHECK(element(results, i, column) == Approx(element(p.results, i, column)).epsilon(1e-5));
}

class LargestGrid {
  public:
    explicit LargestGrid(unsigned blocks) { largest_grid = blocks; }
    ~LargestGrid() { largest_grid = ~0u; }
    LargestGrid(const LargestGrid&) = delete;
    LargestGrid& operator=(const LargestGrid&) = delete;
};

}  // namespace

TEST_CASE("Kernels whose grid is too small for all there is to do do it all") {
    const LargestGrid grid(3);
    check_dense<double>(20, 300);
    check_batch<double>(20, 10, 3);
    check_batch<double>(70, 2, 3);
    check_time_steps(1);
    check_prices(ElementType::float64, 50);
    check_prices(ElementType::float64, 0);
}

TEST_CASE("Dense rows of a Jacobi iteration and their change") {
    check_dense<float>(50, 9);
    check_dense<double>(300, 300);
    check_dense<double>(1, 1);
}

TEST_CASE("Sparse rows of a Jacobi iteration and their change") {
    for (const std::size_t rows : {1u, 40u, 1000u}) {
        INFO(rows << " rows");
        std::vector<std::int64_t> start{1000};  // of a block in the middle
        std::vector<std::int32_t> columns;
        std::vector<double> values, x(rows), x_new(rows), expected(rows);
        std::vector<JacobiTerms<double>> terms(rows);
        for (std::size_t i = 0; i < rows; ++i) {
            for (std::size_t k = 0; k < i % 13; ++k) {
                columns.push_back(static_cast<std::int32_t>((i * 31 + k * 17) % rows));
                values.push_back(some(i + k) / 13);
            }
            start.push_back(1000 + static_cast<std::int64_t>(values.size()));
            terms[i] = {some(3 * i), 2};
            x[i] = some(7 * i);
        }
        JacobiChange<double> change, expected_change;
        jacobi_sparse({start.data(), columns.data(), values.data(), rows, terms.data(), x.data(), x.data(),
                       expected.data(), &expected_change});
        run(jacobi_sparse_cuda, nullptr, vector(start.data(), rows + 1), vector(columns.data(), columns.size()),
            vector(values.data(), values.size()), vector(terms.data(), rows), vector(x.data(), rows),
            vector(x.data(), rows), vector(x_new.data(), rows), vector(&change, 1));
        check_close(x_new, expected);
        check_change(change, expected_change);
    }
}

TEST_CASE("A change that is not a number stays one") {
    const double nan = std::nan("");
    const JacobiTerms<double> terms[3] = {{1, 2}, {nan, 2}, {3, 2}};
    const double a[3] = {}, x[1] = {};
    double x_old[3] = {}, x_new[3];
    JacobiChange<double> change;
    run(jacobi_dense_cuda, nullptr, matrix(a, 1, 3, 1), vector(terms, 3), vector(x, 1), vector(x_old, 3),
        vector(x_new, 3), vector(&change, 1));
    CHECK(std::isnan(change.step));
    CHECK(std::isnan(change.size));
}

TEST_CASE("Batches of systems that a cache keeps, and of larger ones") {
    for (const std::uint64_t iterations : {0u, 1u, 4u}) {
        check_batch<float>(3, 5, iterations);
        check_batch<float>(90, 2, iterations);
        check_batch<double>(64, 3, iterations);
        check_batch<float>(150, 2, iterations);
    }
    check_batch<double>(70, 1, 5);
}

TEST_CASE("Time steps of MPDATA, bit for bit") {
    for (const int steps : {1, 2, 3}) check_time_steps(steps);
}

TEST_CASE("The sets of predictors, and their scores bit for bit") {
    for (const std::uint32_t levels : {2u, 3u})
        for (const std::size_t samples : {100u, 1200u}) {  // with a table in shared memory and without
            GrnOptions options;
            options.levels = levels;
            options.targets = 3;
            GrnProblem p = make_grn_problem(random_expression(45, samples, 3, levels, 3), options);
            search_by_one_call(p);
            const std::vector<PredictorSet> expected = p.results;
            p.results.assign(expected.size(), {});
            const std::size_t words = p.parameters.target_words(), targets = p.target_count();
            starpu_vector_interface records = vector(p.targets.data(), targets);
            records.elemsize *= words;
            run(grn_cuda, &p.parameters, vector(p.candidates.data(), p.candidates.size()),
                vector(p.nlogn.data(), p.nlogn.size()), records, vector(p.results.data(), targets));
            for (std::size_t t = 0; t < targets; ++t) {
                INFO(levels << " levels, target " << t);
                CHECK(p.results[t].first == expected[t].first);
                CHECK(p.results[t].second == expected[t].second);
                CHECK(p.results[t].score == expected[t].score);
            }
        }
}

TEST_CASE("Prices of options") {
    for (const std::uint64_t paths : {0u, 1000u})
        for (const ElementType type : {ElementType::float32, ElementType::float64}) check_prices(type, paths);
}
