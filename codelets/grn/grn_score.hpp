// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What CPU and CUDA kernels of the GRN search share: from numbers of samples, counted in bit sets, to the score of a
// pair of predictor genes. Expression has L levels, 2 or 3. A gene is a bit set of samples for each level from 1 on;
// level 0 is what is left, so that its counts follow from the others and from the totals.
//
// Entropies are added up as whole numbers, n log2(n) in units of 2^-kFractionBits: sums are exact in any order, equal
// tables of counts have equal scores, and results are the same on every processor, bit for bit.
#pragma once

#include <cstdint>

#include "codelets/common/isa.hpp"

namespace apportion {

inline constexpr int kFractionBits = 20;
inline constexpr std::uint32_t kMostSamples = 65535;  ///< n log2(n) then has 41 bits, and counts 16

/// The best pair of one target gene; predictors are numbers of candidates, first < second.
struct PredictorSet {
    std::uint32_t first;
    std::uint32_t second;
    double score;  ///< the smaller the better, see score()
};
inline constexpr std::uint32_t kNoGene = 0xffffffff;

/// What scores are computed with; pointers are valid where the kernel runs.
struct ScoreRule {
    const std::int64_t* nlogn;  ///< for n = 0 ... samples: n log2(n) in units of 2^-kFractionBits
    std::uint32_t samples;
};

namespace APPORTION_ISA {

/// Samples by the levels of predictors and target: of (i, j, k) with i, j, k >= 1 counted, the others by subtraction.
template <int L>
struct Marginals {
    std::int32_t a[L], b[L], t[L];              ///< of one gene; a[0] is not needed
    std::int32_t ab[L][L], at[L][L], bt[L][L];  ///< of pairs of genes; only indices from 1 on
};

APPORTION_DEVICE inline std::int32_t samples_in(std::uint64_t word) {
#ifdef __CUDA_ARCH__
    return __popcll(word);
#else
    return __builtin_popcountll(word);
#endif
}

/// The whole table, from counts with all indices from 1 on.
template <int L>
struct Table {
    std::int32_t n[L][L][L];  ///< [i][j][k]
};

template <int L>
APPORTION_DEVICE inline Table<L> complete(const Marginals<L>& m, const std::int32_t (&abt)[L][L][L]) {
    Table<L> table;
    for (int i = 1; i < L; ++i)
        for (int j = 1; j < L; ++j) {
            std::int32_t rest = m.ab[i][j];
            for (int k = 1; k < L; ++k) rest -= table.n[i][j][k] = abt[i][j][k];
            table.n[i][j][0] = rest;
        }
    for (int i = 1; i < L; ++i) {  // j = 0
        std::int32_t rest = m.a[i];
        for (int j = 1; j < L; ++j) rest -= m.ab[i][j];
        for (int k = 1; k < L; ++k) {
            std::int32_t n = m.at[i][k];
            for (int j = 1; j < L; ++j) n -= abt[i][j][k];
            rest -= table.n[i][0][k] = n;
        }
        table.n[i][0][0] = rest;
    }
    for (int j = 0; j < L; ++j) {  // i = 0
        std::int32_t rest = m.b[j];
        for (int i = 1; i < L; ++i)
            for (int k = 0; k < L; ++k) rest -= table.n[i][j][k];
        for (int k = 1; k < L; ++k) {
            std::int32_t n = m.t[k];
            if (j > 0) {
                n = m.bt[j][k];
            } else {
                for (int other = 1; other < L; ++other) n -= m.bt[other][k];
            }
            for (int i = 1; i < L; ++i) n -= table.n[i][j][k];
            rest -= table.n[0][j][k] = n;
        }
        table.n[0][j][0] = rest;
    }
    return table;
}

/// The score of a pair of predictors: with N samples
///
///     N H(T | A B) = sum_ij n_ij log n_ij - sum_ijk n_ijk log n_ijk        (units of 2^-kFractionBits bits)
template <int L>
APPORTION_DEVICE inline double score(const ScoreRule& rule, const Table<L>& table) {
    std::int64_t sum = 0;
    for (int i = 0; i < L; ++i)
        for (int j = 0; j < L; ++j) {
            std::int32_t n = 0;
            for (int k = 0; k < L; ++k) {
                n += table.n[i][j][k];
                sum -= rule.nlogn[table.n[i][j][k]];
            }
            sum += rule.nlogn[n];
        }
    return static_cast<double>(sum);
}

}  // namespace APPORTION_ISA

}  // namespace apportion
