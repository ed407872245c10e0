// SPDX-License-Identifier: LGPL-2.1-or-later
// The host side of the CUDA codelets, on the stand-in: whatever the libraries refuse, the block ends as failed, with
// their words, and nothing is lost.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "codelets/blackscholes/blackscholes_kernels.hpp"
#include "codelets/common/codelet.hpp"
#include "codelets/common/device_worker.hpp"
#include "codelets/fft2d/fft2d_kernels.hpp"
#include "codelets/grn/grn_kernels.hpp"
#include "codelets/jacobi/jacobi_kernels.hpp"
#include "codelets/matmul/matmul_kernels.hpp"
#include "codelets/mpdata/mpdata_kernels.hpp"
#include "test/catch.hpp"
#include "test/codelets/cuda/buffers.hpp"
#include "test/codelets/cuda/stand_in.hpp"

using namespace apportion;

namespace {

using Function = void (*)(void* buffers[], void* arg);

/// Buffers on the device; the host does not touch them.
const void* const kSomewhere = reinterpret_cast<const void*>(0x10000);
starpu_matrix_interface matrix(std::size_t nx, std::size_t ny, std::size_t element_bytes) {
    return matrix_buffer(kSomewhere, nx, ny, element_bytes);
}
starpu_vector_interface vector(std::size_t count, std::size_t element_bytes) {
    return vector_buffer(kSomewhere, count, element_bytes);
}

struct Block {
    std::string name;
    std::function<void()> run;
};

template <class... Buffers>
Block block(std::string name, Function function, void* arg, Buffers... buffers) {
    return {std::move(name), [=]() mutable {
                void* pointers[] = {&buffers...};
                function(pointers, arg);
            }};
}

Block fft(std::uint32_t length, std::uint32_t rows, std::size_t element_bytes) {
    static Fft2dParameters parameters;
    return block("fft2d", fft2d_cuda, &parameters, matrix(length, rows, element_bytes),
                 matrix(rows, length, element_bytes));
}

Block mpdata(std::uint32_t planes, const MpdataGrid& grid) {
    static std::vector<MpdataGrid> grids(16);  // must stay where they are
    static std::size_t used = 0;
    MpdataGrid& g = grids.at(used++ % grids.size()) = grid;
    const auto plane = static_cast<std::uint32_t>(g.plane()), read = planes + 2 * static_cast<std::uint32_t>(g.halo());
    return block("mpdata", mpdata_cuda, &g, matrix(plane, read, 8), matrix(3 * plane, read, 8),
                 matrix(plane, planes, 8));
}

Block batch(std::uint32_t n, std::uint32_t systems, std::size_t element_bytes) {
    static std::uint64_t iterations = 3;
    return block("jacobi_batch", jacobi_batch_cuda, &iterations, matrix(n, n * systems, element_bytes),
                 matrix(n, systems, element_bytes), matrix(n, systems, element_bytes));
}

Block dense(std::uint32_t n, std::uint32_t rows, std::size_t element_bytes) {
    return block("jacobi", jacobi_dense_cuda, nullptr, matrix(n, rows, element_bytes), vector(rows, 2 * element_bytes),
                 vector(n, element_bytes), vector(rows, element_bytes), vector(rows, element_bytes),
                 vector(1, 2 * element_bytes));
}

Block sparse(std::uint32_t rows) {
    return block("jacobi, sparse", jacobi_sparse_cuda, nullptr, vector(rows + 1, 8), vector(5 * rows, 4),
                 vector(5 * rows, 8), vector(rows, 16), vector(rows, 8), vector(rows, 8), vector(rows, 8),
                 vector(1, 16));
}

Block grn(std::uint32_t levels, std::uint32_t candidates, std::uint32_t targets) {
    static std::vector<GrnParameters> all(16);
    static std::size_t used = 0;
    GrnParameters& p = all.at(used++ % all.size()) = {};
    p.levels = levels;
    p.candidates = candidates;
    p.samples = 300;
    return block("grn", grn_cuda, &p, vector(static_cast<std::uint32_t>(candidates * p.gene_words()), 8),
                 vector(p.samples + 1, 8), vector(targets, 8 * p.target_words()), vector(targets, 16));
}

Block options(std::uint64_t paths, std::uint32_t count, std::size_t element_bytes) {
    static BlackScholesParameters parameters[2];
    BlackScholesParameters& p = parameters[paths > 0];
    p.paths = paths;
    static KernelArgument arguments[2];
    arguments[paths > 0].parameters = &p;
    return block("blackscholes", blackscholes_cuda, &arguments[paths > 0], matrix(count, 5, element_bytes),
                 matrix(count, 2, element_bytes));
}

Block matmul(std::uint32_t n, std::size_t element_bytes) {
    return block("matmul", matmul_cuda, nullptr, matrix(n, n, element_bytes), matrix(n, n, element_bytes),
                 matrix(n, n, element_bytes));
}

/// Every codelet, by every way through it.
std::vector<Block> all_blocks() {
    return {fft(1000, 13, 8),      fft(1000, 13, 16), mpdata(5, {20, 30, 1}), mpdata(70, {20, 30, 3}),
            batch(40, 7, 4),       batch(200, 7, 8),  dense(100, 9, 4),       dense(100, 9, 8),
            sparse(1000),          grn(2, 500, 10),   grn(3, 500, 9000),      options(0, 1000, 4),
            options(100, 1000, 8), matmul(64, 4),     matmul(64, 8)};
}

void check_nothing_is_left() {
    CHECK(stand_in::state().memory.empty());
    CHECK(stand_in::state().plans.empty());
    CHECK(stand_in::state().blas.empty());
    CHECK(stand_in::state().problems == std::vector<std::string>{});
}

}  // namespace

TEST_CASE("A block starts all its work on the worker's stream, and what the worker keeps is freed at the end") {
    for (const Block& block : all_blocks()) {
        INFO(block.name);
        stand_in::reset();
        block.run();
        CHECK(stand_in::state().running);
        const int first = stand_in::state().calls;
        block.run();
        CHECK(stand_in::state().calls - first <= first);  // what is kept is not made again
        CHECK(stand_in::state().failures.empty());
        forget_device_workers();
        check_nothing_is_left();
    }
}

TEST_CASE("Whatever call is refused, the block fails with the library's words, and the next one is computed") {
    for (const Block& block : all_blocks()) {
        stand_in::reset();
        block.run();
        forget_device_workers();
        const int calls = stand_in::state().calls;
        REQUIRE(calls > 1);
        for (int refused = 1; refused <= calls; ++refused) {
            stand_in::reset();
            stand_in::state().refuse = refused;
            block.run();
            const std::string in_block = stand_in::state().refused;
            INFO(block.name << ", call " << refused << ": " << in_block);
            if (in_block.empty()) {  // it will be one of those that give back
                CHECK(stand_in::state().failures.empty());
            } else {
                REQUIRE(stand_in::state().failures.size() == 1);
                CHECK_THAT(stand_in::state().failures[0], ContainsSubstring(stand_in::state().words));
                if (in_block != "launch") CHECK_THAT(stand_in::state().failures[0], ContainsSubstring(in_block));
                block.run();
                CHECK(stand_in::state().failures.size() == 1);
            }
            forget_device_workers();
            CHECK(!stand_in::state().refused.empty());
            check_nothing_is_left();
        }
    }
}

TEST_CASE("Scratch memory that grows is freed when the stream has nothing more to do") {
    stand_in::reset();
    matmul(64, 8).run();
    mpdata(5, {20, 30, 1}).run();
    mpdata(5, {200, 300, 1}).run();
    fft(1000, 13, 16).run();
    CHECK(stand_in::state().failures.empty());
    forget_device_workers();
    check_nothing_is_left();
}

TEST_CASE("The transforms of both passes keep their plans, of all powers of two") {
    stand_in::reset();
    fft(1 << 12, 3, 16).run();
    fft(1 << 14, 5, 16).run();
    // 64 MiB hold 2^10 rows of 2^12 elements of 16 bytes, and 2^8 of 2^14.
    CHECK(stand_in::state().plans.size() == 11 + 9);
    fft(1 << 12, 1023, 16).run();
    fft(1 << 14, 1023, 16).run();
    CHECK(stand_in::state().plans.size() == 11 + 9);
    forget_device_workers();
    check_nothing_is_left();
}

TEST_CASE("No block is too large for a grid, and scratch memory stays within a small device's") {
    const std::vector<Block> blocks = {
        mpdata(70000, {100, 100, 1}), mpdata(3, {70000, 30, 2}),  mpdata(100, {2048, 2048, 1}),
        batch(30000, 40000, 8),       batch(10, 200000000, 4),    batch(3500, 1, 8),
        dense(2000000, 1000000, 8),   sparse(400000000),          grn(3, 60000, 60000),
        grn(2, 2, 50000000),          options(0, 4000000000u, 4), options(10, 4000000000u, 8),
        fft(100000007, 5, 16),        fft(1, 1000000, 8)};
    for (const Block& block : blocks) {
        INFO(block.name);
        stand_in::reset();
        block.run();
        CHECK(stand_in::state().failures == std::vector<std::string>{});
        CHECK(stand_in::state().running);
        std::size_t bytes = 0;
        for (const auto& [address, size] : stand_in::state().memory) bytes += size;
        if (block.name != "fft2d" && block.name != "mpdata") CHECK(bytes <= stand_in::state().memory_bytes / 8);
        forget_device_workers();
        check_nothing_is_left();
    }
}
