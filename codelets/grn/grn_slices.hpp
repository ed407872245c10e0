// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The GRN search as a GPU takes it: what two genes have in common with each other is counted before, once; then the
// pairs of predictors of a target are dealt to slices, each of them a thread block's, so that few targets use the whole
// GPU; and the best of the slices wins. Runs on the host as well, for tests.
#pragma once

#include <algorithm>
#include <cmath>

#include "codelets/grn/grn_kernels.hpp"

namespace apportion::grn {

inline constexpr unsigned kRow = 32;  ///< threads of a slice that share a first predictor
inline constexpr unsigned kRows = 8;

/// Whether x comes before y: the better one, and of equally good ones the first in the order of the candidates.
APPORTION_DEVICE inline bool before(const PredictorSet& x, const PredictorSet& y) {
    if (x.score != y.score) return x.score < y.score;
    return x.first != y.first ? x.first < y.first : x.second < y.second;
}

/// Targets that go together, and their scratch memory.
struct Pass {
    GrnBlock block;
    GrnParameters parameters;
    unsigned slices;
    PredictorSet* found;     ///< [target][slice]
    std::uint16_t* in_both;  ///< [target][candidate][i][k]: samples in both, for levels from 1 on; last [candidate][i]

    APPORTION_DEVICE std::size_t inner() const { return parameters.levels - 1; }
    APPORTION_DEVICE const std::uint64_t* candidate(std::size_t c) const {
        return block.candidates + c * parameters.gene_words();
    }
    APPORTION_DEVICE const std::uint64_t* record(std::size_t target) const {
        return block.targets + target * parameters.target_words();
    }
    APPORTION_DEVICE std::uint16_t* with_target(std::size_t target, std::size_t c) const {
        return in_both + (target * parameters.candidates + c) * inner() * inner();
    }
    APPORTION_DEVICE std::uint16_t* alone(std::size_t c) const { return with_target(block.count, 0) + c * inner(); }
    /// Numbers of with_target and alone, one for each of which count() is called.
    APPORTION_DEVICE std::size_t counts() const { return (block.count + 1) * parameters.candidates; }

    APPORTION_DEVICE std::uint16_t common(const std::uint64_t* x, const std::uint64_t* y) const {
        std::int32_t n = 0;
        for (std::size_t w = 0; w < parameters.words(); ++w) n += isa_generic::samples_in(x[w] & y[w]);
        return static_cast<std::uint16_t>(n);
    }
    APPORTION_DEVICE void count(std::size_t number) const {
        const std::size_t target = number / parameters.candidates, c = number - target * parameters.candidates;
        const std::size_t words = parameters.words();
        for (std::size_t i = 0; i < inner(); ++i) {
            const std::uint64_t* const level = candidate(c) + i * words;
            if (target == block.count)
                alone(c)[i] = common(level, level);
            else
                for (std::size_t k = 0; k < inner(); ++k)
                    with_target(target, c)[i * inner() + k] = common(level, record(target) + 1 + k * words);
        }
    }
};

/// Samples of a target by level.
template <int L>
APPORTION_DEVICE inline void count_target(const Pass& p, std::size_t target, std::int32_t (&t)[L]) {
    t[0] = static_cast<std::int32_t>(p.parameters.samples);
    for (int k = 1; k < L; ++k) {
        const std::uint64_t* const level = p.record(target) + 1 + (k - 1) * p.parameters.words();
        t[0] -= t[k] = p.common(level, level);
    }
}

/// The score of the pair a, b.
template <int L>
APPORTION_DEVICE inline double score_of(const Pass& p, const ScoreRule& rule, std::size_t target,
                                        const std::int32_t (&t)[L], std::uint32_t a, std::uint32_t b) {
    const std::size_t words = p.parameters.words();
    isa_generic::Marginals<L> m{};
    std::int32_t abt[L][L][L] = {};
    for (int k = 0; k < L; ++k) m.t[k] = t[k];
    m.b[0] = static_cast<std::int32_t>(rule.samples);
    for (int i = 1; i < L; ++i) {
        m.a[i] = p.alone(a)[i - 1];
        m.b[0] -= m.b[i] = p.alone(b)[i - 1];
        for (int k = 1; k < L; ++k) {
            m.at[i][k] = p.with_target(target, a)[(i - 1) * (L - 1) + k - 1];
            m.bt[i][k] = p.with_target(target, b)[(i - 1) * (L - 1) + k - 1];
        }
    }
    const std::uint64_t* const a_bits = p.candidate(a);
    const std::uint64_t* const b_bits = p.candidate(b);
    const std::uint64_t* const t_bits = p.record(target) + 1;
    for (std::size_t w = 0; w < words; ++w)
        for (int i = 1; i < L; ++i)
            for (int j = 1; j < L; ++j) {
                const std::uint64_t both = a_bits[(i - 1) * words + w] & b_bits[(j - 1) * words + w];
                m.ab[i][j] += isa_generic::samples_in(both);
                for (int k = 1; k < L; ++k) abt[i][j][k] += isa_generic::samples_in(both & t_bits[(k - 1) * words + w]);
            }
    return isa_generic::score<L>(rule, isa_generic::complete<L>(m, abt));
}

/// The best of the pairs that thread (x, y) of a slice has.
template <int L>
APPORTION_DEVICE inline PredictorSet best_of_thread(const Pass& p, const ScoreRule& rule, std::size_t target,
                                                    unsigned slice, unsigned x, unsigned y) {
    std::int32_t t[L];
    count_target<L>(p, target, t);
    const auto excluded = static_cast<std::uint32_t>(p.record(target)[0]);
    PredictorSet best = {kNoGene, kNoGene, INFINITY};
    const std::uint32_t candidates = p.parameters.candidates;
    const std::size_t row = std::size_t{slice} * kRows + y, rows = std::size_t{p.slices} * kRows;
    for (std::size_t first = row; first + 1 < candidates; first += rows)
        for (std::size_t second = first + 1 + x; second < candidates; second += kRow) {
            const auto a = static_cast<std::uint32_t>(first), b = static_cast<std::uint32_t>(second);
            if (a == excluded || b == excluded) continue;
            const PredictorSet pair = {a, b, score_of<L>(p, rule, target, t, a, b)};
            if (before(pair, best)) best = pair;
        }
    return best;
}

/// Slices of each of so many targets: together four times as many thread blocks as the largest GPU runs at a time, so
/// that the last ones matter little, but none without work.
inline unsigned slices_for(std::size_t targets, const GrnParameters& p) {
    constexpr std::size_t kThreadBlocks = 4096;
    const std::size_t wanted = (kThreadBlocks + targets - 1) / targets;
    return static_cast<unsigned>(std::clamp<std::size_t>(wanted, 1, p.candidates / kRows + 1));
}
inline constexpr std::size_t kMostFound = 2 * 4096;  ///< results of slices, where a target has several

inline std::size_t counts_bytes(const GrnParameters& p, std::size_t targets) {
    const std::size_t inner = p.levels - 1;
    return sizeof(std::uint16_t) * p.candidates * inner * (targets * inner + 1);
}

/// Targets whose counts have at most 64 MiB; one at least.
inline std::size_t targets_together(const GrnParameters& p) {
    constexpr std::size_t kScratch_bytes = 64 << 20;
    const std::size_t each = counts_bytes(p, 2) - counts_bytes(p, 1);
    return std::max<std::size_t>(kScratch_bytes / std::max<std::size_t>(each, 1), 1);
}

inline std::size_t scratch_bytes(const GrnParameters& p) {
    return kMostFound * sizeof(PredictorSet) + counts_bytes(p, targets_together(p));
}

/// The whole search: run(pass) for all targets, some at a time.
template <class Run>
void search(const GrnBlock& all, const GrnParameters& parameters, void* scratch, Run&& run) {
    const std::size_t together = targets_together(parameters);
    auto* const found = static_cast<PredictorSet*>(scratch);
    auto* const counts = reinterpret_cast<std::uint16_t*>(found + kMostFound);
    for (std::size_t first = 0; first < all.count; first += together) {
        GrnBlock some = all;
        some.count = std::min(together, all.count - first);
        some.targets += first * parameters.target_words();
        some.results += first;
        const unsigned slices = slices_for(some.count, parameters);
        run(Pass{some, parameters, slices, slices == 1 ? some.results : found, counts});
    }
}

}  // namespace apportion::grn
