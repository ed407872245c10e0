// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Inference of gene regulatory networks by exhaustive search, the bioinformatics application of the PLB-HeC paper
// (section IV.A; Borelli et al., BMC Bioinformatics 14, S5, 2013): for each target gene the pair of genes whose
// discretised expression tells most about the target's, by mean conditional entropy. A unit is one target gene; the
// candidate predictors are shared by all.
//
// Differs from that paper: it divides the sets of genes that are searched, for a size of the sets and a number of
// targets that it does not give. Here each target's search stays whole, so that its best pair needs no reduction over
// processors.
//
// Of equally good pairs the first in the order of the candidates wins, which is that of the file, first predictor
// first.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codelets/common/codelet.hpp"
#include "codelets/grn/grn_kernels.hpp"

namespace apportion {

/// Expression of genes in samples (conditions, moments); values gene by gene.
struct Expression {
    std::vector<std::string> genes;
    std::size_t samples = 0;
    std::vector<double> values;

    const double* of(std::size_t gene) const { return values.data() + gene * samples; }
};

/// Level of each of `samples` values: levels of equally many samples, above the 1/L, 2/L quantiles (linear between
/// order statistics).
std::vector<std::uint8_t> discretise(const double* values, std::size_t samples, std::uint32_t levels);

struct GrnOptions {
    std::uint32_t levels = 2;
    std::uint64_t targets = 0;     ///< the first ones of the file; 0: all
    std::uint64_t candidates = 0;  ///< the genes of largest variance; 0: all
};

struct GrnProblem {
    GrnOptions options;
    GrnParameters parameters;
    std::vector<std::string> genes;
    std::vector<std::uint32_t> candidate_genes;     ///< numbers of genes, ascending
    std::vector<std::vector<std::uint8_t>> levels;  ///< [gene][sample]
    std::vector<std::uint64_t> candidates;          ///< see GrnBlock
    std::vector<std::uint64_t> targets;
    std::vector<std::int64_t> nlogn;
    std::vector<PredictorSet> results;

    std::size_t target_count() const { return results.size(); }
    std::size_t samples() const { return parameters.samples; }
    double pairs_per_target() const;  ///< of predictors, the target itself among them
};

/// Discretises and packs. Throws UserError, without a file's name, when options and data do not fit together.
GrnProblem make_grn_problem(const Expression& expression, const GrnOptions& options);

/// Random expression in which the first genes, the targets, follow pairs of later ones with a little noise: the level
/// of target t is the sum of those of its two predictors modulo `levels`.
Expression random_expression(std::size_t genes, std::size_t samples, std::size_t targets, std::uint32_t levels,
                             std::uint64_t seed);

/// The pair that random_expression planted for the target, ascending; none where fewer than two genes are no targets.
std::vector<std::uint32_t> planted_predictors(std::size_t genes, std::size_t targets, std::size_t target,
                                              std::uint64_t seed);

inline constexpr std::uint64_t kGenesPerTarget = 50;  ///< in generated problems, as the simulated platforms count them
inline constexpr std::size_t kGeneratedSamples = 300;

/// Random expression of that many genes; a fiftieth of them are targets unless the options say otherwise. In the
/// simulated flavour only the sizes. Throws UserError like make_grn_problem().
GrnProblem generated_grn_problem(std::uint64_t genes, GrnOptions options, std::uint64_t seed);

/// verify() counts every target's best pair again, sample by sample, and searches a few targets with the reference.
/// Errors are of entropies in bits.
std::unique_ptr<Workload> make_grn(std::shared_ptr<GrnProblem> problem);

/// Two levels, all pairs of `size` generated genes.
std::unique_ptr<Workload> make_grn(const WorkloadOptions& options);

/// How good a pair of genes predicts a target, counted sample by sample.
struct Prediction {
    double entropy;  ///< mean conditional entropy of the target in bits
    /// Coefficient of determination; 0 for a target of one level, which leaves nothing to explain.
    double determination;
};
Prediction predict(const GrnProblem& problem, std::size_t target, const PredictorSet& pair);

/// The search as written in the text books, with a table of counts filled sample by sample, for `count` targets from
/// `first` on.
void search_by_reference(GrnProblem& problem, std::size_t first, std::size_t count);

/// The kernel over all targets in one call on this thread: the peer that blocks are measured against.
void search_by_one_call(GrnProblem& problem);

Verification verify_grn(const GrnProblem& problem);

}  // namespace apportion
