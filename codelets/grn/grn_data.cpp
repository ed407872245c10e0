// SPDX-License-Identifier: LGPL-2.1-or-later
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "codelets/common/flavour.hpp"
#include "codelets/common/matrix.hpp"
#include "codelets/common/random.hpp"
#include "codelets/grn/grn.hpp"
#include "models/io/text.hpp"
#include "models/io/user_error.hpp"

namespace apportion {

namespace {

constexpr double kNoise = 0.05;  ///< of planted targets, in levels

double mean(const double* values, std::size_t n) { return std::accumulate(values, values + n, 0.0) / n; }

double variance(const double* values, std::size_t n) {
    const double m = mean(values, n);
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += (values[i] - m) * (values[i] - m);
    return sum / n;
}

std::vector<double> thresholds(const double* values, std::size_t n, std::uint32_t levels) {
    std::vector<double> sorted(values, values + n), result;
    std::ranges::sort(sorted);
    for (std::uint32_t level = 1; level < levels; ++level) {
        const double position = static_cast<double>(n - 1) * level / levels;
        const auto below = static_cast<std::size_t>(position);
        const double above = sorted[std::min(below + 1, n - 1)];
        result.push_back(sorted[below] + (position - static_cast<double>(below)) * (above - sorted[below]));
    }
    return result;
}

/// The genes of largest variance, ascending.
std::vector<std::uint32_t> most_variable(const Expression& expression, std::size_t count) {
    std::vector<double> variances(expression.genes.size());
    for (std::size_t g = 0; g < variances.size(); ++g) variances[g] = variance(expression.of(g), expression.samples);
    std::vector<std::uint32_t> order(variances.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::uint32_t g) { return variances[g]; });
    order.resize(count);
    std::ranges::sort(order);
    return order;
}

void check(const Expression& expression, const GrnOptions& options) {
    const std::size_t genes = expression.genes.size();
    constexpr std::uint64_t kFewest = 3;  // a target and a pair
    if (genes < kFewest) throw UserError("has {}; at least {} are needed", counted(genes, "gene"), kFewest);
    if (options.candidates > genes || options.targets > genes)
        throw UserError("has {} genes, but {} {} are wanted", genes, std::max(options.candidates, options.targets),
                        options.candidates > genes ? "candidates" : "targets");
    if (options.candidates > 0 && options.candidates < kFewest)
        throw UserError("is to be searched with {}; at least {} are needed", counted(options.candidates, "candidate"),
                        kFewest);
    if (expression.samples < 2) throw UserError("has {}; at least 2 are needed", counted(expression.samples, "sample"));
    if (expression.samples > kMostSamples)
        throw UserError("has {} samples; at most {} can be counted", expression.samples, kMostSamples);
}

/// Bit sets of `samples` levels from the first on.
void pack(const std::uint8_t* levels, const GrnParameters& parameters, std::uint64_t* bits) {
    for (std::size_t s = 0; s < parameters.samples; ++s)
        if (levels[s] > 0) bits[(levels[s] - 1) * parameters.words() + s / 64] |= std::uint64_t{1} << (s % 64);
}

/// Uniform in [0, 1), a function of its arguments only.
double uniform(std::uint64_t seed, std::uint64_t gene, std::uint64_t sample) {
    return static_cast<double>(mix(mix(mix(seed) + gene) + sample) >> 11) * 0x1p-53;
}

}  // namespace

std::vector<std::uint8_t> discretise(const double* values, std::size_t samples, std::uint32_t levels) {
    const std::vector<double> limits = thresholds(values, samples, levels);
    std::vector<std::uint8_t> result(samples);
    // A value on a threshold is on the lower side.
    for (std::size_t s = 0; s < samples; ++s)
        for (const double limit : limits) result[s] += values[s] > limit;
    return result;
}

double GrnProblem::pairs_per_target() const {
    const double n = parameters.candidates;
    return n * (n - 1) / 2;
}

GrnProblem make_grn_problem(const Expression& expression, const GrnOptions& options) {
    check(expression, options);
    const std::size_t genes = expression.genes.size();
    GrnProblem p;
    p.options = options;
    p.genes = expression.genes;
    p.candidate_genes = most_variable(expression, options.candidates > 0 ? options.candidates : genes);
    GrnParameters& parameters = p.parameters;
    parameters.levels = options.levels;
    parameters.samples = static_cast<std::uint32_t>(expression.samples);
    parameters.candidates = static_cast<std::uint32_t>(p.candidate_genes.size());

    for (std::size_t g = 0; g < genes; ++g)
        p.levels.push_back(discretise(expression.of(g), expression.samples, options.levels));
    p.candidates.resize(p.candidate_genes.size() * parameters.gene_words());
    std::vector<std::uint32_t> number(genes, kNoGene);
    for (std::size_t c = 0; c < p.candidate_genes.size(); ++c) {
        number[p.candidate_genes[c]] = static_cast<std::uint32_t>(c);
        pack(p.levels[p.candidate_genes[c]].data(), parameters, p.candidates.data() + c * parameters.gene_words());
    }
    p.results.resize(options.targets > 0 ? options.targets : genes);
    p.targets.resize(p.results.size() * parameters.target_words());
    for (std::size_t t = 0; t < p.results.size(); ++t) {
        std::uint64_t* const record = p.targets.data() + t * parameters.target_words();
        record[0] = number[t];
        pack(p.levels[t].data(), parameters, record + 1);
    }
    for (std::uint32_t n = 0; n <= parameters.samples; ++n)
        p.nlogn.push_back(n == 0 ? 0 : std::llround(n * std::log2(n) * (1 << kFractionBits)));
    return p;
}

std::vector<std::uint32_t> planted_predictors(std::size_t genes, std::size_t targets, std::size_t target,
                                              std::uint64_t seed) {
    const std::size_t others = genes - std::min(genes, targets);
    if (others < 2) return {};
    const std::uint64_t draw = mix(mix(seed ^ 0x706c616e74u) + target);
    const std::size_t first = draw % others;
    const std::size_t second = (first + 1 + (draw >> 32) % (others - 1)) % others;
    return {static_cast<std::uint32_t>(targets + std::min(first, second)),
            static_cast<std::uint32_t>(targets + std::max(first, second))};
}

Expression random_expression(std::size_t genes, std::size_t samples, std::size_t targets, std::uint32_t levels,
                             std::uint64_t seed) {
    Expression e;
    e.samples = samples;
    e.values.resize(genes * samples);
    for (std::size_t g = 0; g < genes; ++g) {
        e.genes.push_back(fmt::format("G{}", g + 1));
        for (std::size_t s = 0; s < samples; ++s) e.values[g * samples + s] = uniform(seed, g, s);
    }
    for (std::size_t t = 0; t < std::min(targets, genes); ++t) {
        const auto predictors = planted_predictors(genes, targets, t, seed);
        if (predictors.empty()) continue;
        const auto first = discretise(e.of(predictors[0]), samples, levels);
        const auto second = discretise(e.of(predictors[1]), samples, levels);
        for (std::size_t s = 0; s < samples; ++s)
            e.values[t * samples + s] = (first[s] + second[s]) % levels + kNoise * e.values[t * samples + s];
    }
    return e;
}

GrnProblem generated_grn_problem(std::uint64_t genes, GrnOptions options, std::uint64_t seed) {
    if (options.targets == 0) options.targets = std::max<std::uint64_t>(genes / kGenesPerTarget, 1);
    if (kSimulated) {
        GrnProblem problem;
        problem.options = options;
        problem.parameters.samples = kGeneratedSamples;
        problem.parameters.candidates = static_cast<std::uint32_t>(genes);
        problem.genes.resize(genes);
        problem.results.resize(options.targets);
        return problem;
    }
    require_free_memory(genes * kGeneratedSamples * sizeof(double), "the expression values");
    return make_grn_problem(random_expression(genes, kGeneratedSamples, options.targets, options.levels, seed),
                            options);
}

}  // namespace apportion
