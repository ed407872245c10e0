// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The kernels of the mpdata codelet and how fields lie in memory.
//
// A field is a sequence of planes along x; each plane has ny + 2 rows of nz + 2 doubles, z contiguous, of which the
// outer ring repeats the other side (y and z are periodic). Courant numbers are three such planes for each x: at the
// faces towards the next cell in x, y and z. Buffers: psi (planes of the block and 3 planes a time step on either
// side), Courant numbers (the same planes), the new psi (planes of the block); cl_arg is a MpdataGrid.
#pragma once

#include <cstddef>

#include "codelets/common/codelet.hpp"

namespace apportion {

struct MpdataGrid {
    int ny = 0, nz = 0;  ///< cells
    int steps = 1;       ///< time steps of one submission

    int row() const { return nz + 2; }
    std::size_t plane() const { return static_cast<std::size_t>(ny + 2) * static_cast<std::size_t>(row()); }
    int halo() const { return kHalo * steps; }

    static constexpr int kHalo = 3;  ///< planes on either side that one time step reads
};

/// Some rows of cells of every plane.
struct MpdataRows {
    int first = 0, count = 0;
};

/// grid.steps time steps of `planes` planes; `psi` and `courant` point to the first plane of the halo. One core.
void mpdata_advance(const MpdataGrid& grid, const double* psi, const double* courant, double* result, int planes);

/// One time step of these rows of `planes` planes; `psi` and `courant` are those of all rows, `result` points to the
/// first of these in the first plane.
void mpdata_advance_rows(const MpdataGrid& grid, const MpdataRows& rows, const double* psi, const double* courant,
                         double* result, int planes);

/// Makes the outer ring of a plane periodic.
void mpdata_wrap(const MpdataGrid& grid, double* plane);

void mpdata_cpu(void* buffers[], void* grid);

/// The parameters of a KernelArgument: rectangles of every worker, whose columns are planes.
struct MpdataRectangles {
    MpdataGrid grid;
    PartsOfWorkers of_workers;

    const MatrixPart& of(const TaskRange& range) const {
        return of_workers[static_cast<std::size_t>(range.worker)][range.part];
    }
};

/// Of the result, the third buffer has the rectangle only.
void mpdata_rectangle_cpu(void* buffers[], void* argument);

#ifdef APPORTION_CUDA
/// Asynchronous on the worker's stream.
void mpdata_cuda(void* buffers[], void* grid);
#endif

}  // namespace apportion
