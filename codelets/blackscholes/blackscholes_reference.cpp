// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "codelets/blackscholes/blackscholes.hpp"
#include "codelets/blackscholes/blackscholes_formula.hpp"

namespace apportion {

namespace {

constexpr std::size_t kSimulatedAgain = 5;
/// The largest number that the Box-Muller method gives for 32 random bits: sqrt(2 ln(2^33)).
const double kMostNormal = std::sqrt(66 * std::numbers::ln2);

struct Option {
    double spot, strike, rate, volatility, expiry;
    double sign;  ///< 1 for a call, -1 for a put

    double discount() const { return std::exp(-rate * expiry); }
    double deviation() const { return volatility * std::sqrt(expiry); }
    double payoff(double spot_at_expiry) const { return std::max(sign * (spot_at_expiry - strike), 0.0); }
    double spot_at_expiry(double normal) const {
        return spot * std::exp((rate - 0.5 * volatility * volatility) * expiry + deviation() * normal);
    }
};

void set_element(Matrix& matrix, std::size_t i, std::size_t j, double value) {
    by_real_type(matrix.type(), [&]<class T>() { *static_cast<T*>(matrix.at(i, j)) = static_cast<T>(value); });
}

Option option_at(const BlackScholesProblem& p, std::size_t i) {
    const auto value = [&](std::size_t c) { return element(p.options, i, c); };
    const double strike = value(kSignedStrike);
    return {value(kSpot), std::abs(strike), value(kRate), value(kVolatility), value(kExpiry), strike < 0 ? -1.0 : 1.0};
}

double phi(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

double closed_form(const Option& o) {
    const double deviation = o.deviation();
    if (deviation == 0) return std::max(o.sign * (o.spot - o.strike * o.discount()), 0.0);
    const double d1 = (std::log(o.spot / o.strike) + o.rate * o.expiry) / deviation + 0.5 * deviation;
    return o.sign * (o.spot * phi(o.sign * d1) - o.strike * o.discount() * phi(o.sign * (d1 - deviation)));
}

/// Variance of the discounted payoff.
double variance(const Option& o, double price) {
    const double deviation = o.deviation();
    if (deviation == 0) return 0;
    const double d1 = (std::log(o.spot / o.strike) + o.rate * o.expiry) / deviation + 0.5 * deviation;
    const double discounted = o.strike * o.discount();
    const double square = o.spot * o.spot * std::exp(deviation * deviation) * phi(o.sign * (d1 + deviation)) -
                          2 * o.spot * discounted * phi(o.sign * d1) +
                          discounted * discounted * phi(o.sign * (d1 - deviation));
    return std::max(square - price * price, 0.0);
}

/// Standard errors that the estimate is off, see make_blackscholes(); with an allowance for rounding.
double deviations(const Option& o, double estimate, double paths, double rounding) {
    const double price = closed_form(o);
    const double error = std::max(std::abs(estimate - price) - rounding * (o.spot + o.strike * o.discount()), 0.0);
    if (error == 0) return 0;
    const double largest =
        o.discount() * std::max(o.payoff(o.spot_at_expiry(kMostNormal)), o.payoff(o.spot_at_expiry(-kMostNormal)));
    const double result = error * std::sqrt(paths / (variance(o, price) + largest * error / 3));
    return std::isnan(result) || std::isnan(estimate) ? std::numeric_limits<double>::infinity() : result;
}

struct Simulated {
    double price, standard_error;
};

Simulated simulate(const Option& o, const BlackScholesParameters& parameters, std::uint64_t number) {
    constexpr double kUnit = 0x1p-32;
    double sum = 0, squares = 0;
    std::uint64_t path = 0;
    const auto add = [&](double normal) {
        if (path++ >= parameters.paths) return;
        const double payoff = o.payoff(o.spot_at_expiry(normal));
        sum += payoff;
        squares += payoff * payoff;
    };
    for (std::uint32_t counter = 0; path < parameters.paths; ++counter) {
        const auto random = isa_generic::random_bits(parameters.seed, number, counter);
        for (int k = 0; k < 4; k += 2) {
            const double radius = std::sqrt(-2 * std::log((random.word[k] + 0.5) * kUnit));
            const double angle = 2 * std::numbers::pi * random.word[k + 1] * kUnit;
            add(radius * std::cos(angle));
            add(radius * std::sin(angle));
        }
    }
    const auto paths = static_cast<double>(parameters.paths);
    const double mean = sum / paths;
    const double spread = std::max((squares - sum * mean) / (paths - 1), 0.0);
    return {o.discount() * mean, o.discount() * std::sqrt(spread / paths)};
}

bool simulated_alike(const BlackScholesProblem& p, std::size_t i) {
    const Option o = option_at(p, i);
    const Simulated again = simulate(o, p.parameters, i);
    // Every path's logarithm is rounded, and expiry in the money costs digits of small prices.
    const double scale = o.spot + o.strike * o.discount();
    const double tolerance = 64 * epsilon(p.results.type()) * scale;
    const double error = element(p.results, i, 1);
    // A sum of squares loses half the digits where all payoffs are nearly equal: those of one square, which is rounded
    // to T, and those of the sum in double precision, which grows by a group of paths at a time.
    const double of_square = std::sqrt(epsilon(p.results.type())) *
                             (again.standard_error + scale / std::sqrt(static_cast<double>(p.parameters.paths)));
    const double of_sum =
        std::sqrt(std::numeric_limits<double>::epsilon() / (isa_generic::kLanes * isa_generic::kPathsPerCounter)) *
        scale;
    const double slack = of_square + of_sum + tolerance;
    return std::abs(element(p.results, i, 0) - again.price) <= tolerance &&
           std::abs(error - again.standard_error) <= slack;
}

Verification verify_closed_form(const BlackScholesProblem& p) {
    constexpr double kRoundings = 16;
    double worst = 0;
    for (std::size_t i = 0; i < p.options.rows(); ++i) {
        const Option o = option_at(p, i);
        const double scale = o.spot + o.strike * o.discount();
        worst = worse(worst, std::abs(element(p.results, i, 0) - closed_form(o)) / scale);
    }
    return {worst, kRoundings * epsilon(p.results.type())};
}

Verification verify_monte_carlo(const BlackScholesProblem& p) {
    const std::size_t n = p.options.rows();
    const auto paths = static_cast<double>(p.parameters.paths);
    const double rounding = 64 * epsilon(p.results.type());
    double worst = 0;
    for (std::size_t i = 0; i < n; ++i)
        worst = std::max(worst, deviations(option_at(p, i), element(p.results, i, 0), paths, rounding));
    const std::size_t again = std::min(n, kSimulatedAgain);
    for (std::size_t s = 0; worst <= kMostDeviations && s < again; ++s)
        if (!simulated_alike(p, again > 1 ? s * (n - 1) / (again - 1) : 0))
            worst = std::numeric_limits<double>::infinity();
    return {worst, kMostDeviations};
}

}  // namespace

void price_by_reference(BlackScholesProblem& problem, std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) {
        const Option o = option_at(problem, i);
        if (problem.parameters.paths == 0) {
            set_element(problem.results, i, 0, closed_form(o));
            continue;
        }
        const Simulated s = simulate(o, problem.parameters, i);
        set_element(problem.results, i, 0, s.price);
        set_element(problem.results, i, 1, s.standard_error);
    }
}

Verification verify_blackscholes(const BlackScholesProblem& problem) {
    return problem.parameters.paths > 0 ? verify_monte_carlo(problem) : verify_closed_form(problem);
}

}  // namespace apportion
