// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Shapes of a matrix: every block has one owner, areas are kept, and what processors read, counted block by block, is
// the sum that is told and never more than other arrangements need.
#include "policies/planners/matrix_shapes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "test/catch.hpp"

using namespace apportion;

namespace {

/// Rows and columns that the processors' blocks touch, counted; every block has to have one owner.
Units counted(const MatrixShape& shape, Units side) {
    std::vector<int> owners(static_cast<std::size_t>(side * side), 0);
    Units sum = 0;
    for (const std::vector<Rectangle>& part : shape.parts) {
        std::vector<bool> rows(static_cast<std::size_t>(side)), columns(rows);
        for (const Rectangle& r : part)
            for (Units row = r.first_row; row < r.first_row + r.rows; ++row)
                for (Units column = r.first_column; column < r.first_column + r.columns; ++column) {
                    ++owners.at(static_cast<std::size_t>(side * row + column));
                    rows[static_cast<std::size_t>(row)] = columns[static_cast<std::size_t>(column)] = true;
                }
        sum += std::ranges::count(rows, true) + std::ranges::count(columns, true);
    }
    REQUIRE(std::ranges::count(owners, 1) == std::ssize(owners));
    return sum;
}

Units area(const std::vector<Rectangle>& part) {
    Units sum = 0;
    for (const Rectangle& r : part) sum += r.area();
    return sum;
}

constexpr Units kSide = 1000;
MatrixShape of_speeds(const std::vector<double>& speeds) {
    double all = 0;
    for (const double speed : speeds) all += speed;
    std::vector<Units> areas;
    Units rest = kSide * kSide;
    for (const double speed : speeds) areas.push_back(std::llround(speed / all * kSide * kSide)), rest -= areas.back();
    areas.front() += rest;
    return arrange_matrix(areas, kSide);
}

/// The least cost of any assignment of processors to columns, in sides of the matrix.
double least_in_columns(const std::vector<double>& areas) {
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

TEST_CASE(
    "of two processors no straight cut communicates less, and both have their areas, for all areas of small sides") {
    for (Units side = 2; side <= 12; ++side)
        for (Units first = 1; first < side * side; ++first) {
            INFO(first << " of " << side << " x " << side);
            const std::vector<Units> areas = {first, side * side - first};
            const MatrixShape found = arrange_matrix(areas, side);
            CHECK(counted(found, side) == found.half_perimeters);
            CHECK(found.half_perimeters <= 3 * side);
            for (std::size_t p = 0; p < 2; ++p) {
                CHECK(area(found.parts[p]) > 0);
                CHECK(2 * std::abs(area(found.parts[p]) - areas[p]) <= side);
            }
        }
}

TEST_CASE("no assignment of the blocks of a small matrix to two or three processors at all communicates less") {
    constexpr Units kSmall = 4, kBlocks = kSmall * kSmall;
    constexpr unsigned kAll = 0xffff;
    std::vector<int> touched(kAll + 1, 0);  // rows and columns, of each set of blocks
    for (unsigned blocks = 0; blocks <= kAll; ++blocks)
        for (int i = 0; i < kSmall; ++i)
            touched[blocks] += ((blocks >> kSmall * i & 0xfu) != 0) + ((blocks >> i & 0x1111u) != 0);
    std::vector<std::vector<int>> least(kBlocks + 1, std::vector<int>(kBlocks + 1, 99));  // by the first two's areas
    for (unsigned first = 1; first < kAll; ++first) {
        const unsigned rest = kAll & ~first;
        for (unsigned second = rest; second > 0; second = (second - 1) & rest) {
            int& known =
                least[static_cast<std::size_t>(std::popcount(first))][static_cast<std::size_t>(std::popcount(second))];
            known = std::min(known, touched[first] + touched[second] + touched[rest & ~second]);
        }
    }
    for (Units first = 1; first < kBlocks; ++first)
        for (Units second = 1; first + second <= kBlocks; ++second) {
            INFO(first << " and " << second);
            const MatrixShape found =
                arrange_matrix(std::vector<Units>{first, second, kBlocks - first - second}, kSmall);
            CHECK(
                found.half_perimeters ==
                least[static_cast<std::size_t>(area(found.parts[0]))][static_cast<std::size_t>(area(found.parts[1]))]);
        }
}

TEST_CASE("of three processors columns and slices communicate no less, for all areas of small sides") {
    for (Units side = 4; side <= 8; ++side)
        for (Units first = 1; first < side * side - 1; ++first)
            for (Units second = 1; first + second < side * side; ++second) {
                const std::vector<Units> areas = {first, second, side * side - first - second};
                const MatrixShape found = arrange_matrix(areas, side);
                const MatrixShape columns = arrange_in_columns(areas, side);
                if (counted(found, side) != found.half_perimeters || found.half_perimeters > 4 * side)
                    FAIL(first << " and " << second << " of " << side << " x " << side);
                for (std::size_t p = 0; p < areas.size(); ++p)
                    if (std::abs(area(found.parts[p]) - areas[p]) > side)
                        FAIL(first << " and " << second << " of " << side << " x " << side << ": areas");
                if (std::ranges::none_of(columns.parts, &std::vector<Rectangle>::empty))
                    CHECK(found.half_perimeters <= columns.half_perimeters);
                CHECK(found.half_perimeters_of_columns == columns.half_perimeters);
            }
}

TEST_CASE("a slow processor gets a square corner from a ratio of 3 : 1 on") {
    CHECK(of_speeds({2.9, 1}).name == "columns");
    CHECK(of_speeds({1, 2.9}).half_perimeters == 3 * kSide);
    CHECK(of_speeds({3.1, 1}).name == "square corner");
    const MatrixShape nine = of_speeds({1, 9});
    CHECK(nine.name == "square corner");
    CHECK(nine.half_perimeters == 2 * kSide + 2 * 316);
    CHECK(nine.half_perimeters_of_columns == 3 * kSide);
    CHECK(nine.parts[0].size() == 1);
    CHECK(nine.parts[1].size() == 2);
}

TEST_CASE("of three processors the shape is the one whose half perimeters are least") {
    CHECK(of_speeds({9.5, 1, 1}).name == "block rectangle");
    CHECK(of_speeds({1, 9.8, 1}).name == "square corner");
    CHECK(of_speeds({6.4, 6.4, 1}).name == "block rectangle");
    CHECK(of_speeds({1, 6.6, 6.6}).name == "square rectangle");
    CHECK(of_speeds({75, 24, 1}).name == "square corner");
    CHECK(of_speeds({73, 26, 1}).name == "square rectangle");
    for (int second = 1; second <= 50; ++second)
        for (int third = 1; third <= second && second + third <= 100 - second; ++third) {
            const MatrixShape found = of_speeds({100.0 - second - third, 1.0 * second, 1.0 * third});
            const double s2 = second / 100.0, s3 = third / 100.0;
            double least = std::min(3 + s2 + s3, 3 + 2 * std::sqrt(s3));
            if (std::sqrt(s2) + std::sqrt(s3) < 1) least = std::min(least, 2 + 2 * std::sqrt(s2) + 2 * std::sqrt(s3));
            CHECK(static_cast<double>(found.half_perimeters) / kSide == Approx(least).margin(0.003));
        }
}

TEST_CASE("one processor has the matrix, those without an area nothing, and more than three stand in columns") {
    const MatrixShape one = arrange_matrix(std::vector<Units>{0, 16, 0}, 4);
    CHECK(one.name == "columns");
    CHECK(one.parts[0].empty());
    CHECK(area(one.parts[1]) == 16);
    CHECK(arrange_matrix(std::vector<Units>{90, 0, 10, 0}, 10).name == "square corner");
    CHECK(of_speeds({97, 1, 1, 1}).name == "columns");
}

TEST_CASE("a processor whose column would have no width gets its block as a square") {
    const std::vector<Units> areas = {99, 1};
    CHECK(arrange_in_columns(areas, 10).parts[1].empty());
    CHECK(area(arrange_matrix(areas, 10).parts[1]) == 1);
}

TEST_CASE("rectangles in columns cover every block of the matrix once and have their areas") {
    const std::vector<Units> areas = {4000, 0, 3000, 1500, 1000, 500};
    const MatrixShape found = arrange_matrix(areas, 100);
    CHECK(found.half_perimeters == counted(found, 100));
    for (std::size_t p = 0; p < areas.size(); ++p) CHECK(std::abs(area(found.parts[p]) - areas[p]) <= 100);
    CHECK(found.parts[1].empty());
}

TEST_CASE("sixteen equal areas become a square of squares, and one area the whole matrix") {
    const MatrixShape squares = arrange_in_columns(std::vector<Units>(16, 100), 40);
    for (const auto& part : squares.parts) CHECK((part.at(0).rows == 10 && part.at(0).columns == 10));
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
        constexpr Units kLong = 1'000'000;
        const double cost = static_cast<double>(arrange_in_columns(areas, kLong).half_perimeters) / kLong;
        CHECK(cost == Approx(least_in_columns(parts)).epsilon(1e-4));
    }
}
