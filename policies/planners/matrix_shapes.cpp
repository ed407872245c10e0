// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/matrix_shapes.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace apportion {

namespace {

constexpr std::size_t kMostProcessors = 3;  ///< with squares

MatrixShape in_columns(std::span<const Units> areas, Units side) {
    const MatrixColumns columns = arrange_in_columns(areas, side);
    MatrixShape found;
    found.half_perimeters = found.half_perimeters_of_columns = columns.half_perimeters;
    for (const Rectangle& r : columns.rectangles)
        found.parts.push_back(r.area() > 0 ? std::vector{r} : std::vector<Rectangle>{});
    return found;
}

Rectangle nearly_square(Units area) {
    if (area == 0) return {};
    const Units rows = std::llround(std::sqrt(static_cast<double>(area)));
    return {0, 0, rows, (area + rows / 2) / rows};
}

/// The smallest processors, one or two last in the order, as squares in opposite corners of the largest one's
/// rectangle; nothing where it would not keep a part of every row and column: its own half perimeter would then be
/// another.
std::optional<MatrixShape> with_squares(std::span<const Units> areas, std::span<const std::size_t> order,
                                        std::size_t squares, Units side) {
    const std::size_t largest = order.front();
    std::vector<Units> merged(areas.begin(), areas.end());
    for (const std::size_t p : order.last(squares)) merged[largest] += std::exchange(merged[p], 0);
    MatrixShape found = in_columns(merged, side);
    const Rectangle around = found.parts[largest].front();
    Rectangle lower = nearly_square(areas[order.back()]), upper = nearly_square(squares == 2 ? areas[order[1]] : 0);
    if (upper.rows + lower.rows >= around.rows || upper.columns + lower.columns >= around.columns) return {};

    upper.first_row = around.first_row;
    upper.first_column = around.first_column;
    lower.first_row = around.first_row + around.rows - lower.rows;
    lower.first_column = around.first_column + around.columns - lower.columns;
    const Units below_upper = upper.first_row + upper.rows;
    found.parts[largest] = {
        {upper.first_row, upper.first_column + upper.columns, upper.rows, around.columns - upper.columns},
        {below_upper, around.first_column, lower.first_row - below_upper, around.columns},
        {lower.first_row, around.first_column, lower.rows, around.columns - lower.columns}};
    std::erase_if(found.parts[largest], [](const Rectangle& r) { return r.area() == 0; });
    found.parts[order.back()] = {lower};
    if (squares == 2) found.parts[order[1]] = {upper};
    found.half_perimeters += upper.rows + upper.columns + lower.rows + lower.columns;
    found.name = squares + 1 == order.size() ? "square corner" : "square rectangle";
    return found;
}

}  // namespace

MatrixShape arrange_matrix(std::span<const Units> areas, Units side) {
    MatrixShape best = in_columns(areas, side);
    std::vector<std::size_t> order;
    for (std::size_t p = 0; p < areas.size(); ++p)
        if (areas[p] > 0) order.push_back(p);
    if (order.size() > kMostProcessors) return best;
    if (order.size() == kMostProcessors) best.name = "block rectangle";
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return areas[a] > areas[b]; });
    const auto cost = [&](const MatrixShape& shape) {
        const auto without_block = std::ranges::count_if(order, [&](std::size_t p) { return shape.parts[p].empty(); });
        return std::pair(without_block, shape.half_perimeters);
    };
    for (std::size_t squares = 1; squares < order.size(); ++squares) {
        std::optional<MatrixShape> found = with_squares(areas, order, squares, side);
        if (!found || cost(*found) >= cost(best)) continue;
        found->half_perimeters_of_columns = best.half_perimeters_of_columns;
        best = std::move(*found);
    }
    return best;
}

}  // namespace apportion
