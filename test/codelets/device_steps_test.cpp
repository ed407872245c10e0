// SPDX-License-Identifier: LGPL-2.1-or-later
// The steps of the CUDA codelets that are split otherwise than on a CPU, run on the host in the order of the device.
#include <sys/mman.h>

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "codelets/grn.hpp"
#include "codelets/grn_slices.hpp"
#include "codelets/jacobi_batch_steps.hpp"
#include "codelets/mpdata.hpp"
#include "codelets/mpdata_stages.hpp"
#include "test/catch.hpp"

using namespace apportion;

namespace {

/// Addresses without memory.
class Addresses {
  public:
    explicit Addresses(std::size_t bytes) : bytes_(bytes) {
        memory_ = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        REQUIRE(memory_ != MAP_FAILED);
    }
    ~Addresses() { munmap(memory_, bytes_); }
    Addresses(const Addresses&) = delete;
    Addresses& operator=(const Addresses&) = delete;
    template <class T>
    T* as() const {
        return static_cast<T*>(memory_);
    }

  private:
    std::size_t bytes_;
    void* memory_;
};

std::vector<double> mpdata_by_stages(MpdataField& field, int first, int planes, int together) {
    const MpdataGrid& g = field.grid();
    const int halo = g.halo();
    std::vector<double> result(static_cast<std::size_t>(planes) * g.plane(), std::nan(""));
    std::vector<double> scratch(mpdata::scratch_doubles(g, together), std::nan(""));
    double* const courant = field.courant_planes(first - halo);
    const auto at_courant = [&](std::size_t direction) {
        return mpdata::Field{courant + direction * g.plane(), -halo, g.row(), 3 * g.plane()};
    };
    const mpdata::BlockFields block{{field.plane(first - halo), -halo, g.row(), g.plane()},
                                    {at_courant(0), at_courant(1), at_courant(2)},
                                    {result.data(), 0, g.row(), g.plane()}};
    mpdata::advance(g, block, planes, together, scratch.data(),
                    [](const MpdataGrid& grid, int from, int count, const auto& stage) {
                        for (int x = from; x < from + count; ++x)
                            for (int y = 0; y < grid.ny; ++y)
                                for (int z = 0; z < grid.nz; ++z) stage(grid, {x, y, z});
                    });
    return result;
}

std::vector<PredictorSet> search_by_slices(GrnProblem& p) {
    const GrnBlock block{p.candidates.data(),
                         p.targets.data(),
                         {p.nlogn.data(), p.parameters.samples, p.parameters.criterion, p.parameters.penalty},
                         p.target_count(),
                         p.results.data()};
    std::vector<PredictorSet> scratch(grn::scratch_bytes(p.parameters) / sizeof(PredictorSet) + 1);
    grn::search(block, p.parameters, scratch.data(), [](const grn::Pass& pass) {
        for (std::size_t n = 0; n < pass.counts(); ++n) pass.count(n);
        for (std::size_t target = 0; target < pass.block.count; ++target) {
            PredictorSet best{kNoGene, kNoGene, std::numeric_limits<double>::infinity()};
            for (unsigned slice = 0; slice < pass.slices; ++slice)
                for (unsigned thread = 0; thread < grn::kRow * grn::kRows; ++thread) {
                    const unsigned x = thread % grn::kRow, y = thread / grn::kRow;
                    const ScoreRule& rule = pass.block.rule;
                    const PredictorSet set = pass.parameters.levels == 2
                                                 ? grn::best_of_thread<2>(pass, rule, target, slice, x, y)
                                                 : grn::best_of_thread<3>(pass, rule, target, slice, x, y);
                    if (grn::before(set, best)) best = set;
                }
            pass.block.results[target] = best;
        }
    });
    return p.results;
}

template <class T>
void check_batch(std::size_t n, std::size_t systems, std::uint64_t iterations) {
    INFO(n << " unknowns, " << systems << " systems, " << iterations << " iterations");
    const std::size_t ld = n + 3;
    std::vector<T> a(systems * n * ld), b(systems * ld), x(systems * ld, T(-1)), expected = x;
    for (std::size_t row = 0; row < systems * n; ++row)
        for (std::size_t j = 0; j < n; ++j)
            a[row * ld + j] = row % n == j ? static_cast<T>(2 * n) : static_cast<T>((row * 7 + j * 3) % 5) / 4;
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(i % 11);
    BatchSystems<T> all{a.data(), ld, b.data(), ld, expected.data(), ld, n, systems, iterations};
    jacobi_batch(all);
    all.x = x.data();
    std::vector<T> scratch(batch_systems_together<T>(n) * n);
    run_batch(
        all, scratch.data(),
        [&](T* start, std::size_t start_ld, std::size_t count) {
            for (std::size_t system = 0; system < count; ++system) std::fill_n(start + system * start_ld, n, T(0));
        },
        [&](const BatchIteration<T>& step) {
            for (std::size_t r = 0; r < step.rows(); ++r) step.store(r, dense_lane(step.row(r), step.x_of(r), n, 0, 1));
        });
    for (std::size_t i = 0; i < x.size(); ++i)
        REQUIRE(x[i] == Approx(expected[i]).margin(100 * std::numeric_limits<T>::epsilon()));
}

}  // namespace

TEST_CASE("MPDATA's stages, piece by piece, give the bits of the CPU kernel, rings included") {
    struct Case {
        int ny, nz, steps;
    };
    for (const auto& [ny, nz, steps] : {Case{9, 7, 1}, Case{8, 11, 2}, Case{5, 6, 4}, Case{1, 5, 1}, Case{6, 1, 3}}) {
        MpdataField field(20, {ny, nz, steps});
        rotating_body(field, MpdataBody::cone, 0.9);
        for (const int first : {0, 7}) {
            const int planes = 20 - 2 * first;
            std::vector<double> expected(static_cast<std::size_t>(planes) * field.grid().plane());
            mpdata_advance(field.grid(), field.plane(first - field.grid().halo()),
                           field.courant_planes(first - field.grid().halo()), expected.data(), planes);
            for (const int together : {1, 4, planes}) {
                INFO(ny << " x " << nz << ", " << steps << " steps, planes from " << first << ", " << together);
                CHECK((mpdata_by_stages(field, first, planes, together) == expected));
            }
        }
    }
}

TEST_CASE("MPDATA's pieces fit the scratch memory they are made for") {
    for (const int ny : {1, 300, 70000})
        for (const int steps : {1, 2, 5}) {
            const MpdataGrid g{ny, 400, steps};
            for (const std::size_t bytes : {std::size_t{1} << 20, std::size_t{1} << 28, std::size_t{1} << 34}) {
                const int together = mpdata::planes_together(g, bytes);
                CHECK(together >= 1);
                CHECK((together == 1 || mpdata::scratch_doubles(g, together) * sizeof(double) <= bytes));
            }
            CHECK(mpdata::planes_together(g, std::size_t{1} << 40) == 64);
        }
}

TEST_CASE("Cells of fields with more than 2^31 elements are found") {
    const Addresses addresses(std::size_t{1} << 38);
    const MpdataGrid g{70000, 40000, 1};  // 2.8e9 cells a plane
    const mpdata::Field field{addresses.as<double>(), -3, g.row(), g.plane()};
    const auto at = [&](int x, int y, int z) { return static_cast<std::size_t>(&field.at(x, y, z) - field.data); };
    CHECK(at(-3, -1, -1) == 0);
    CHECK(at(-3, 69999, 39999) == 70000u * std::size_t{40002} + 40000);
    CHECK(at(4, 0, 0) == 7 * (70002 * std::size_t{40002}) + 40002 + 1);
}

TEST_CASE("The slices of the gene search find the sets of the CPU kernel") {
    for (const std::uint32_t levels : {2u, 3u})
        for (const std::uint32_t cardinality : {1u, 2u})
            for (const std::size_t samples : {70u, 300u, 700u})
                for (const double penalty : {0.0, 1.0}) {
                    GrnOptions options;
                    options.levels = levels;
                    options.cardinality = cardinality;
                    options.penalty = penalty;
                    options.targets = 5;
                    GrnProblem p = make_grn_problem(random_expression(60, samples, 5, levels, 3), options);
                    search_by_one_call(p);
                    const std::vector<PredictorSet> expected = p.results;
                    p.results.assign(p.results.size(), {});
                    search_by_slices(p);
                    for (std::size_t t = 0; t < expected.size(); ++t) {
                        INFO(levels << " levels, " << cardinality << " predictors, target " << t);
                        CHECK(p.results[t].first == expected[t].first);
                        CHECK(p.results[t].second == expected[t].second);
                        CHECK(p.results[t].score == expected[t].score);
                    }
                }
}

TEST_CASE("A few targets are searched by many slices, and many targets by one each") {
    GrnParameters p;
    p.candidates = 4000;
    CHECK(grn::slices_for(80, p) == 52);
    CHECK(grn::slices_for(1, p) == 501);
    CHECK(grn::slices_for(5000, p) == 1);
    for (std::size_t targets = 1; targets < 5000; targets += 7)
        CHECK((grn::slices_for(targets, p) == 1 || grn::slices_for(targets, p) * targets <= grn::kMostFound));
    p.candidates = 3;
    CHECK(grn::slices_for(1, p) == 1);
}

TEST_CASE("The rows of a batch of systems, iteration by iteration, give the solutions of the CPU kernel") {
    for (const std::uint64_t iterations : {0u, 1u, 2u, 7u}) {
        check_batch<float>(5, 3, iterations);
        check_batch<double>(33, 4, iterations);
    }
    check_batch<double>(300, 1, 2);
}

TEST_CASE("Batches beyond 2^31 elements go in parts, each row where it belongs") {
    const Addresses addresses(std::size_t{1} << 42);
    const std::size_t n = 5000, systems = 20000;  // 5e11 elements
    const BatchSystems<double> all{addresses.as<double>(), n, nullptr, n, nullptr, n, n, systems, 1};
    BatchIteration<double> step{all, addresses.as<double>(), n, nullptr, n};
    CHECK(step.rows() == systems * n);
    CHECK(static_cast<std::size_t>(step.row(99999999) - all.a) == 99999999 * n);
    CHECK(static_cast<std::size_t>(step.x_of(99999999) - step.x) == 19999 * n);
    CHECK(batch_systems_together<double>(n) == 1677);
    CHECK(batch_systems_together<double>(100000000) == 1);
    CHECK(stays_cached<float>(kMostCached));
    CHECK(!stays_cached<float>(kMostCached + 1));
    CHECK(stays_cached<double>(63));
    CHECK(!stays_cached<double>(64));
}
