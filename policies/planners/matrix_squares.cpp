// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/matrix_squares.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

namespace apportion {

namespace {

Rectangle nearly_square(Units area) {
    const Units rows = std::max<Units>(1, std::llround(std::sqrt(static_cast<double>(area))));
    return {0, 0, rows, std::max<Units>(1, (area + rows / 2) / rows)};
}

/// The last `count` processors of the order, ascending areas last, as squares; nothing where they do not fit.
std::optional<MatrixSquares> with_squares(std::span<const Units> areas, std::span<const std::size_t> order,
                                          std::size_t count, Units side) {
    MatrixSquares found;
    found.largest = order.front();
    std::vector<Units> merged(areas.begin(), areas.end());
    for (const std::size_t p : order.last(count)) {
        merged[found.largest] += merged[p];
        merged[p] = 0;
        found.squares.push_back(p);
    }
    found.matrix = arrange_in_columns(merged, side);
    const Rectangle around = found.matrix.rectangles[found.largest];
    Units last_row = around.first_row + around.rows, last_column = around.first_column + around.columns;
    for (const std::size_t p : found.squares) {
        Rectangle square = nearly_square(areas[p]);
        last_row -= square.rows;
        last_column -= square.columns;
        // The largest keeps a part of every row and column: else it would not communicate there.
        if (last_row <= around.first_row || last_column <= around.first_column) return {};
        square.first_row = last_row;
        square.first_column = last_column;
        found.matrix.rectangles[p] = square;
        found.matrix.half_perimeters += square.rows + square.columns;
    }
    return found;
}

/// Processors with an area that rounding left without a block.
Units without_block(const MatrixSquares& found, std::span<const std::size_t> order) {
    return std::ranges::count_if(order, [&](std::size_t p) { return found.matrix.rectangles[p].area() == 0; });
}

}  // namespace

Units MatrixSquares::area(std::size_t p) const {
    Units area = matrix.rectangles[p].area();
    if (p == largest)
        for (const std::size_t square : squares) area -= matrix.rectangles[square].area();
    return area;
}

MatrixSquares arrange_with_squares(std::span<const Units> areas, Units side) {
    std::vector<std::size_t> order(areas.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::erase_if(order, [&](std::size_t p) { return areas[p] == 0; });
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return areas[a] > areas[b]; });
    if (order.empty()) return {};
    MatrixSquares best = *with_squares(areas, order, 0, side);
    for (std::size_t count = 1; count < order.size(); ++count) {
        std::optional<MatrixSquares> found = with_squares(areas, order, count, side);
        if (!found) break;
        const auto cost = [&](const MatrixSquares& s) {
            return std::pair(without_block(s, order), s.matrix.half_perimeters);
        };
        if (cost(*found) < cost(best)) best = std::move(*found);
    }
    return best;
}

}  // namespace apportion
