// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Subset sums of `hpopta`: one number from each set so that they add up to a target. Numbers are deficits of units, so
// the sums of the first sets are a row of target + 1 bits. What keeps long rows cheap: numbers are divided by their
// greatest common divisor; a set is added as arithmetic progressions (doubling, not one shift per number); and as soon
// as the sums contain an interval longer than the largest gap of a further set, that set only lengthens the interval.
// Targets too large for a row of bits are solved with sorted lists.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

/// Numbers >= 0, ascending, beginning with 0. Sets with the same address are thought equal.
using NumberSet = std::span<const Units>;

/// Whether one number from each set can add up to `target` >= 0; if so and `choice` is given, it becomes the numbers in
/// order of the sets. Throws std::length_error when that needs more than about 1 GB.
bool choose_sum(std::span<const NumberSet> sets, Units target, std::vector<Units>* choice = nullptr);

/// The largest sum <= target and the smallest sum > target, where there is one.
std::pair<Units, std::optional<Units>> nearest_sums(std::span<const NumberSet> sets, Units target);

}  // namespace apportion
