// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The batch of Jacobi systems as a GPU takes it: one iteration of the rows of many systems at a time, however few
// systems a block has. x and the next x are in the block's result and in scratch memory in turn. Runs on the host as
// well, for tests.
#pragma once

#include <algorithm>

#include "codelets/jacobi/jacobi_kernels.hpp"

namespace apportion {

inline constexpr std::size_t kMostCached = 90;  ///< unknowns of a system in float whose matrix has 32 KiB

/// Whether a multiprocessor's first-level cache keeps the matrix, beside one more on the smallest since 2018 (a T4's)
/// and three on others: then one thread block does all iterations.
template <class T>
constexpr bool stays_cached(std::size_t n) {
    return n <= kMostCached && n * n * sizeof(T) <= kMostCached * kMostCached * sizeof(float);
}

/// One iteration of all rows of the systems, which are numbered through.
template <class T>
struct BatchIteration {
    BatchSystems<T> systems;
    const T* x;
    std::size_t x_ld;
    T* x_new;
    std::size_t x_new_ld;

    APPORTION_BOTH std::size_t rows() const { return systems.systems * systems.n; }
    APPORTION_BOTH const T* row(std::size_t r) const { return systems.a + r * systems.a_ld; }
    APPORTION_BOTH const T* x_of(std::size_t r) const { return x + r / systems.n * x_ld; }
    APPORTION_BOTH void store(std::size_t r, T product) const {
        const std::size_t system = r / systems.n, i = r - system * systems.n;
        const T b = systems.b[system * systems.b_ld + i];
        x_new[system * x_new_ld + i] = x[system * x_ld + i] + jacobi_step<T>({b, row(r)[i]}, product);
    }
};

/// Systems that go together, and the elements of scratch memory that they take: at most 64 MiB, or one system.
template <class T>
constexpr std::size_t batch_systems_together(std::size_t n) {
    constexpr std::size_t kScratch_bytes = 64 << 20;
    return std::max<std::size_t>(kScratch_bytes / (n * sizeof(T)), 1);
}

/// All iterations: clear(x, ld, systems) sets the x of so many systems to zero, run(iteration) does one.
template <class T, class Clear, class Run>
void run_batch(const BatchSystems<T>& all, T* scratch, Clear&& clear, Run&& run) {
    const std::size_t together = batch_systems_together<T>(all.n);
    for (std::size_t first = 0; first < all.systems; first += together) {
        BatchSystems<T> some = all;
        some.systems = std::min(together, all.systems - first);
        some.a += first * all.n * all.a_ld;
        some.b += first * all.b_ld;
        some.x += first * all.x_ld;
        struct Vectors {
            T* data;
            std::size_t ld;
        } from{scratch, all.n}, to{some.x, all.x_ld};
        if (all.iterations % 2 == 0) std::swap(from, to);  // the last iteration writes the result
        clear(from.data, from.ld, some.systems);
        for (std::uint64_t iteration = 0; iteration < all.iterations; ++iteration, std::swap(from, to))
            run(BatchIteration<T>{some, from.data, from.ld, to.data, to.ld});
    }
}

}  // namespace apportion
