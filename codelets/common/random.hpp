// SPDX-License-Identifier: LGPL-2.1-or-later
//
// SplitMix64: random numbers that are a function of their place.
#pragma once

#include <cstdint>

namespace apportion {

inline constexpr std::uint64_t kSplitMixStep = 0x9e3779b97f4a7c15u;

/// Its output in a state, which advances by kSplitMixStep.
inline std::uint64_t splitmix_output(std::uint64_t state) {
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
    state = (state ^ (state >> 27)) * 0x94d049bb133111ebu;
    return state ^ (state >> 31);
}

/// Consecutive keys give independent numbers.
inline std::uint64_t mix(std::uint64_t key) { return splitmix_output((key + 1) * kSplitMixStep); }

}  // namespace apportion
