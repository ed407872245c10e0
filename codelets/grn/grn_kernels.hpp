// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The kernels of the grn codelet. Buffers: the bit sets of the candidate predictors, the n log2(n) table, the bit sets
// of the block's targets, and their results (PredictorSet); `arg` points to GrnParameters.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codelets/common/isa.hpp"
#include "codelets/grn/grn_score.hpp"

namespace apportion {

struct GrnParameters {
    std::uint32_t levels = 2;  ///< 2 or 3
    std::uint32_t samples = 0;
    std::uint32_t candidates = 0;

    /// 64-bit words of a bit set: a number that the CPU has a loop for, the rest being zero.
    APPORTION_DEVICE std::size_t words() const {
        const std::size_t least = (samples + 63) / 64;
        if (least <= 2) return 2;
        if (least <= 4) return 4;
        return least > 5 && least <= 8 ? 8 : least;
    }
    APPORTION_DEVICE std::size_t gene_words() const { return words() * (levels - 1); }
    APPORTION_DEVICE std::size_t target_words() const { return 1 + gene_words(); }
};

/// The data of one block. Bit sets lie gene by gene, level by level from 1 on. Before those of a target is a word with
/// the target's own number among the candidates, which is left out of its predictors; kNoGene if it is none.
struct GrnBlock {
    const std::uint64_t* candidates;
    const std::uint64_t* targets;
    ScoreRule rule;
    std::size_t count;
    PredictorSet* results;
};

/// On one core.
struct GrnKernels {
    void (*search)(const GrnBlock& block, const GrnParameters& parameters);
};

void grn_cpu(void* buffers[], void* arg);

#ifdef APPORTION_CUDA
/// Asynchronous on the worker's stream.
void grn_cuda(void* buffers[], void* arg);
#endif

}  // namespace apportion

APPORTION_DECLARE_KERNELS(GrnKernels, grn_kernels)
