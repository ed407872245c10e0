// SPDX-License-Identifier: LGPL-2.1-or-later
// The Jacobi workloads inside StarPU, under the scheduler that STARPU_SCHED names.
#include "codelets/jacobi/jacobi.hpp"

#include <starpu.h>

#include <Eigen/Dense>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "codelets/jacobi/jacobi_kernels.hpp"
#include "codelets/jacobi_batch/jacobi_batch.hpp"
#include "test/catch.hpp"
#include "test/codelets/plain_jacobi.hpp"

using namespace apportion;

namespace {

std::shared_ptr<LinearSystem> dense_system(ElementType type, std::size_t n) {
    return std::make_shared<LinearSystem>(random_system(type, n, 11));
}

/// The two-dimensional Laplace operator on a k x k grid, with 5 instead of 4 on the diagonal.
std::shared_ptr<LinearSystem> sparse_system(std::int32_t k) {
    SparseMatrix a;
    a.n = static_cast<std::size_t>(k) * k;
    a.start.push_back(0);
    for (std::int32_t i = 0; i < k * k; ++i) {
        const auto add = [&](bool there, std::int32_t column, double value) {
            if (!there) return;
            a.columns.push_back(column);
            a.values.push_back(value);
        };
        add(i >= k, i - k, -1);
        add(i % k > 0, i - 1, -1);
        add(true, i, 5);
        add(i % k < k - 1, i + 1, -1);
        add(i + k < k * k, i + k, -1);
        a.start.push_back(static_cast<std::int64_t>(a.columns.size()));
    }
    const std::size_t n = a.n;
    auto system =
        std::make_shared<LinearSystem>(LinearSystem{"grid", {}, std::move(a), Matrix(ElementType::float64, n, 1)});
    set_solution_of_ones(*system);
    return system;
}

/// Iterates as a load; every iteration is verified.
std::vector<char> iterate(const std::shared_ptr<LinearSystem>& system, int iterations) {
    const auto solver = make_jacobi_solver(system);
    Load load(load_options(*solver, static_cast<unsigned>(iterations)));
    solver->restart();
    double before = 0;
    for (int k = 0; k < iterations; ++k) {
        solver->spoil_result();
        load.run();
        CHECK(solver->verify().correct);
        const JacobiProgress progress = solver->advance();
        CHECK(std::isfinite(progress.step));
        if (k > 0) CHECK((progress.step < before || progress.step == 0));
        before = progress.step;
    }
    const std::size_t bytes = system->n() * element_size(system->type());
    std::vector<char> x(bytes);
    std::memcpy(x.data(), solver->x().at(0, 0), bytes);
    return x;
}

/// The same iterations on one thread, all rows at once.
template <class T>
std::vector<char> iterate_whole(const LinearSystem& system, int iterations) {
    const std::size_t n = system.n();
    std::vector<T> x(n), x_new(n);
    std::vector<JacobiTerms<T>> terms(n);
    const Matrix diagonal = diagonal_of(system);
    for (std::size_t i = 0; i < n; ++i)
        terms[i] = {*static_cast<const T*>(system.b.at(i, 0)), *static_cast<const T*>(diagonal.at(i, 0))};
    JacobiChange<T> change;
    for (int k = 0; k < iterations; ++k) {
        jacobi_dense(DenseRows<T>{static_cast<const T*>(system.dense->at(0, 0)), system.dense->ld(), n, n, terms.data(),
                                  x.data(), x.data(), x_new.data(), &change});
        x.swap(x_new);
    }
    std::vector<char> bytes(n * sizeof(T));
    std::memcpy(bytes.data(), x.data(), bytes.size());
    return bytes;
}

Matrix as_matrix(const std::vector<char>& x, ElementType type) {
    Matrix matrix(type, x.size() / element_size(type), 1);
    std::memcpy(matrix.at(0, 0), x.data(), x.size());
    return matrix;
}

std::shared_ptr<JacobiBatch> batch_of(ElementType type, std::size_t systems, std::size_t n, std::uint64_t iterations) {
    return std::make_shared<JacobiBatch>(random_jacobi_batch(type, systems, n, iterations, 4));
}

void run(Workload& workload) {
    Load load(load_options(workload));
    workload.spoil_result();
    load.run();
}

}  // namespace

TEST_CASE("iterations do not depend on the distribution of the rows, bit for bit") {
    for (const std::size_t n : {1u, 2u, 7u, 100u, 257u}) {
        INFO(n);
        const auto system = dense_system(ElementType::float64, n);
        CHECK(iterate(system, 6) == iterate_whole<double>(*system, 6));
        const auto single = dense_system(ElementType::float32, n);
        CHECK(iterate(single, 4) == iterate_whole<float>(*single, 4));
    }
}

TEST_CASE("dense and sparse systems converge to the solution of a direct solver") {
    const auto dense = dense_system(ElementType::float64, 60);
    const Matrix x = as_matrix(iterate(dense, 120), ElementType::float64);
    CHECK(verify_solution(*dense, x, 1e-5).correct);
    Eigen::MatrixXd a(60, 60);
    Eigen::VectorXd b(60);
    for (int i = 0; i < 60; ++i) {
        b[i] = element(dense->b, i, 0);
        for (int j = 0; j < 60; ++j) a(i, j) = element(*dense->dense, j, i);
    }
    const Eigen::VectorXd direct = a.partialPivLu().solve(b);
    const double margin = 1e-4 * direct.lpNorm<Eigen::Infinity>();
    for (int i = 0; i < 60; ++i) CHECK(element(x, i, 0) == Approx(direct[i]).margin(margin));

    const auto sparse = sparse_system(20);
    const Matrix ones = as_matrix(iterate(sparse, 60), ElementType::float64);
    for (std::size_t i = 0; i < sparse->n(); ++i) CHECK(element(ones, i, 0) == Approx(1).epsilon(1e-5));
    CHECK(verify_solution(*sparse, ones, 1e-5).correct);
}

TEST_CASE("the verification notices one wrong element", "[once]") {
    const auto system = dense_system(ElementType::float64, 60);
    const auto solver = make_jacobi_solver(system);
    Matrix zero(ElementType::float64, 60, 1), next(ElementType::float64, 60, 1);
    plain_jacobi_iteration(*system, zero, next);
    REQUIRE(verify_iteration(*system, zero, next).correct);
    auto& wrong = *static_cast<double*>(next.at(41, 0));
    SECTION("not computed") { wrong = std::nan(""); }
    SECTION("a little off") { wrong *= 1 + 1e-12; }
    CHECK_FALSE(verify_iteration(*system, zero, next).correct);
    CHECK_FALSE(verify_solution(*system, next, 1e-10).correct);
}

TEST_CASE("libraries iterate as the loads do") {
    const auto dense = dense_system(ElementType::float64, 90);
    LibraryJacobi blas(*dense, 1);
    blas.run(30);
    const Matrix x = as_matrix(iterate(dense, 30), ElementType::float64);
    const auto sparse = sparse_system(9);
    LibraryJacobi eigen(*sparse, 1);
    eigen.run(30);
    const Matrix y = as_matrix(iterate(sparse, 30), ElementType::float64);
    for (std::size_t i = 0; i < 81; ++i) {
        CHECK(element(blas.x(), i, 0) == Approx(element(x, i, 0)).epsilon(1e-12));
        CHECK(element(eigen.x(), i, 0) == Approx(element(y, i, 0)).epsilon(1e-12));
    }
}

TEST_CASE("the lanes of a warp add up to what the vectors of a core do", "[once]") {
    constexpr std::size_t n = 157;
    const auto system = dense_system(ElementType::float64, n);
    std::vector<double> x(n), x_new(n);
    for (std::size_t j = 0; j < n; ++j) x[j] = std::cos(static_cast<double>(j));
    JacobiTerms<double> terms{2, 3};
    JacobiChange<double> change;
    const auto* const row = static_cast<const double*>(system->dense->at(0, 5));
    jacobi_dense(DenseRows<double>{row, n, 1, n, &terms, x.data(), x.data() + 5, x_new.data(), &change});
    std::vector<std::int32_t> columns(n);
    for (std::size_t j = 0; j < n; ++j) columns[j] = static_cast<std::int32_t>(j);
    double dense = 0, sparse = 0;
    for (unsigned lane = 0; lane < 32; ++lane) dense += dense_lane(row, x.data(), n, lane, 32);
    for (unsigned lane = 0; lane < 8; ++lane) sparse += sparse_lane(row, columns.data(), n, x.data(), lane, 8);
    CHECK(x[5] + jacobi_step(terms, dense) == Approx(x_new[0]).epsilon(1e-14));
    CHECK(x[5] + jacobi_step(terms, sparse) == Approx(x_new[0]).epsilon(1e-14));
    CHECK(change.step == Approx(std::abs(jacobi_step(terms, dense))).epsilon(1e-14));
    CHECK(change.size == std::abs(x_new[0]));
}

TEST_CASE("not-a-number in a change is never lost", "[once]") {
    JacobiChange<double> change, other;
    change.include(1, std::nan(""));
    change.include(2, 5);
    CHECK(std::isnan(change.step));
    CHECK(change.size == 2);
    other.include(change);
    other.include(-7, 1);
    CHECK(std::isnan(other.step));
    CHECK(other.size == 7);
}

TEST_CASE("systems that cannot be solved are refused with the row", "[once]") {
    const auto message = [](const LinearSystem& system) {
        return thrown<std::runtime_error>([&] { check_solvable(system); });
    };
    const auto system = dense_system(ElementType::float64, 20);
    CHECK(message(*system).empty());
    CHECK(describe_dominance(*system) == "every row is diagonally dominant");
    auto& diagonal = *static_cast<double*>(system->dense->at(6, 6));
    diagonal = 0.5;
    CHECK(describe_dominance(*system).starts_with("row 7 (from 1) is not diagonally dominant: 0.5 on the diagonal"));
    diagonal = 0;
    CHECK(message(*system).find("a zero on the diagonal of row 7 (from 1)") != std::string::npos);
    diagonal = std::nan("");
    CHECK(message(*system).find("in row 7, column 7 (from 1) is not finite") != std::string::npos);
    diagonal = 1;
    *static_cast<double*>(system->b.at(3, 0)) = INFINITY;
    CHECK(message(*system).find("element 4 (from 1) of the right-hand side") != std::string::npos);
    const auto sparse = sparse_system(3);
    sparse->sparse->columns[0] = 1;  // row 1 has two entries in column 2 and none on the diagonal
    CHECK(message(*sparse).find("a zero on the diagonal of row 1 (from 1)") != std::string::npos);
}

TEST_CASE("every system of a batch is iterated as often as asked for") {
    for (const ElementType type : {ElementType::float32, ElementType::float64})
        for (const std::uint64_t iterations : {1u, 2u, 40u, 400u})
            for (const std::size_t n : {1u, 33u, 64u}) {
                INFO(iterations << " iterations of " << n);
                const auto batch = batch_of(type, 9, n, iterations);
                const auto workload = make_jacobi_batch(batch);
                run(*workload);
                CHECK(workload->verify().correct);
            }
}

TEST_CASE("the batch's verification notices a system that is wrong", "[once]") {
    const auto batch = batch_of(ElementType::float64, 12, 30, 300);
    jacobi_batch_by_blas(*batch);
    REQUIRE(verify_jacobi_batch(*batch).correct);
    double& wrong = *static_cast<double*>(batch->x.at(7, 4));
    SECTION("not computed") { wrong = std::nan(""); }
    SECTION("a little off") { wrong += 1e-9; }
    CHECK_FALSE(verify_jacobi_batch(*batch).correct);
    CHECK(batch_progress(*batch).failure.empty());
}

TEST_CASE("a singular system of the batch, whose iterations go back and forth, is named; solved ones are measured",
          "[once]") {
    const auto batch = batch_of(ElementType::float64, 3, 2, 100);
    jacobi_batch_by_blas(*batch);
    CHECK(batch_progress(*batch).failure.empty());
    CHECK(batch_progress(*batch).residual < 1e-3);
    for (std::size_t i = 0; i < 2; ++i)
        for (std::size_t j = 0; j < 2; ++j) *static_cast<double*>(batch->a.at(j, 2 + i)) = 1;
    jacobi_batch_by_blas(*batch);
    CHECK(batch_progress(*batch).failure.find("system 2 (from 1) has come no closer to a solution in 100 iterations") !=
          std::string::npos);
}

TEST_CASE("a system of the batch that diverges is named") {
    const auto batch = batch_of(ElementType::float64, 5, 12, 5000);
    *static_cast<double*>(batch->a.at(2, 3 * 12 + 2)) = 0.01;
    const auto workload = make_jacobi_batch(batch);
    run(*workload);
    CHECK_FALSE(workload->verify().correct);
    CHECK(batch_progress(*batch).residual == std::numeric_limits<double>::infinity());
    CHECK(batch_progress(*batch).failure.find("system 4 (from 1) diverged within 5000 iterations") !=
          std::string::npos);
    *static_cast<double*>(batch->a.at(2, 3 * 12 + 2)) = 0;
    CHECK_THROWS_WITH(check_solvable(*batch),
                      ContainsSubstring("a zero on the diagonal of system 4, row 3 (both from 1)"));
}
