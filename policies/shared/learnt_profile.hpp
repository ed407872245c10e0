// SPDX-License-Identifier: LGPL-2.1-or-later
//
// From what runs learnt to recorded times that static policies plan from. Where there are enough of at least one
// processor, the others are planned as far as they are known: what runs made no use of, or too little to know it, was
// hardly worth it. Such a processor gets no larger blocks than it ran, and none if nothing of its kind ran, or if it
// ran nothing and all such would add less than a tenth to the speed of all: cores of a kind may be fast and slow ones.
// Where there are enough of no processor, as after a run that something disturbed, all get blocks of at most eight
// times the largest that they ran, at its speed: the run with them teaches more.
//
// Learnt times of a processor are enough when it, or else one of its kind that it does not contradict, ran
//  - a block of at least an eighth of its share, or of what its memory admits if that is less, where the share is
//    what it would compute at the highest speeds that were seen of all (but of an open load no block is larger than
//    what arrives at once: any will do);
//  - blocks of two sizes, of which one is at least 1.25 times the other, so that fixed costs are told from the rest,
//    unless it ran its whole share as one block.
//
// Blocks have other sizes on every processor, and noise. So times between the sizes are interpolated, so that all
// processors have times of all sizes within their own range, and a larger block never takes less time than a smaller
// one.
#pragma once

#include <string>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

/// Empty, or what is missing: "CPU 3 ran no block of 128 units or more". `learnt`: one per processor of the load.
std::string why_too_sparse(const std::vector<ProcessorProfile>& learnt, const LoadDescription& load);

/// A block of at least one processor is known.
bool any_learnt(const std::vector<ProcessorProfile>& learnt);

/// Requires any_learnt(). The note says what is missing where it is too much.
RecordedTimes recorded_from_learnt(const std::vector<ProcessorProfile>& learnt, const LoadDescription& load);

/// What `load` has learnt, from that file, becomes its recorded times, unless it is nothing; its links become as slow
/// as transfers were seen beside those of others.
void take_learnt(LoadDescription& load, const std::string& file);

}  // namespace apportion
