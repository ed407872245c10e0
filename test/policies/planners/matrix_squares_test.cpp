// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Squares cut out of the largest rectangle: every block has one owner, areas are kept, and half perimeters are those of
// the known optimal shapes of two and three processors, never more than those of columns or of other known shapes.
#include "policies/planners/matrix_squares.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>

#include "test/catch.hpp"

using namespace apportion;

namespace {

/// The owner of every block, squares before what surrounds them.
std::vector<std::size_t> owners(const MatrixSquares& found, Units side) {
    std::vector<std::size_t> owner(static_cast<std::size_t>(side * side), found.matrix.rectangles.size());
    const std::set<std::size_t> squares(found.squares.begin(), found.squares.end());
    for (const bool square : {false, true})
        for (std::size_t p = 0; p < found.matrix.rectangles.size(); ++p) {
            if (squares.contains(p) != square) continue;
            const Rectangle& r = found.matrix.rectangles[p];
            for (Units row = r.first_row; row < r.first_row + r.rows; ++row)
                for (Units column = r.first_column; column < r.first_column + r.columns; ++column)
                    owner[static_cast<std::size_t>(side * row + column)] = p;
        }
    return owner;
}

/// Rows and columns in which each processor has a block, all together: what a multiplication communicates.
Units rows_and_columns(const std::vector<std::size_t>& owner, Units side) {
    std::set<std::pair<std::size_t, Units>> rows, columns;
    for (Units row = 0; row < side; ++row)
        for (Units column = 0; column < side; ++column) {
            rows.emplace(owner[static_cast<std::size_t>(side * row + column)], row);
            columns.emplace(owner[static_cast<std::size_t>(side * row + column)], column);
        }
    return std::ssize(rows) + std::ssize(columns);
}

}  // namespace

TEST_CASE("with squares every block has one owner, whose areas and whose rows and columns are as told") {
    std::mt19937 random(1);
    std::uniform_int_distribution<int> exponent(0, 10);
    constexpr Units kSide = 60;
    for (int problem = 0; problem < 60; ++problem) {
        std::vector<Units> weights(1 + static_cast<std::size_t>(problem) % 7), areas;
        Units all = 0;
        for (Units& w : weights) all += w = Units{1} << exponent(random);
        Units left = kSide * kSide;
        for (const Units w : weights) areas.push_back(w * kSide * kSide / all), left -= areas.back();
        areas.front() += left;
        const MatrixSquares found = arrange_with_squares(areas, kSide);
        const std::vector<std::size_t> owner = owners(found, kSide);
        REQUIRE(std::ranges::count(owner, areas.size()) == 0);
        for (std::size_t p = 0; p < areas.size(); ++p) {
            CHECK(std::ranges::count(owner, p) == found.area(p));
            CHECK(std::abs(found.area(p) - areas[p]) <= 2 * kSide);
        }
        CHECK(rows_and_columns(owner, kSide) == found.matrix.half_perimeters);
        const MatrixColumns columns = arrange_in_columns(areas, kSide);
        Units idle = 0;
        for (std::size_t p = 0; p < areas.size(); ++p) idle += areas[p] > 0 && columns.rectangles[p].area() == 0;
        CHECK((idle > 0 || found.matrix.half_perimeters <= columns.half_perimeters));
    }
}

TEST_CASE("two processors get a square corner where the one is more than three times as fast as the other") {
    CHECK(arrange_with_squares(std::vector<Units>{7000, 3000}, 100).squares.empty());
    const MatrixSquares corner = arrange_with_squares(std::vector<Units>{1600, 8400}, 100);
    CHECK(corner.squares == std::vector<std::size_t>{0});
    CHECK(corner.largest == 1);
    CHECK(corner.matrix.half_perimeters == 200 + 2 * 40);
    CHECK(corner.matrix.rectangles[0].first_row == 60);
}

TEST_CASE("three processors get the known shapes: square corner, square rectangle, columns") {
    // In sides: 2 + 2 sqrt(a2) + 2 sqrt(a3), 3 + 2 sqrt(a3), 4 - a1.
    CHECK(arrange_with_squares(std::vector<Units>{9500, 400, 100}, 100).matrix.half_perimeters ==
          200 + 2 * 20 + 2 * 10);
    CHECK(arrange_with_squares(std::vector<Units>{5900, 4000, 100}, 100).matrix.half_perimeters == 300 + 2 * 10);
    CHECK(arrange_with_squares(std::vector<Units>{4000, 3000, 3000}, 100).matrix.half_perimeters == 400 - 40);
}

TEST_CASE("no shape of three processors that the literature considers communicates less") {
    constexpr Units kSide = 1000;
    constexpr double kRounding = 6;  // whole rows and columns of three processors
    std::mt19937 random(2);
    std::uniform_real_distribution<double> area(0.001, 1);
    for (int problem = 0; problem < 500; ++problem) {
        double a[] = {area(random), area(random), area(random)};
        std::ranges::sort(a, std::greater{});
        const double all = a[0] + a[1] + a[2];
        for (double& part : a) part /= all;
        const double corner = std::sqrt(a[1]) + std::sqrt(a[2]);
        std::vector<double> shapes{4, 4 - a[0]};  // one-dimensional; block rectangle, and L rectangle
        if (corner < 1)
            shapes.insert(shapes.end(), {2 + 2 * corner, 3 + corner * corner});            // of squares, of rectangles
        if (a[1] + std::sqrt(a[2]) < 1) shapes.push_back(3 + a[1] + 2 * std::sqrt(a[2]));  // square rectangle
        if (a[2] + std::sqrt(a[1]) < 1) shapes.push_back(3 + a[2] + 2 * std::sqrt(a[1]));
        std::vector<Units> areas;
        for (const double part : a) areas.push_back(std::llround(part * kSide * kSide));
        CHECK(static_cast<double>(arrange_with_squares(areas, kSide).matrix.half_perimeters) <=
              std::ranges::min(shapes) * kSide + kRounding);
    }
}
