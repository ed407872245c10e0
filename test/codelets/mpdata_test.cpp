// SPDX-License-Identifier: LGPL-2.1-or-later
// MPDATA inside StarPU, under the scheduler that STARPU_SCHED names.
#include "codelets/mpdata/mpdata.hpp"

#include <cmath>
#include <memory>
#include <vector>

#include "test/catch.hpp"

using namespace apportion;

namespace {

std::vector<double> cells(const MpdataField& field) {
    std::vector<double> values;
    field.for_each_cell([&](int x, int y, int z) { values.push_back(field.psi(x, y, z)); });
    return values;
}

/// Submits the field's load that many times; each result must be the reference's, bit for bit. False when refused.
void run(const std::shared_ptr<MpdataField>& field, int loads) {
    const auto workload = make_mpdata(field);
    Load load(load_options(*workload));
    for (int i = 0; i < loads; ++i) {
        workload->spoil_result();
        load.run();
        const Verification verification = workload->verify();
        CHECK(verification.correct);
        CHECK(verification.max_error == 0);
        field->advance();
    }
}

std::shared_ptr<MpdataField> body(int nx, int ny, int nz, int steps, double courant = 0.9) {
    auto field = std::make_shared<MpdataField>(nx, MpdataGrid{ny, nz, steps});
    rotating_body(*field, MpdataBody::sphere, courant);
    return field;
}

}  // namespace

TEST_CASE("MPDATA gives the reference's bits, keeps mass, positivity and bounds") {
    for (const int steps : {1, 2}) {
        const auto field = body(24, 17, 31, steps);
        const double mass = field->sum(), most = field->largest();
        REQUIRE(most == 4);
        CHECK(field->largest_courant() == Approx(0.9));
        run(field, 6 / steps);
        CHECK(field->sum() == Approx(mass).epsilon(1e-13));
        CHECK(field->smallest() >= 0);
        CHECK(field->largest() <= most * (1 + 1e-13));
    }
}

TEST_CASE("several time steps at once are the same time steps") {
    const auto one = body(20, 12, 15, 1), three = body(20, 12, 15, 3);
    run(one, 6);
    run(three, 2);
    CHECK(cells(*one) == cells(*three));
}

TEST_CASE("a block of a single plane, and planes of a single cell") {
    run(body(3, 5, 4, 1), 2);
    run(body(7, 1, 1, 2), 2);
}

TEST_CASE("many long rows, which go through the cache in blocks, are the same bits", "[once]") {
    run(body(3, 97, 600, 1), 1);
    run(body(6, 97, 600, 2), 1);
}

TEST_CASE("in rectangles of planes and rows the field is the same bits, at the domain's edges too", "[once]") {
    const auto check = [](int nx, int ny, const std::vector<int>& plane_cuts, const std::vector<int>& row_cuts) {
        const auto field = body(nx, ny, 5, 1);
        const auto workload = make_mpdata(field);
        workload->spoil_result();
        for (std::size_t i = 0; i + 1 < plane_cuts.size(); ++i)
            for (std::size_t k = 0; k + 1 < row_cuts.size(); ++k) {
                const int x = plane_cuts[i], row = row_cuts[k];
                mpdata_advance_rows(field->grid(), {row, row_cuts[k + 1] - row}, field->plane(x - 3),
                                    field->courant_planes(x - 3),
                                    field->result_plane(x) + static_cast<std::ptrdiff_t>(row + 1) * field->grid().row(),
                                    plane_cuts[i + 1] - x);
            }
        INFO(nx << " x " << ny << ", " << plane_cuts.size() - 1 << " x " << row_cuts.size() - 1 << " rectangles");
        CHECK(workload->verify().correct);
    };
    check(8, 11, {0, 8}, {0, 11});
    check(8, 11, {0, 3, 8}, {0, 4, 11});
    check(8, 11, {0, 1, 2, 8}, {0, 1, 2, 10, 11});
    check(7, 12, {0, 7}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    check(3, 2, {0, 1, 2, 3}, {0, 1, 2});
    check(4, 1, {0, 2, 4}, {0, 1});
}

TEST_CASE("each worker computes its rectangles, time step after time step", "[once]") {
    const auto field = body(12, 10, 7, 1), whole = body(12, 10, 7, 1);
    PartsOfWorkers parts(starpu_worker_get_count());
    std::vector<std::uint64_t> units(parts.size(), 0);
    REQUIRE(parts.size() >= 2);
    units[0] = units[1] = 1;
    for (const bool in_rows : {false, true}) {
        parts[0] = {in_rows ? MatrixPart{3, 7, 0, 12} : MatrixPart{0, 10, 5, 7}};
        parts[1] = {in_rows ? MatrixPart{0, 3, 0, 12} : MatrixPart{0, 10, 0, 2}};
        if (!in_rows) parts[1].push_back({0, 10, 2, 3});
        const auto workload = make_mpdata(field, parts);
        for (int step = 0; step < 3; ++step) {
            workload->spoil_result();
            run_on_workers(*workload, units);
            CHECK(workload->verify().correct);
            field->advance();
        }
    }
    run(whole, 6);
    CHECK(cells(*field) == cells(*whole));
}

TEST_CASE("verification sees a plane that was not computed", "[once]") {
    const auto field = body(8, 6, 6, 1);
    const auto workload = make_mpdata(field);
    workload->spoil_result();
    mpdata_advance(field->grid(), field->plane(-3), field->courant_planes(-3), field->result_plane(0), 7);
    CHECK_FALSE(workload->verify().correct);
    mpdata_advance(field->grid(), field->plane(4), field->courant_planes(4), field->result_plane(7), 1);
    CHECK(workload->verify().correct);
    field->result_plane(3)[field->grid().row() + 1] += 1e-9;
    CHECK_FALSE(workload->verify().correct);
}

TEST_CASE("second order: halving the cells quarters the error of a smooth field, which the upwind scheme does not",
          "[once]") {
    const auto error = [](int n) {
        constexpr double kPi = 3.14159265358979323846, kCourant = 0.5, kMean = 2;
        auto field = std::make_shared<MpdataField>(n, MpdataGrid{3, 3, 1});
        const auto wave = [&](double x) { return kMean + std::sin(2 * kPi * x / n); };
        field->for_each_cell([&](int x, int y, int z) {
            field->psi(x, y, z) = wave(x + 0.5);
            field->courant(0, x, y, z) = kCourant;
            field->courant(1, x, y, z) = field->courant(2, x, y, z) = 0;
        });
        field->make_periodic();
        const int loads = n / 2;  // a quarter of the way round
        for (int i = 0; i < loads; ++i) {
            mpdata_advance(field->grid(), field->plane(-3), field->courant_planes(-3), field->result_plane(0), n);
            field->advance();
        }
        double sum = 0;
        for (int x = 0; x < n; ++x) sum += std::abs(field->psi(x, 0, 0) - wave(x + 0.5 - kCourant * loads)) / n;
        return sum;
    };
    CHECK(error(64) / error(128) > 3.2);
}

TEST_CASE("fields that make no sense are refused", "[once]") {
    CHECK_THROWS_WITH((MpdataField{0, MpdataGrid{4, 4, 1}}), ContainsSubstring("0 x 4 x 4"));
    CHECK_THROWS_WITH((MpdataField{5, MpdataGrid{4, 4, 2}}), ContainsSubstring("fewer than the 6"));
    CHECK_THROWS_WITH((MpdataField{1 << 20, MpdataGrid{1 << 20, 1 << 20, 1}}), ContainsSubstring("GiB"));
}
