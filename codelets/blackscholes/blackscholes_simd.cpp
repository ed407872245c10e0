// SPDX-License-Identifier: LGPL-2.1-or-later
// Compiled once per instruction set; loops are written for the compiler to vectorise.

#include "codelets/blackscholes/blackscholes_formula.hpp"
#include "codelets/blackscholes/blackscholes_kernels.hpp"

namespace apportion::APPORTION_ISA {

namespace {

template <class T>
OptionTerms<T> terms_of(const OptionBlock<T>& b, std::size_t i) {
    const T* const o = b.options + i;
    const std::size_t ld = b.options_ld;
    return {o[0], o[ld], o[2 * ld], o[3 * ld], o[4 * ld]};
}

template <class T>
void closed_form(const OptionBlock<T>& b) {
    const std::size_t ld = b.options_ld;
    const T* const spot = b.options;
    T* const __restrict price = b.results;
    for (std::size_t i = 0; i < b.count; ++i)
        price[i] = closed_form_price<T>({spot[i], spot[i + ld], spot[i + 2 * ld], spot[i + 3 * ld], spot[i + 4 * ld]});
}

/// The payoffs of one group of paths, path by path within the lanes' counters.
template <class T>
struct Group {
    std::uint32_t bits[kPathsPerCounter][kLanes];
    T payoff[kPathsPerCounter][kLanes];

    void simulate(const PathTerms<T>& terms, const BlackScholesParameters& parameters, std::uint64_t option,
                  std::uint32_t group) {
        for (unsigned l = 0; l < kLanes; ++l) {
            const RandomBits random = random_bits(parameters.seed, option, group * kLanes + l);
            for (unsigned k = 0; k < kPathsPerCounter; ++k) bits[k][l] = random.word[k];
        }
        for (unsigned k = 0; k < kPathsPerCounter; k += 2)
            for (unsigned l = 0; l < kLanes; ++l) {
                T first, second;
                normal_pair(bits[k][l], bits[k + 1][l], first, second);
                payoff[k][l] = path_payoff(terms, first);
                payoff[k + 1][l] = path_payoff(terms, second);
            }
    }

    /// Paths from that one on do not count.
    void cut(std::uint64_t paths_of_group) {
        for (unsigned l = 0; l < kLanes; ++l)
            for (unsigned k = 0; k < kPathsPerCounter; ++k)
                if (l * kPathsPerCounter + k >= paths_of_group) payoff[k][l] = 0;
    }
};

struct LaneSums {
    double sum[kLanes] = {};
    double squares[kLanes] = {};

    template <class T>
    void add(const Group<T>& group) {
        for (unsigned l = 0; l < kLanes; ++l) {
            const T a = group.payoff[0][l], b = group.payoff[1][l], c = group.payoff[2][l], d = group.payoff[3][l];
            sum[l] += double((a + b) + (c + d));
            squares[l] += double(multiply_add(a, a, b * b) + multiply_add(c, c, d * d));
        }
    }

    void reduce() {
        for (unsigned half = kLanes / 2; half > 0; half /= 2)
            for (unsigned l = 0; l < half; ++l) {
                sum[l] += sum[l + half];
                squares[l] += squares[l + half];
            }
    }
};

template <class T>
Estimate<T> monte_carlo(const OptionTerms<T>& option, const BlackScholesParameters& parameters, std::uint64_t number) {
    constexpr std::uint64_t kGroup = kLanes * kPathsPerCounter;
    const PathTerms<T> terms = path_terms(option);
    LaneSums sums;
    Group<T> group;
    for (std::uint64_t first = 0; first < parameters.paths; first += kGroup) {
        group.simulate(terms, parameters, number, static_cast<std::uint32_t>(first / kGroup));
        if (parameters.paths - first < kGroup) group.cut(parameters.paths - first);
        sums.add(group);
    }
    sums.reduce();
    return estimate(terms, sums.sum[0], sums.squares[0], static_cast<double>(parameters.paths));
}

template <class T>
void price(const OptionBlock<T>& b, const BlackScholesParameters& parameters) {
    if (parameters.paths == 0) return closed_form(b);
    for (std::size_t i = 0; i < b.count; ++i) {
        const Estimate<T> e = monte_carlo(terms_of(b, i), parameters, b.first + i);
        b.results[i] = e.price;
        b.results[i + b.results_ld] = e.standard_error;
    }
}

}  // namespace

extern const BlackScholesKernels blackscholes_kernels = {price<float>, price<double>};

}  // namespace apportion::APPORTION_ISA
