// SPDX-License-Identifier: LGPL-2.1-or-later
//
// European options as CSV: a header line with the columns spot, strike, rate, volatility, expiry and type in any order,
// then one option a line. Spot and strike are positive, rate and volatility fractions a year (0.05, not 5), expiry
// years, type call or put. Volatility and expiry may be 0: the price is then the discounted value of certainty.
#pragma once

#include <string>

#include "codelets/blackscholes/blackscholes.hpp"

namespace apportion {

/// The options' columns as in BlackScholesProblem. Throws UserError, file:line, for whatever is not such a
/// table.
Matrix read_options(const std::string& path, ElementType type);

/// The options with their prices and, of Monte Carlo, standard errors in further columns; numbers as short as they can
/// be read back exactly.
void write_priced_options(const std::string& path, const BlackScholesProblem& problem);

}  // namespace apportion
