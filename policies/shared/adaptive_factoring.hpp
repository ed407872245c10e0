// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cmath>

namespace apportion {

/// Seconds of the chunk that a processor is likely to finish before the common end of all that is left (Banicescu, Liu:
/// Adaptive factoring, Proc. High Performance Computing Symposium, 2000). `together_s` > 0: what all need for that, T
/// R; `variance_s`: the sum over them of variance / mean of the seconds that a unit takes, D. Without variance, T R.
///
///     (D + 2 T R - sqrt(D^2 + 4 D T R)) / 2
///
/// by the product of the two roots: the difference of large numbers has no digits left.
inline double likely_to_finish_s(double together_s, double variance_s) {
    return 2 * together_s * together_s /
           (variance_s + 2 * together_s + std::sqrt(variance_s * (variance_s + 4 * together_s)));
}

}  // namespace apportion
