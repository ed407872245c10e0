// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/matrix_shapes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

namespace apportion {

namespace {

constexpr std::size_t kMostProcessors = 3;  ///< with squares

/// Ends of the columns in the ordered areas: the column that ends at k begins at begins[k].
std::vector<std::size_t> best_columns(const std::vector<double>& ordered) {
    const std::size_t count = ordered.size();
    std::vector<double> sum(count + 1, 0), cost(count + 1, std::numeric_limits<double>::infinity());
    std::partial_sum(ordered.begin(), ordered.end(), sum.begin() + 1);
    std::vector<std::size_t> begins(count + 1, 0);
    cost[0] = 0;
    for (std::size_t end = 1; end <= count; ++end)
        for (std::size_t begin = 0; begin < end; ++begin) {
            // Each rectangle of a column is as wide as the column, and their heights add up to the side of the matrix.
            const double with = cost[begin] + static_cast<double>(end - begin) * (sum[end] - sum[begin]) + 1;
            if (with < cost[end]) {
                cost[end] = with;
                begins[end] = begin;
            }
        }
    return begins;
}

/// Whole parts of `length` in proportion; their ends are those of the exact ones, rounded, so that all fits together.
std::vector<Units> whole_parts(std::span<const double> parts, Units length) {
    const double all = std::accumulate(parts.begin(), parts.end(), 0.0);
    std::vector<Units> whole;
    double sum = 0;
    Units end = 0;
    for (const double part : parts) {
        sum += part;
        const Units next = std::min(length, static_cast<Units>(std::llround(sum / all * static_cast<double>(length))));
        whole.push_back(next - end);
        end = next;
    }
    return whole;
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
    MatrixShape found = arrange_in_columns(merged, side);
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

MatrixShape arrange_in_columns(std::span<const Units> areas, Units side) {
    std::vector<std::size_t> order;
    for (std::size_t p = 0; p < areas.size(); ++p)
        if (areas[p] > 0) order.push_back(p);
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return areas[a] > areas[b]; });
    const double all = static_cast<double>(std::accumulate(areas.begin(), areas.end(), Units{0}));
    std::vector<double> ordered;
    for (const std::size_t p : order) ordered.push_back(static_cast<double>(areas[p]) / all);

    const std::vector<std::size_t> begins = best_columns(ordered);
    std::vector<std::size_t> ends;
    for (std::size_t end = order.size(); end > 0; end = begins[end]) ends.insert(ends.begin(), end);
    std::vector<double> widths;
    for (const std::size_t end : ends)
        widths.push_back(std::accumulate(ordered.begin() + static_cast<std::ptrdiff_t>(begins[end]),
                                         ordered.begin() + static_cast<std::ptrdiff_t>(end), 0.0));
    const std::vector<Units> columns = whole_parts(widths, side);

    MatrixShape found;
    found.parts.resize(areas.size());
    Units first_column = 0;
    for (std::size_t c = 0; c < ends.size(); ++c) {
        const std::size_t begin = begins[ends[c]];
        const std::vector<Units> rows = whole_parts(std::span(ordered).subspan(begin, ends[c] - begin), side);
        Units first_row = 0;
        for (std::size_t k = 0; k < rows.size(); ++k) {
            if (rows[k] > 0 && columns[c] > 0) {
                found.parts[order[begin + k]] = {{first_row, first_column, rows[k], columns[c]}};
                found.half_perimeters += rows[k] + columns[c];
            }
            first_row += rows[k];
        }
        first_column += columns[c];
    }
    found.half_perimeters_of_columns = found.half_perimeters;
    return found;
}

MatrixShape arrange_matrix(std::span<const Units> areas, Units side) {
    MatrixShape best = arrange_in_columns(areas, side);
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
