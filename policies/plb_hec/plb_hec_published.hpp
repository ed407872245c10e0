// SPDX-License-Identifier: LGPL-2.1-or-later
//
// plb-hec as published (Sant'Ana, Camargo, Cordeiro: PLB-HeC, section III, algorithms 1 and 2);
// APPORTION_PLB_HEC=published.
//
// Phases: probing in synchronised rounds of 1, 2, 4, 8, ... initial blocks, scaled by t_f / t_k (III.B) -> curve and
// line per processor -> shares by IPOPT (III.C) -> every processor runs blocks of its own size until the units are used
// up; a difference above 10 % of a block's time makes them synchronise, fit and solve again (III.D).
//
// Where the paper is ambiguous: probing goes on while some R^2 does not exceed 0.7 and less than 20 % of the units are
// used; t_f / t_k is that of the latest round, per unit; the multiplier goes on doubling after the fourth round; x_g is
// the size of one round, and the rest after probing makes kRounds rounds, more where a memory is too small (the paper
// does not say how many); the threshold is relative to the longest block of the round. Kept for comparison; the default
// variant is in plb_hec.cpp.
#pragma once

#include <memory>

#include "policies/policy.hpp"

namespace apportion {

std::unique_ptr<Policy> make_plb_hec_published();

}  // namespace apportion
