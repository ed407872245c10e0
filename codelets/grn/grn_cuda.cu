// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The GRN search on a GPU: what genes have in common, the slices of the search, the best of the slices; see
// grn_slices.hpp.
//
// Limit: arithmetic. With 2 levels and 300 samples a pair takes 20 counts of 32 bits, 16 of which a multiprocessor does
// in a cycle, and 12 numbers of 8 bytes from a table in shared memory, whose 32 banks the threads of a warp meet at
// random: about 4 cycles a pair, 60 G pairs/s on an H200 (132 multiprocessors, 1.8 GHz) and 15 G on a T4 (40, 1.5 GHz).
// Half of it is expected. Computed, not measured.
#include "codelets/common/device_launch.hpp"
#include "codelets/common/device_worker.hpp"
#include "codelets/grn/grn_buffers.hpp"
#include "codelets/grn/grn_slices.hpp"

namespace apportion {

namespace {

using namespace grn;

constexpr unsigned kThreads = kRow * kRows;
constexpr std::uint32_t kMostShared = 1024;  // entries of the n log2(n) table that leave room for four thread blocks

__global__ void count_kernel(Pass pass) {
    const std::size_t counts = pass.counts(), threads = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t n = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; n < counts; n += threads) pass.count(n);
}

/// By all threads of a block: the best of their sets goes to `result`.
__device__ void keep_best(const PredictorSet& own, PredictorSet* result) {
    __shared__ PredictorSet found[kThreads];
    const unsigned me = threadIdx.y * blockDim.x + threadIdx.x;
    found[me] = own;
    for (unsigned half = kThreads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (me < half && before(found[me + half], found[me])) found[me] = found[me + half];
    }
    if (me == 0) *result = found[0];
}

template <int L>
__global__ void search_kernel(Pass pass) {
    __shared__ std::int64_t table[kMostShared];
    ScoreRule rule = pass.block.rule;
    if (rule.samples < kMostShared) {
        for (unsigned n = threadIdx.y * kRow + threadIdx.x; n <= rule.samples; n += kThreads) table[n] = rule.nlogn[n];
        rule.nlogn = table;
    }
    __syncthreads();
    keep_best(best_of_thread<L>(pass, rule, blockIdx.x, blockIdx.y, threadIdx.x, threadIdx.y),
              pass.found + std::size_t{blockIdx.x} * pass.slices + blockIdx.y);
}

__global__ void best_kernel(Pass pass) {
    const PredictorSet* const found = pass.found + std::size_t{blockIdx.x} * pass.slices;
    PredictorSet best = found[0];
    for (unsigned slice = threadIdx.x; slice < pass.slices; slice += kThreads)
        if (before(found[slice], best)) best = found[slice];
    keep_best(best, pass.block.results + blockIdx.x);
}

void start(const Pass& pass) {
    const auto targets = static_cast<unsigned>(pass.block.count);
    launch("counts of genes", count_kernel, blocks_for(pass.counts(), kThreads), kThreads, pass);
    launch("search for predictors", pass.parameters.levels == 2 ? search_kernel<2> : search_kernel<3>,
           dim3(targets, pass.slices), dim3(kRow, kRows), pass);
    if (pass.slices > 1) launch("best of the slices", best_kernel, targets, kThreads, pass);
}

}  // namespace

void grn_cuda(void* buffers[], void* arg) {
    on_device([&] {
        const GrnParameters& parameters = *static_cast<const GrnParameters*>(arg);
        search(grn_block(buffers, parameters), parameters,
               this_device_worker().scratch.at_least(scratch_bytes(parameters)), start);
    });
}

}  // namespace apportion
