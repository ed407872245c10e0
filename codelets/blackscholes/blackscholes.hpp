// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Prices of European calls and puts after Black and Scholes, the financial application of the PLB-HeC paper (section
// IV.A), in float or double: by the closed form, or by Monte Carlo simulation. A unit is one option.
//
// The random numbers of an option's paths are a function of seed, option and path only (Philox), and each price is
// added up in one order: it does not depend on how the options are cut into blocks, nor on the processor where that has
// fused multiply-add, bit for bit.
#pragma once

#include <cstdint>
#include <memory>

#include "codelets/blackscholes/blackscholes_kernels.hpp"
#include "codelets/common/codelet.hpp"
#include "codelets/common/matrix.hpp"

namespace apportion {

/// Columns of BlackScholesProblem::options.
inline constexpr std::size_t kSpot = 0, kSignedStrike = 1, kRate = 2, kVolatility = 3, kExpiry = 4, kOptionColumns = 5;

struct BlackScholesProblem {
    Matrix options;  ///< n x 5: spot, strike (negative for a put), rate, volatility, expiry, see OptionTerms
    Matrix results;  ///< n x 1: prices; with Monte Carlo n x 2: prices and their standard errors
    BlackScholesParameters parameters;
};

inline constexpr std::uint64_t kDefaultPaths = 10'000;   ///< also what the simulated platforms' times are for
inline constexpr std::uint64_t kMostPaths = 1ull << 34;  ///< of which a 32-bit counter gives four each

/// Results as the method needs them. Throws UserError when memory does not suffice.
Matrix blackscholes_results(ElementType type, std::size_t options, const BlackScholesParameters& parameters);

/// Calls and puts in turn with spots of 50 ... 150, strikes of 70 ... 130 % of them, rates of 0 ... 10 %, volatilities
/// of 10 ... 60 % and expiries of 0.1 ... 3 years. Throws like above.
BlackScholesProblem random_blackscholes(ElementType type, std::size_t options,
                                        const BlackScholesParameters& parameters);

/// verify() compares closed-form prices with the textbook formula in double precision, errors being relative to spot
/// plus discounted strike. Monte Carlo prices must lie within kMostDeviations standard errors of the closed form, as
/// Bernstein's inequality counts them: the payoff of no path exceeds what the largest normal number gives, so that rare
/// payoffs do not mislead; and some are simulated again by a sequential loop over the standard library's functions.
std::unique_ptr<Workload> make_blackscholes(std::shared_ptr<BlackScholesProblem> problem);

/// Double precision, Monte Carlo with kDefaultPaths paths.
std::unique_ptr<Workload> make_blackscholes(const WorkloadOptions& options);

/// The kernel over all options in one call on this thread: the peer that blocks are measured against.
void price_by_one_call(BlackScholesProblem& problem);

/// A textbook implementation, one option and one path after another with the standard library's functions. `count`
/// options from `first` on; results are not the kernel's bit for bit.
void price_by_reference(BlackScholesProblem& problem, std::size_t first, std::size_t count);

/// See make_blackscholes().
Verification verify_blackscholes(const BlackScholesProblem& problem);

inline constexpr double kMostDeviations = 8;  ///< chance 3e-14 per option

/// Arithmetic operations of one option, roughly: what speeds are counted in.
double blackscholes_operations(const BlackScholesParameters& parameters);

}  // namespace apportion
