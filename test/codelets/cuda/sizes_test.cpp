// SPDX-License-Identifier: LGPL-2.1-or-later
// How the CUDA codelets split their work, and where they find it, at sizes that no test computes.
#include <sys/mman.h>

#include <cmath>
#include <vector>

#include "codelets/grn/grn_slices.hpp"
#include "codelets/jacobi_batch/jacobi_batch_steps.hpp"
#include "codelets/mpdata/mpdata.hpp"
#include "codelets/mpdata/mpdata_stages.hpp"
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
