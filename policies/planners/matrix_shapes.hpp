// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A matrix cut into one part for each processor in the shape that communicates least, of those that SummaGen multiplies
// in (Patton, Khaleghzadeh, Manumachu, Lastovetsky 2019; shapes by Becker, DeFlumere and Lastovetsky): a processor
// reads the rows of A and the columns of B that its part touches, which of these parts are as many as its half
// perimeter. With areas s1 >= s2 >= s3 of a matrix of side 1, the sums of half perimeters are
//     two:   columns 3, square corner 2 + 2 sqrt(s2): the corner from 3 : 1 on, s2 < 1/4;
//     three: block rectangle (columns) 3 + s2 + s3, square rectangle 3 + 2 sqrt(s3), square corner 2 + 2 sqrt(s2) +
//            2 sqrt(s3): below s2 = 1/4 a corner, from (1 - sqrt(s2))^2 + (1 - sqrt(s3))^2 > 1 on (s1 : s2 = 9.7 where
//            s2 = s3), above it a square rectangle, from s2 + (1 - sqrt(s3))^2 > 1 on (6.5 where s1 = s2).
// One-dimensional, 4, is never best of three. For more processors SummaGen has no shapes: they stand in columns, one
// rectangle each, with the least sum of half perimeters that columns allow (Beaumont, Boudet, Rastello, Robert 2001;
// with areas by functional models Clarke, Lastovetsky, Rychkov 2011, reference 5 of FuPerMod's paper).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "policies/planners/planner.hpp"

namespace apportion {

/// In blocks.
struct Rectangle {
    Units first_row = 0, first_column = 0, rows = 0, columns = 0;
    Units area() const { return rows * columns; }
};

struct MatrixShape {
    std::string name = "columns";
    std::vector<std::vector<Rectangle>> parts;  ///< of each processor: rectangles with blocks, none in common
    Units half_perimeters = 0;                  ///< sum of rows + columns that the parts touch
    Units half_perimeters_of_columns = 0;       ///< what arrange_in_columns() makes of the same areas
};

/// In columns. Ordered by area, every column holds neighbours; which ones is decided by dynamic programming, O(p^2).
/// Where rounding to whole blocks leaves a rectangle without a row or a column, its processor has none. `areas` >= 0,
/// not all zero; `side` > 0 blocks.
MatrixShape arrange_in_columns(std::span<const Units> areas, Units side);

/// As arrange_in_columns(), or with less half perimeters, or more processors that have a block. The areas add up to
/// side * side. A square has rounded root of its area rows, and the columns that come closest to it: at most half a
/// column is missing or too much, which the largest makes up for.
MatrixShape arrange_matrix(std::span<const Units> areas, Units side);

}  // namespace apportion
