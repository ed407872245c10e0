// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The arithmetic of European options that CPU and CUDA kernels share (Black and Scholes 1973, no dividends): the closed
// form, and one path of a Monte Carlo simulation, which for European options is one step to expiry. T is float or
// double. A put is told from a call by a negative strike.
#pragma once

#include <Random123/philox.h>

#include "codelets/common/elementary.hpp"

namespace apportion::APPORTION_ISA {

/// One option, in years and fractions: a rate of 0.05 is 5 % a year, continuously compounded.
template <class T>
struct OptionTerms {
    T spot;
    T signed_strike;  ///< negative for a put
    T rate;
    T volatility;
    T expiry;
};

/// The price. Without volatility or time left it is the limit max(+-(spot - strike exp(-rate expiry)), 0).
template <class T>
APPORTION_DEVICE inline T closed_form_price(const OptionTerms<T>& o) {
    const T sign = o.signed_strike < 0 ? T(-1) : T(1);
    const T strike = sign * o.signed_strike;
    const T discounted = strike * exponential(-o.rate * o.expiry);
    const T deviation = larger(o.volatility * square_root(o.expiry), Format<T>::kTiny);
    const T d1 = multiply_add(o.rate, o.expiry, logarithm(o.spot / strike)) / deviation + T(0.5) * deviation;
    const T d2 = d1 - deviation;
    const T stock = o.spot * normal_distribution(sign * d1);
    return larger(sign * (stock - discounted * normal_distribution(sign * d2)), T(0));
}

/// What all paths of one option have in common. Amounts are divided by the larger of forward price and strike, so that
/// sums of squares stay small.
template <class T>
struct PathTerms {
    T forward, strike;
    T sign;
    T drift, deviation;  ///< of the logarithm of the spot price at expiry over its forward price
    T scale;             ///< discounted price of one such amount
};

template <class T>
APPORTION_DEVICE inline PathTerms<T> path_terms(const OptionTerms<T>& o) {
    PathTerms<T> p;
    p.sign = o.signed_strike < 0 ? T(-1) : T(1);
    const T strike = p.sign * o.signed_strike;
    const T forward = o.spot * exponential(o.rate * o.expiry);
    const T unit = larger(forward, strike);
    p.forward = forward / unit;
    p.strike = strike / unit;
    p.deviation = o.volatility * square_root(o.expiry);
    p.drift = T(-0.5) * p.deviation * p.deviation;
    p.scale = unit * exponential(-o.rate * o.expiry);
    return p;
}

/// What the option pays at the end of the path that a standard normal number drives.
template <class T>
APPORTION_DEVICE inline T path_payoff(const PathTerms<T>& p, T normal) {
    const T spot = p.forward * exponential(multiply_add(p.deviation, normal, p.drift));
    return larger(p.sign * (spot - p.strike), T(0));
}

/// The paths of an option are generated in groups of kLanes x kPathsPerCounter. Lane l of group g has the paths from
/// (g kLanes + l) kPathsPerCounter on, and adds up its own paths of all groups; at last the lanes' sums are added, half
/// of them to the other half, until one is left. The order, and with it the rounding, is the same everywhere.
inline constexpr unsigned kLanes = 32;
inline constexpr unsigned kPathsPerCounter = 4;

/// 128 random bits of a lane of a group, a function of seed, option and path only (Philox4x32-10; Salmon et al., SC11).
struct RandomBits {
    std::uint32_t word[4];
};

APPORTION_DEVICE inline RandomBits random_bits(std::uint64_t seed, std::uint64_t option, std::uint32_t counter) {
    const philox4x32_ctr_t position = {
        {counter, 0, static_cast<std::uint32_t>(option), static_cast<std::uint32_t>(option >> 32)}};
    const philox4x32_key_t key = {{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
    const philox4x32_ctr_t bits = philox4x32(position, key);
    return {{bits.v[0], bits.v[1], bits.v[2], bits.v[3]}};
}

/// The price and its standard error from the lanes' sums.
template <class T>
struct Estimate {
    T price;
    T standard_error;
};

template <class T>
APPORTION_DEVICE inline Estimate<T> estimate(const PathTerms<T>& p, double sum, double sum_of_squares, double paths) {
    const double mean = sum / paths;
    const double spread = larger((sum_of_squares - sum * mean) / (paths - 1), 0.0);
    const double variance = p.deviation > 0 ? spread : 0.0;  // equal payoffs leave rounding in the sums
    return {T(double(p.scale) * mean), T(double(p.scale) * square_root(variance / paths))};
}

}  // namespace apportion::APPORTION_ISA
