// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A matrix cut into one rectangle for each processor, of the areas that a partition of its blocks gave them, such that
// the rectangles stand in columns and the sum of their half perimeters, which is what matrix multiplication
// communicates, is as small as columns allow (Beaumont, Boudet, Rastello, Robert 2001; with areas by functional models
// Clarke, Lastovetsky, Rychkov 2011, reference 5 of FuPerMod's paper). Ordered by area, every column holds neighbours;
// which ones is decided by dynamic programming, O(p^2). Widths and heights are rounded to whole blocks.
#pragma once

#include <span>
#include <vector>

#include "policies/planners/planner.hpp"

namespace apportion {

/// In blocks. A processor without area has no rows and no columns.
struct Rectangle {
    Units first_row = 0, first_column = 0, rows = 0, columns = 0;
    Units area() const { return rows * columns; }
};

struct MatrixColumns {
    std::vector<Rectangle> rectangles;  ///< of each processor
    Units half_perimeters = 0;          ///< sum of rows + columns
};

/// `areas` >= 0, not all zero; `side` > 0 blocks. Where rounding leaves a rectangle without a row or a column, it has
/// none, and its processor nothing to do.
MatrixColumns arrange_in_columns(std::span<const Units> areas, Units side);

}  // namespace apportion
