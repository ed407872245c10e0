// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "codelets/grn/grn.hpp"

namespace apportion {

namespace {

constexpr std::size_t kSearchedAgain = 4;
constexpr double kPairsAgain = 200'000;  ///< of each of these targets, at regular distances
constexpr double kTolerance = 1e-6;      ///< bits; 36 roundings of n log n are 2e-5 / samples

constexpr int kMostLevels = 3;
/// Samples by the levels of the predictors together and of the target.
using Counts = std::array<std::array<int, kMostLevels>, kMostLevels * kMostLevels>;

double entropy_of(const int* counts, int levels, int total) {
    double sum = 0;
    for (int k = 0; k < levels; ++k)
        if (counts[k] > 0) sum -= counts[k] * std::log2(static_cast<double>(counts[k]) / total);
    return total > 0 ? sum / total : 0;
}

class Reference {
  public:
    explicit Reference(const GrnProblem& problem)
        : p_(problem),
          levels_(static_cast<int>(problem.parameters.levels)),
          combinations_(levels_ * levels_),
          samples_(static_cast<int>(problem.samples())) {}

    Prediction predict(std::size_t target, const PredictorSet& pair) const {
        const Counts counts = count(target, pair);
        int of_target[kMostLevels] = {}, right = 0;
        double entropy = 0;
        for (int c = 0; c < combinations_; ++c) {
            int n = 0;
            for (int k = 0; k < levels_; ++k) {
                n += counts[c][k];
                of_target[k] += counts[c][k];
            }
            entropy += n * entropy_of(counts[c].data(), levels_, n);
            right += *std::max_element(counts[c].data(), counts[c].data() + levels_);
        }
        const int most = *std::max_element(of_target, of_target + levels_);
        return {entropy / samples_, most < samples_ ? static_cast<double>(right - most) / (samples_ - most) : 0};
    }

    double entropy(std::size_t target, const PredictorSet& pair) const { return predict(target, pair).entropy; }

    /// Calls visit(pair) for every `stride`-th pair that may predict the target, in order.
    template <class Visit>
    void for_each_pair(std::size_t target, std::size_t stride, Visit&& visit) const {
        const std::uint32_t n = p_.parameters.candidates;
        const std::uint64_t excluded = p_.targets[target * p_.parameters.target_words()];
        std::size_t number = 0;
        for (std::uint32_t a = 0; a < n; ++a)
            for (std::uint32_t b = a + 1; b < n; ++b)
                if (number++ % stride == 0 && a != excluded && b != excluded) visit(PredictorSet{a, b, 0});
    }

    bool allowed(std::size_t target, const PredictorSet& pair) const {
        const std::uint64_t excluded = p_.targets[target * p_.parameters.target_words()];
        return pair.first < pair.second && pair.second < p_.parameters.candidates && pair.first != excluded &&
               pair.second != excluded;
    }

    /// In bits.
    double error_of_score(std::size_t target, const PredictorSet& pair) const {
        return std::abs(std::ldexp(pair.score, -kFractionBits) / samples_ - entropy(target, pair));
    }

  private:
    Counts count(std::size_t target, const PredictorSet& pair) const {
        Counts counts{};
        const auto& a = p_.levels[p_.candidate_genes[pair.first]];
        const auto& b = p_.levels[p_.candidate_genes[pair.second]];
        for (int s = 0; s < samples_; ++s) ++counts[a[s] * levels_ + b[s]][p_.levels[target][s]];
        return counts;
    }

    const GrnProblem& p_;
    int levels_, combinations_, samples_;
};

}  // namespace

Prediction predict(const GrnProblem& problem, std::size_t target, const PredictorSet& pair) {
    return Reference(problem).predict(target, pair);
}

void search_by_reference(GrnProblem& problem, std::size_t first, std::size_t count) {
    constexpr double kTie = 1e-12;  // sums of logarithms in another order
    const Reference reference(problem);
    for (std::size_t t = first; t < first + count; ++t) {
        PredictorSet best = {kNoGene, kNoGene, std::numeric_limits<double>::infinity()};
        reference.for_each_pair(t, 1, [&](PredictorSet pair) {
            pair.score = reference.entropy(t, pair);
            if (pair.score < best.score - kTie) best = pair;
        });
        problem.results[t] = best;
    }
}

Verification verify_grn(const GrnProblem& problem) {
    const Reference reference(problem);
    double worst = 0;
    const std::size_t n = problem.target_count();
    for (std::size_t t = 0; t < n; ++t)
        worst = worse(worst, reference.allowed(t, problem.results[t]) ? reference.error_of_score(t, problem.results[t])
                                                                      : std::numeric_limits<double>::infinity());
    const std::size_t again = std::min(n, kSearchedAgain);
    for (std::size_t s = 0; s < again && worst <= kTolerance; ++s) {
        const std::size_t t = again > 1 ? s * (n - 1) / (again - 1) : 0;
        const auto stride = static_cast<std::size_t>(std::max(1.0, problem.pairs_per_target() / kPairsAgain));
        const double found = reference.entropy(t, problem.results[t]);
        reference.for_each_pair(
            t, stride, [&](const PredictorSet& pair) { worst = worse(worst, found - reference.entropy(t, pair)); });
    }
    return {worst, kTolerance};
}

}  // namespace apportion
