// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "codelets/grn/grn.hpp"

namespace apportion {

namespace {

constexpr std::size_t kSearchedAgain = 4;
constexpr double kSetsAgain = 200'000;  ///< of each of these targets, at regular distances
constexpr double kTolerance = 1e-6;     ///< bits; 36 roundings of n log n are 2e-5 / samples

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
          combinations_(problem.options.cardinality == 1 ? levels_ : levels_ * levels_),
          samples_(static_cast<int>(problem.samples())) {}

    Prediction predict(std::size_t target, const PredictorSet& set) const {
        const Counts counts = count(target, set);
        int of_target[kMostLevels] = {};
        for (int c = 0; c < combinations_; ++c)
            for (int k = 0; k < levels_; ++k) of_target[k] += counts[c][k];
        return {entropy(counts, of_target), determination(counts, of_target)};
    }

    /// What the search minimises, in natural units.
    double badness(std::size_t target, const PredictorSet& set) const {
        const Prediction prediction = predict(target, set);
        return p_.parameters.criterion == GrnCriterion::entropy ? prediction.entropy : -prediction.determination;
    }

    /// Calls visit(set) for every `stride`-th set that may predict the target, in order.
    template <class Visit>
    void for_each_set(std::size_t target, std::size_t stride, Visit&& visit) const {
        const std::uint32_t n = p_.parameters.candidates;
        const std::uint64_t excluded = p_.targets[target * p_.parameters.target_words()];
        std::size_t number = 0;
        const auto offer = [&](std::uint32_t a, std::uint32_t b) {
            if (number++ % stride == 0 && a != excluded && (b != excluded || b == kNoGene))
                visit(PredictorSet{a, b, 0});
        };
        for (std::uint32_t a = 0; a < n; ++a) {
            if (p_.options.cardinality == 1) offer(a, kNoGene);
            if (p_.options.cardinality == 2)
                for (std::uint32_t b = a + 1; b < n; ++b) offer(a, b);
        }
    }

    bool allowed(std::size_t target, const PredictorSet& set) const {
        const std::uint64_t excluded = p_.targets[target * p_.parameters.target_words()];
        if (set.first >= p_.parameters.candidates || set.first == excluded) return false;
        if (p_.options.cardinality == 1) return set.second == kNoGene;
        return set.second < p_.parameters.candidates && set.second > set.first && set.second != excluded;
    }

    /// Of entropies in bits, or of the coefficient of determination.
    double error_of_score(std::size_t target, const PredictorSet& set) const {
        const Prediction prediction = predict(target, set);
        if (p_.parameters.criterion == GrnCriterion::entropy) {
            const double weight = p_.parameters.penalty * combinations_ + samples_;
            return std::abs(std::ldexp(set.score, -kFractionBits) / weight - prediction.entropy);
        }
        const Counts counts = count(target, set);
        int of_target[kMostLevels] = {};
        for (int c = 0; c < combinations_; ++c)
            for (int k = 0; k < levels_; ++k) of_target[k] += counts[c][k];
        const int most = *std::max_element(of_target, of_target + levels_);
        const double explained = most < samples_ ? (-set.score - most) / (samples_ - most) : 0;
        return std::abs(explained - prediction.determination);
    }

  private:
    Counts count(std::size_t target, const PredictorSet& set) const {
        Counts counts{};
        const std::uint8_t* const a = p_.levels[p_.candidate_genes[set.first]].data();
        const std::uint8_t* const b =
            set.second == kNoGene ? nullptr : p_.levels[p_.candidate_genes[set.second]].data();
        const std::uint8_t* const t = p_.levels[target].data() + p_.options.lag;
        for (int s = 0; s < samples_; ++s) ++counts[b ? a[s] * levels_ + b[s] : a[s]][t[s]];
        return counts;
    }

    double entropy(const Counts& counts, const int* of_target) const {
        const double penalty = p_.parameters.penalty;
        double sum = 0;
        for (int c = 0; c < combinations_; ++c) {
            int n = 0;
            for (int k = 0; k < levels_; ++k) n += counts[c][k];
            sum += (n + penalty) *
                   (n > 0 ? entropy_of(counts[c].data(), levels_, n) : entropy_of(of_target, levels_, samples_));
        }
        return sum / (penalty * combinations_ + samples_);
    }

    double determination(const Counts& counts, const int* of_target) const {
        int right = 0;
        for (int c = 0; c < combinations_; ++c)
            right += *std::max_element(counts[c].data(), counts[c].data() + levels_);
        const int most = *std::max_element(of_target, of_target + levels_);
        return most < samples_ ? static_cast<double>(right - most) / (samples_ - most) : 0;
    }

    const GrnProblem& p_;
    int levels_, combinations_, samples_;
};

}  // namespace

Prediction predict(const GrnProblem& problem, std::size_t target, const PredictorSet& set) {
    return Reference(problem).predict(target, set);
}

void search_by_reference(GrnProblem& problem, std::size_t first, std::size_t count) {
    constexpr double kTie = 1e-12;  // sums of logarithms in another order
    const Reference reference(problem);
    for (std::size_t t = first; t < first + count; ++t) {
        PredictorSet best = {kNoGene, kNoGene, std::numeric_limits<double>::infinity()};
        reference.for_each_set(t, 1, [&](PredictorSet set) {
            set.score = reference.badness(t, set);
            if (set.score < best.score - kTie) best = set;
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
        const auto stride = static_cast<std::size_t>(std::max(1.0, problem.sets_per_target() / kSetsAgain));
        const double found = reference.badness(t, problem.results[t]);
        reference.for_each_set(
            t, stride, [&](const PredictorSet& set) { worst = worse(worst, found - reference.badness(t, set)); });
    }
    return {worst, kTolerance};
}

}  // namespace apportion
