// SPDX-License-Identifier: LGPL-2.1-or-later
// One thread block per target. A row of threads takes one first predictor, its threads take the second ones.
#include <cuda_runtime.h>

#include "codelets/grn_kernels.hpp"

namespace apportion {

namespace {

using namespace isa_generic;

constexpr unsigned kRow = 32;
constexpr unsigned kRows = 8;

__device__ std::int32_t common(const std::uint64_t* x, const std::uint64_t* y, std::size_t words) {
    std::int32_t n = 0;
    for (std::size_t w = 0; w < words; ++w) n += samples_in(x[w] & y[w]);
    return n;
}

__device__ std::int32_t common(const std::uint64_t* x, const std::uint64_t* y, const std::uint64_t* z,
                               std::size_t words) {
    std::int32_t n = 0;
    for (std::size_t w = 0; w < words; ++w) n += samples_in(x[w] & y[w] & z[w]);
    return n;
}

/// Whether x comes before y: the better one, and of equally good ones the first in the order of the candidates.
__device__ bool before(const PredictorSet& x, const PredictorSet& y) {
    if (x.score != y.score) return x.score < y.score;
    return x.first != y.first ? x.first < y.first : x.second < y.second;
}

template <int L>
__device__ double score_of(const GrnBlock& block, std::size_t words, const std::uint64_t* a, const std::uint64_t* b,
                           const std::uint64_t* t) {
    const auto samples = static_cast<std::int32_t>(block.rule.samples);
    Marginals<L> m;
    std::int32_t abt[L][L][L];
    m.b[0] = m.t[0] = samples;
    for (int k = 1; k < L; ++k) m.t[0] -= m.t[k] = common(t + (k - 1) * words, t + (k - 1) * words, words);
    for (int i = 1; i < L; ++i) {
        const std::uint64_t* const ai = a + (i - 1) * words;
        m.a[i] = common(ai, ai, words);
        m.b[i] = b ? common(b + (i - 1) * words, b + (i - 1) * words, words) : 0;
        m.b[0] -= m.b[i];
        for (int k = 1; k < L; ++k) {
            const std::uint64_t* const tk = t + (k - 1) * words;
            m.at[i][k] = common(ai, tk, words);
            m.bt[i][k] = b ? common(b + (i - 1) * words, tk, words) : 0;
            for (int j = 1; j < L; ++j) abt[i][j][k] = b ? common(ai, b + (j - 1) * words, tk, words) : 0;
        }
        for (int j = 1; j < L; ++j) m.ab[i][j] = b ? common(ai, b + (j - 1) * words, words) : 0;
    }
    return score<L>(block.rule, complete<L>(m, abt), m.t, b ? L : 1);
}

template <int L>
__global__ void search(GrnBlock block, GrnParameters parameters) {
    const std::size_t words = parameters.words(), gene_words = parameters.gene_words();
    const std::uint64_t* const record = block.targets + blockIdx.x * parameters.target_words();
    const auto excluded = static_cast<std::uint32_t>(record[0]);
    const std::uint64_t* const target = record + 1;
    PredictorSet best = {kNoGene, kNoGene, INFINITY};
    const auto try_set = [&](std::uint32_t a, std::uint32_t b) {
        if (a == excluded || (b == excluded && b != kNoGene)) return;
        const PredictorSet set = {a, b,
                                  score_of<L>(block, words, block.candidates + a * gene_words,
                                              b == kNoGene ? nullptr : block.candidates + b * gene_words, target)};
        if (before(set, best)) best = set;
    };
    if (parameters.cardinality == 1) {
        for (std::uint32_t a = threadIdx.y * kRow + threadIdx.x; a < parameters.candidates; a += kRow * kRows)
            try_set(a, kNoGene);
    } else {
        for (std::uint32_t a = threadIdx.y; a + 1 < parameters.candidates; a += kRows)
            for (std::uint32_t b = a + 1 + threadIdx.x; b < parameters.candidates; b += kRow) try_set(a, b);
    }
    __shared__ PredictorSet found[kRow * kRows];
    const unsigned me = threadIdx.y * kRow + threadIdx.x;
    found[me] = best;
    for (unsigned half = kRow * kRows / 2; half > 0; half /= 2) {
        __syncthreads();
        if (me < half && before(found[me + half], found[me])) found[me] = found[me + half];
    }
    if (me == 0) block.results[blockIdx.x] = found[0];
}

}  // namespace

void start_grn(const GrnBlock& block, const GrnParameters& parameters, void* stream) {
    const dim3 threads(kRow, kRows);
    const auto blocks = static_cast<unsigned>(block.count);
    if (parameters.levels == 2)
        search<2><<<blocks, threads, 0, static_cast<cudaStream_t>(stream)>>>(block, parameters);
    else
        search<3><<<blocks, threads, 0, static_cast<cudaStream_t>(stream)>>>(block, parameters);
}

}  // namespace apportion
