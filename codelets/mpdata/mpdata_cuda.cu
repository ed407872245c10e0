// SPDX-License-Identifier: LGPL-2.1-or-later
//
// MPDATA on a GPU: the stages of mpdata_stages.hpp, each as a kernel with a thread for a cell in every plane.
//
// Limit: a cell of a time step takes 26 doubles of memory traffic and about 340 operations, 17 of them divisions of
// some ten instructions. An H200 (4.8 TB/s, 17 T operations/s in double without contractions) moves these in 43 ps and
// computes them in 30 ps: memory, 23 G cells/s, of which 60 % are expected. A T4 (0.32 TB/s, 0.13 T operations/s)
// takes 0.65 ns and 4 ns: arithmetic, 0.25 G cells/s, of which 80 % are expected. Computed, not measured. Over PCIe a
// cell takes 16 bytes, and 24 more in the first step.
#include <starpu.h>
#include <starpu_cuda.h>

#include <algorithm>

#include "codelets/common/device_launch.hpp"
#include "codelets/common/device_worker.hpp"
#include "codelets/mpdata/mpdata_stages.hpp"

namespace apportion {

namespace {

using namespace mpdata;

constexpr unsigned kThreads = 128;             // along z, the contiguous direction
constexpr std::size_t kShareOfMemory = 8;      // of which scratch memory takes one
constexpr std::size_t kLeastMemory = 1 << 30;  // where StarPU does not know the device's

template <class Stage>
__global__ void cells(MpdataGrid g, int first, unsigned planes, Stage stage) {
    const unsigned z = blockIdx.x * blockDim.x + threadIdx.x, rows = static_cast<unsigned>(g.ny);
    if (z >= static_cast<unsigned>(g.nz)) return;
    for (unsigned x = blockIdx.z; x < planes; x += gridDim.z)
        for (unsigned y = blockIdx.y; y < rows; y += gridDim.y)
            stage(g, {first + static_cast<int>(x), static_cast<int>(y), static_cast<int>(z)});
}

unsigned across(int count) { return static_cast<unsigned>(std::min<std::size_t>(count, kMostAcross)); }

std::size_t most_scratch_bytes() {
    const starpu_ssize_t total = starpu_memory_get_total(starpu_worker_get_memory_node(starpu_worker_get_id_check()));
    return std::max<std::size_t>(total > 0 ? total : 0, kLeastMemory) / kShareOfMemory;
}

Field field(void* buffer, int first, const MpdataGrid& g, std::size_t offset = 0) {
    return {reinterpret_cast<double*>(STARPU_MATRIX_GET_PTR(buffer)) + offset, first, g.row(),
            STARPU_MATRIX_GET_LD(buffer)};
}

}  // namespace

void mpdata_cuda(void* buffers[], void* arg) {
    on_device([&] {
        const MpdataGrid g = *static_cast<const MpdataGrid*>(arg);
        const int planes = static_cast<int>(STARPU_MATRIX_GET_NY(buffers[2])), halo = g.halo();
        const BlockFields block{field(buffers[0], -halo, g),
                                {field(buffers[1], -halo, g), field(buffers[1], -halo, g, g.plane()),
                                 field(buffers[1], -halo, g, 2 * g.plane())},
                                field(buffers[2], 0, g)};
        const int together = planes_together(g, most_scratch_bytes());
        auto* const scratch =
            static_cast<double*>(this_device_worker().scratch.at_least(scratch_doubles(g, together) * sizeof(double)));
        advance(g, block, planes, together, scratch,
                [](const MpdataGrid& grid, int first, int count, const auto& stage) {
                    const dim3 blocks((static_cast<unsigned>(grid.nz) + kThreads - 1) / kThreads, across(grid.ny),
                                      across(count));
                    launch("stage of MPDATA", cells<std::decay_t<decltype(stage)>>, blocks, kThreads, grid, first,
                           static_cast<unsigned>(count), stage);
                });
    });
}

}  // namespace apportion
