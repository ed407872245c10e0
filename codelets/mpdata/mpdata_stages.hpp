// SPDX-License-Identifier: LGPL-2.1-or-later
//
// MPDATA as a GPU takes it: the stages of mpdata_cpu.cpp, four for a time step, each for all cells of some planes, with
// the same arithmetic. Neighbours in y and z are found by wrapped indices, so that intermediate fields need no rings.
// A block goes piece by piece, so that the intermediate fields of a piece fit scratch memory of a given size. Runs on
// the host as well, for tests.
#pragma once

#include <algorithm>
#include <cstddef>

#include "codelets/mpdata/mpdata_arithmetic.hpp"
#include "codelets/mpdata/mpdata_kernels.hpp"

namespace apportion::mpdata {

/// A field in the device's memory, addressed by plane (from `first` on), row and cell.
struct Field {
    double* data;
    int first, row;
    std::size_t stride;  ///< doubles from plane to plane

    APPORTION_CELL double& at(int x, int y, int z) const {
        return data[static_cast<std::size_t>(x - first) * stride +
                    static_cast<std::size_t>(y + 1) * static_cast<std::size_t>(row) + static_cast<std::size_t>(z + 1)];
    }
};

struct Cell {
    int x, y, z;
};

/// The next cell in a direction, or the one before, periodic in y and z.
APPORTION_CELL Cell next(const MpdataGrid& g, Cell c, int direction) {
    if (direction == 0) ++c.x;
    if (direction == 1) c.y = c.y == g.ny - 1 ? 0 : c.y + 1;
    if (direction == 2) c.z = c.z == g.nz - 1 ? 0 : c.z + 1;
    return c;
}
APPORTION_CELL Cell previous(const MpdataGrid& g, Cell c, int direction) {
    if (direction == 0) --c.x;
    if (direction == 1) c.y = c.y == 0 ? g.ny - 1 : c.y - 1;
    if (direction == 2) c.z = c.z == 0 ? g.nz - 1 : c.z - 1;
    return c;
}

APPORTION_CELL double value(const Field& f, Cell c) { return f.at(c.x, c.y, c.z); }

APPORTION_CELL Around around(const MpdataGrid& g, const Field& f, Cell c) {
    return {value(f, previous(g, c, 0)), value(f, next(g, c, 0)),     value(f, previous(g, c, 1)),
            value(f, next(g, c, 1)),     value(f, previous(g, c, 2)), value(f, next(g, c, 2))};
}

/// Courant numbers at faces, which belong to the cell before them.
struct Flow {
    Field x, y, z;

    APPORTION_CELL const Field& towards(int direction) const { return direction == 0 ? x : direction == 1 ? y : z; }
    APPORTION_CELL Around faces(const MpdataGrid& g, Cell c) const {
        return {value(x, previous(g, c, 0)), value(x, c), value(y, previous(g, c, 1)), value(y, c),
                value(z, previous(g, c, 2)), value(z, c)};
    }
};

/// Writes a cell and its copies in the ring.
APPORTION_CELL void store(const MpdataGrid& g, const Field& f, Cell c, double v) {
    const int y_copy = c.y == 0 ? g.ny : -1, z_copy = c.z == 0 ? g.nz : -1;
    const bool y_edge = c.y == 0 || c.y == g.ny - 1, z_edge = c.z == 0 || c.z == g.nz - 1;
    // With a single row or column both copies are of the same cell.
    const int y_last = g.ny == 1 ? -1 : y_copy, z_last = g.nz == 1 ? -1 : z_copy;
    f.at(c.x, c.y, c.z) = v;
    if (y_edge) f.at(c.x, y_copy, c.z) = f.at(c.x, y_last, c.z) = v;
    if (z_edge) f.at(c.x, c.y, z_copy) = f.at(c.x, c.y, z_last) = v;
    if (y_edge && z_edge) {
        f.at(c.x, y_copy, z_copy) = f.at(c.x, y_last, z_copy) = v;
        f.at(c.x, y_copy, z_last) = f.at(c.x, y_last, z_last) = v;
    }
}

struct UpwindStage {
    Field psi;
    Flow c;
    Field star;

    APPORTION_CELL void operator()(const MpdataGrid& g, Cell p) const {
        star.at(p.x, p.y, p.z) = upwind(value(psi, p), around(g, psi, p), c.faces(g, p));
    }
};

struct AntidiffusiveStage {
    Field star;
    Flow c, v;

    APPORTION_CELL void operator()(const MpdataGrid& g, Cell p) const {
        const double in_x = face(g, p, 0, 1, 2);
        if (p.x < v.y.first) {  // the first plane has faces in x only
            v.x.at(p.x, p.y, p.z) = in_x;
            return;
        }
        const double in_y = face(g, p, 1, 0, 2), in_z = face(g, p, 2, 0, 1);
        v.x.at(p.x, p.y, p.z) = in_x;  // all after the last read, so that the faces' reads can be shared
        v.y.at(p.x, p.y, p.z) = in_y;
        v.z.at(p.x, p.y, p.z) = in_z;
    }

  private:
    APPORTION_CELL double face(const MpdataGrid& g, Cell left, int direction, int one, int two) const {
        const Cell right = next(g, left, direction);
        return antidiffusive(value(c.towards(direction), left), value(star, left), value(star, right),
                             transverse(g, left, right, one), transverse(g, left, right, two));
    }
    APPORTION_CELL Transverse transverse(const MpdataGrid& g, Cell left, Cell right, int direction) const {
        const Field& across = c.towards(direction);
        const Cell left_m = previous(g, left, direction), right_m = previous(g, right, direction);
        return {value(across, left_m),
                value(across, left),
                value(across, right_m),
                value(across, right),
                value(star, left_m) + value(star, right_m),
                value(star, next(g, left, direction)) + value(star, next(g, right, direction))};
    }
};

struct SharesStage {
    Field psi, star;
    Flow v;
    Field in, out;

    APPORTION_CELL void operator()(const MpdataGrid& g, Cell p) const {
        const double before = value(psi, p), now = value(star, p);
        const Around psi_around = around(g, psi, p), star_around = around(g, star, p), faces = v.faces(g, p);
        const double most = larger(largest(before, psi_around), largest(now, star_around));
        const double least = smaller(smallest(before, psi_around), smallest(now, star_around));
        in.at(p.x, p.y, p.z) = inflow_share(most, now, star_around, faces);
        out.at(p.x, p.y, p.z) = outflow_share(least, now, faces);
    }
};

/// Limits each face twice, for both of its cells, which costs less than to write and read it.
struct CorrectionStage {
    Field star;
    Flow v;
    Field in, out, result;

    APPORTION_CELL void operator()(const MpdataGrid& g, Cell p) const {
        const Around limits = {limit(g, v.x, previous(g, p, 0), 0), limit(g, v.x, p, 0),
                               limit(g, v.y, previous(g, p, 1), 1), limit(g, v.y, p, 1),
                               limit(g, v.z, previous(g, p, 2), 2), limit(g, v.z, p, 2)};
        store(g, result, p, upwind(value(star, p), around(g, star, p), limits));
    }

  private:
    APPORTION_CELL double limit(const MpdataGrid& g, const Field& face, Cell left, int direction) const {
        const Cell right = next(g, left, direction);
        return limited(value(face, left), value(in, left), value(out, left), value(in, right), value(out, right));
    }
};

/// Doubles of scratch memory for pieces of so many planes: of the six fields of a time step, and of those between time
/// steps.
inline std::size_t scratch_doubles(const MpdataGrid& g, int planes) {
    const int between = std::min(g.steps - 1, 2), inner = planes + 2 * MpdataGrid::kHalo * (g.steps - 1);
    return static_cast<std::size_t>(6 * (inner + 4) + between * inner) * g.plane();
}

/// The largest pieces whose scratch memory has at most so many bytes; a plane at least, and not more than so many that
/// the four planes that a stage computes more than the piece has are 6 %.
inline int planes_together(const MpdataGrid& g, std::size_t bytes) {
    constexpr std::size_t kEnough = 64;
    const std::size_t one = scratch_doubles(g, 1), each = scratch_doubles(g, 2) - one, most = bytes / sizeof(double);
    return static_cast<int>(most <= one ? 1 : std::min(1 + (most - one) / each, kEnough));
}

/// The fields of a block, all with planes from `first` on.
struct BlockFields {
    Field psi;
    Flow c;
    Field result;
};

/// grid.steps time steps of planes 0 ... planes - 1, `together` at a time: run(grid, first, planes, stage) applies a
/// stage to all cells of some planes, one stage after another.
template <class Run>
void advance(const MpdataGrid& g, const BlockFields& block, int planes, int together, double* scratch, Run&& run) {
    for (int begin = 0; begin < planes; begin += together) {
        const int some = std::min(together, planes - begin);
        double* free = scratch;
        const auto take = [&](int first, int count) {
            const Field field{free, first, g.row(), g.plane()};
            free += static_cast<std::size_t>(count) * g.plane();
            return field;
        };
        const int widest = MpdataGrid::kHalo * (g.steps - 1);
        Field between[2] = {block.psi, block.psi};
        for (int b = 0; b < std::min(g.steps - 1, 2); ++b) between[b] = take(begin - widest, some + 2 * widest);
        double* const step_scratch = free;
        Field from = block.psi;
        for (int left = g.steps - 1; left >= 0; --left) {
            const int margin = left * MpdataGrid::kHalo, first = begin - margin, count = some + 2 * margin;
            const Field to = left == 0 ? block.result : between[(g.steps - 1 - left) % 2];
            free = step_scratch;
            const Field star = take(first - 2, count + 4);
            const Flow v{take(first - 2, count + 3), take(first - 1, count + 2), take(first - 1, count + 2)};
            const Field in = take(first - 1, count + 2), out = take(first - 1, count + 2);
            run(g, first - 2, count + 4, UpwindStage{from, block.c, star});
            run(g, first - 2, count + 3, AntidiffusiveStage{star, block.c, v});
            run(g, first - 1, count + 2, SharesStage{from, star, v, in, out});
            run(g, first, count, CorrectionStage{star, v, in, out, to});
            from = to;
        }
    }
}

}  // namespace apportion::mpdata
