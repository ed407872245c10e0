// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Rectangles in columns: they cover the matrix, have the areas that they should, and no other columns of whole
// rectangles have a smaller sum of half perimeters.
#include "policies/planners/matrix_columns.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "test/catch.hpp"

using namespace apportion;

namespace {

/// The least cost of any assignment of processors to columns, in sides of the matrix.
double brute_force(const std::vector<double>& areas) {
    double best = std::numeric_limits<double>::infinity();
    std::vector<std::size_t> column(areas.size(), 0);
    const auto cost = [&] {
        double sum = 0;
        for (std::size_t c = 0; c < areas.size(); ++c) {
            double width = 0, members = 0;
            for (std::size_t p = 0; p < areas.size(); ++p)
                if (column[p] == c) width += areas[p], ++members;
            if (members > 0) sum += members * width + 1;
        }
        return sum;
    };
    const auto assign = [&](auto&& self, std::size_t p) -> void {
        if (p == areas.size()) {
            best = std::min(best, cost());
            return;
        }
        for (column[p] = 0; column[p] < areas.size(); ++column[p]) self(self, p + 1);
        column[p] = 0;
    };
    assign(assign, 0);
    return best;
}

}  // namespace

TEST_CASE("rectangles in columns cover every block of the matrix once and have their areas") {
    const std::vector<Units> areas = {4000, 0, 3000, 1500, 1000, 500};
    const MatrixColumns found = arrange_in_columns(areas, 100);
    std::vector<int> covered(100 * 100, 0);
    Units half_perimeters = 0;
    for (std::size_t p = 0; p < areas.size(); ++p) {
        const Rectangle& r = found.rectangles[p];
        CHECK(std::abs(r.area() - areas[p]) <= 100);
        if (r.area() > 0) half_perimeters += r.rows + r.columns;
        for (Units row = r.first_row; row < r.first_row + r.rows; ++row)
            for (Units column = r.first_column; column < r.first_column + r.columns; ++column)
                ++covered[static_cast<std::size_t>(100 * row + column)];
    }
    CHECK(std::ranges::count(covered, 1) == 100 * 100);
    CHECK(found.half_perimeters == half_perimeters);
    CHECK(found.rectangles[1].area() == 0);
}

TEST_CASE("sixteen equal areas become a square of squares, and one area the whole matrix") {
    const MatrixColumns squares = arrange_in_columns(std::vector<Units>(16, 100), 40);
    for (const Rectangle& r : squares.rectangles) CHECK((r.rows == 10 && r.columns == 10));
    CHECK(squares.half_perimeters == 16 * 20);
    CHECK(arrange_in_columns(std::vector<Units>{7}, 40).half_perimeters == 80);
}

TEST_CASE("no assignment of rectangles to columns has smaller half perimeters") {
    std::mt19937 random(1);
    std::uniform_int_distribution<Units> area(1, 1000);
    for (int problem = 0; problem < 40; ++problem) {
        std::vector<Units> areas(2 + static_cast<std::size_t>(problem) % 5);
        for (Units& a : areas) a = area(random);
        const double all = static_cast<double>(std::accumulate(areas.begin(), areas.end(), Units{0}));
        std::vector<double> parts;
        for (const Units a : areas) parts.push_back(static_cast<double>(a) / all);
        constexpr Units kSide = 1'000'000;
        const double cost = static_cast<double>(arrange_in_columns(areas, kSide).half_perimeters) / kSide;
        CHECK(cost == Approx(brute_force(parts)).epsilon(1e-4));
    }
}
