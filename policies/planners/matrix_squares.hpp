// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A matrix cut into rectangles in columns (matrix_columns.hpp), of which the largest may have squares cut out: those of
// the processors with the smallest areas, along its diagonal from the lower right corner, so that what is left is no
// rectangle. Where a few processors are much slower than the largest, that communicates less: a square of area a adds
// 2 sqrt(a) to the sum of half perimeters, where a column adds more. With two and three processors these are the shapes
// "square corner" and "square rectangle" (Becker, Lastovetsky 2006; DeFlumere, Lastovetsky 2012), which SummaGen
// multiplies matrices in; its other two, block rectangle and one-dimensional, are columns. (A corner of two rectangles
// that are no squares has 3 + s^2 sides where squares have 2 + 2 s, with s the sum of the roots of their areas.) How
// many squares there are is decided by trying: O(p^3).
#pragma once

#include "policies/planners/matrix_columns.hpp"

namespace apportion {

struct MatrixSquares {
    MatrixColumns matrix;  ///< that of `largest` contains the squares; its half perimeter is that of the whole
    std::size_t largest = 0;
    std::vector<std::size_t> squares;  ///< processors whose rectangles are cut out of it

    /// Blocks that processor p really has.
    Units area(std::size_t p) const;
};

/// As arrange_in_columns(), or with less half perimeters, or more processors that have a block. A square is as near to
/// its area as whole rows and columns are.
MatrixSquares arrange_with_squares(std::span<const Units> areas, Units side);

}  // namespace apportion
