// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/matrix_columns.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace apportion {

namespace {

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

}  // namespace

MatrixColumns arrange_in_columns(std::span<const Units> areas, Units side) {
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

    MatrixColumns result;
    result.rectangles.resize(areas.size());
    Units first_column = 0;
    for (std::size_t c = 0; c < ends.size(); ++c) {
        const std::size_t begin = begins[ends[c]];
        const std::vector<Units> rows = whole_parts(std::span(ordered).subspan(begin, ends[c] - begin), side);
        Units first_row = 0;
        for (std::size_t k = 0; k < rows.size(); ++k) {
            if (rows[k] > 0 && columns[c] > 0) {
                result.rectangles[order[begin + k]] = {first_row, first_column, rows[k], columns[c]};
                result.half_perimeters += rows[k] + columns[c];
            }
            first_row += rows[k];
        }
        first_column += columns[c];
    }
    return result;
}

}  // namespace apportion
