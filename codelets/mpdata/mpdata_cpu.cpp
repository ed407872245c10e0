// SPDX-License-Identifier: LGPL-2.1-or-later
//
// MPDATA on one core: all stages of a time step go through the block together, a few planes apart, so that intermediate
// fields stay in the cache: the (3+1)D decomposition of the paper on load imbalancing, section 5.3. Its blocks are rows
// of all planes, so many that their intermediate planes fit the core's cache; rows beside them are computed twice.
#include <starpu.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <vector>

#include "codelets/common/handicap.hpp"
#include "codelets/mpdata/mpdata_arithmetic.hpp"
#include "codelets/mpdata/mpdata_kernels.hpp"

// The widest vectors that the processor has, chosen when the program starts.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define APPORTION_WIDEST_VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define APPORTION_WIDEST_VECTORS
#endif

namespace apportion {

namespace {

using namespace mpdata;

/// A row of cells and its neighbours in x and y; [k - 1] and [k + 1] are those in z.
struct Cells {
    const double *here, *xm, *xp, *ym, *yp;

    Around around(int k) const { return {xm[k], xp[k], ym[k], yp[k], here[k - 1], here[k + 1]}; }
};

/// The Courant numbers at the six faces of a row of cells.
struct Faces {
    const double *xm, *xp, *ym, *yp, *z;

    Around around(int k) const { return {xm[k], xp[k], ym[k], yp[k], z[k - 1], z[k]}; }
};

struct TransverseRows {
    const double *c_left_below, *c_left_above, *c_right_below, *c_right_above;
    const double *left_below, *right_below, *left_above, *right_above;

    Transverse at(int k) const {
        return {c_left_below[k],
                c_left_above[k],
                c_right_below[k],
                c_right_above[k],
                left_below[k] + right_below[k],
                left_above[k] + right_above[k]};
    }
};

struct FaceRows {
    const double *c, *left, *right;
    TransverseRows first, second;
};

APPORTION_WIDEST_VECTORS
void upwind_row(int nz, const Cells& psi, const Faces& c, double* __restrict result) {
    for (int k = 0; k < nz; ++k) result[k] = upwind(psi.here[k], psi.around(k), c.around(k));
}

APPORTION_WIDEST_VECTORS
void antidiffusive_row(int nz, const FaceRows& face, double* __restrict v) {
    for (int k = 0; k < nz; ++k)
        v[k] = antidiffusive(face.c[k], face.left[k], face.right[k], face.first.at(k), face.second.at(k));
}

APPORTION_WIDEST_VECTORS
void shares_row(int nz, const Cells& psi, const Cells& star, const Faces& v, double* __restrict in,
                double* __restrict out) {
    for (int k = 0; k < nz; ++k) {
        const double cell = star.here[k];
        const Around before = psi.around(k), now = star.around(k), c = v.around(k);
        const double most = larger(largest(psi.here[k], before), largest(cell, now));
        const double least = smaller(smallest(psi.here[k], before), smallest(cell, now));
        in[k] = inflow_share(most, cell, now, c);
        out[k] = outflow_share(least, cell, c);
    }
}

/// Limits the Courant numbers of faces between rows `left` and `right` of cells.
APPORTION_WIDEST_VECTORS
void limit_row(int nz, const double* v, const double* in_left, const double* out_left, const double* in_right,
               const double* out_right, double* __restrict result) {
    for (int k = 0; k < nz; ++k) result[k] = limited(v[k], in_left[k], out_left[k], in_right[k], out_right[k]);
}

/// The last planes of an intermediate field: plane x overwrites plane x - kPlanes. Points to their first cell; two rows
/// more are before it and behind the last row.
class Ring {
  public:
    Ring(int rows, int row)
        : first_(static_cast<std::size_t>(kRowsBeside) * row + 1),
          plane_(static_cast<std::size_t>(rows + 2 * kRowsBeside) * row),
          data_(kPlanes * plane_) {}
    double* operator[](int x) { return data_.data() + static_cast<std::size_t>(x & (kPlanes - 1)) * plane_ + first_; }

  private:
    static constexpr int kPlanes = 4, kRowsBeside = 2;
    std::size_t first_, plane_;
    std::vector<double> data_;
};

/// One time step through a block of planes, all of their rows or some; x counts from the first plane of the result, j
/// from the first row. Of all rows, the first is beside the last; of some, rows beside them are computed here as well.
class TimeStep {
  public:
    TimeStep(const MpdataGrid& grid, const MpdataRows& rows)
        : g_(grid),
          first_(rows.first),
          rows_(rows.count),
          beside_(rows.count < grid.ny ? 1 : 0),
          star_(rows_, grid.row()),
          vx_(rows_, grid.row()),
          vy_(rows_, grid.row()),
          vz_(rows_, grid.row()),
          in_(rows_, grid.row()),
          out_(rows_, grid.row()),
          lx_(rows_, grid.row()),
          ly_(rows_, grid.row()),
          lz_(rows_, grid.row()) {
        for (int j = -MpdataGrid::kHalo; j < rows_ + MpdataGrid::kHalo; ++j) {
            const int of_field = ((rows.first + j) % g_.ny + g_.ny) % g_.ny;
            in_field_.push_back(static_cast<std::ptrdiff_t>(of_field + 1) * g_.row() + 1);
        }
    }

    /// `psi` and `courant` point to plane 0 of the block, `result` to its first cell.
    void run(const double* psi, const double* courant, double* result, int planes) {
        psi_ = psi;
        courant_ = courant;
        for (int x = -2; x < planes + 2; ++x) {
            upwind_plane(x);
            if (x >= -1) antidiffusive_x(x - 1);
            if (x < 0) continue;
            antidiffusive_yz(x - 1);
            shares(x - 1);
            if (x < 1) continue;
            limit_x(x - 2);
            if (x < 2) continue;
            limit_yz(x - 2);
            corrected_plane(x - 2, result + static_cast<std::size_t>(x - 2) * g_.plane());
        }
    }

  private:
    static constexpr std::ptrdiff_t kX = 0, kY = 1, kZ = 2;  ///< directions

    std::ptrdiff_t row(int j) const { return static_cast<std::ptrdiff_t>(j) * g_.row(); }
    std::ptrdiff_t in_field(int j) const { return in_field_[static_cast<std::size_t>(j + MpdataGrid::kHalo)]; }
    const double* psi(int x, int j) const { return psi_ + x * static_cast<std::ptrdiff_t>(g_.plane()) + in_field(j); }
    const double* c(std::ptrdiff_t direction, int x, int j) const {
        return courant_ + (3 * static_cast<std::ptrdiff_t>(x) + direction) * static_cast<std::ptrdiff_t>(g_.plane()) +
               in_field(j);
    }
    Cells psi_cells(int x, int j) const {
        return {psi(x, j), psi(x - 1, j), psi(x + 1, j), psi(x, j - 1), psi(x, j + 1)};
    }
    Cells star_cells(int x, int j) {
        const double* here = star_[x] + row(j);
        return {here, star_[x - 1] + row(j), star_[x + 1] + row(j), here - g_.row(), here + g_.row()};
    }

    /// compute(j) for all rows of a plane and so many beside them, whose outer cells then are made periodic.
    template <class Compute>
    void for_rows(int before, int behind, std::initializer_list<double*> planes, Compute&& compute) {
        const int first = -before * beside_, end = rows_ + behind * beside_;
        for (int j = first; j < end; ++j) compute(j);
        for (double* const plane : planes) {
            for (int j = first; j < end; ++j) {
                double* const cells = plane + row(j);
                cells[-1] = cells[g_.nz - 1];
                cells[g_.nz] = cells[0];
            }
            if (beside_ > 0) continue;
            std::copy_n(plane + row(rows_ - 1) - 1, g_.row(), plane + row(-1) - 1);
            std::copy_n(plane - 1, g_.row(), plane + row(rows_) - 1);
        }
    }

    void upwind_plane(int x) {
        for_rows(2, 2, {star_[x]}, [&](int j) {
            upwind_row(g_.nz, psi_cells(x, j),
                       {c(kX, x - 1, j), c(kX, x, j), c(kY, x, j - 1), c(kY, x, j), c(kZ, x, j)}, star_[x] + row(j));
        });
    }

    /// Faces between planes x and x + 1.
    void antidiffusive_x(int x) {
        const std::ptrdiff_t r = g_.row();
        for_rows(1, 1, {vx_[x]}, [&](int j) {
            const double *left = star_[x] + row(j), *right = star_[x + 1] + row(j);
            const TransverseRows y{c(kY, x, j - 1), c(kY, x, j), c(kY, x + 1, j - 1),
                                   c(kY, x + 1, j), left - r,    right - r,
                                   left + r,        right + r};
            const TransverseRows z{c(kZ, x, j) - 1, c(kZ, x, j), c(kZ, x + 1, j) - 1,
                                   c(kZ, x + 1, j), left - 1,    right - 1,
                                   left + 1,        right + 1};
            antidiffusive_row(g_.nz, {c(kX, x, j), left, right, y, z}, vx_[x] + row(j));
        });
    }

    void antidiffusive_yz(int x) {
        const std::ptrdiff_t r = g_.row();
        for_rows(2, 1, {vy_[x], vz_[x]}, [&](int j) {
            const double *below = star_[x - 1] + row(j), *here = star_[x] + row(j), *above = star_[x + 1] + row(j);
            const TransverseRows yx{
                c(kX, x - 1, j), c(kX, x, j), c(kX, x - 1, j + 1), c(kX, x, j + 1), below, below + r, above, above + r};
            const TransverseRows yz{c(kZ, x, j) - 1, c(kZ, x, j), c(kZ, x, j + 1) - 1, c(kZ, x, j + 1), here - 1,
                                    here + r - 1,    here + 1,    here + r + 1};
            antidiffusive_row(g_.nz, {c(kY, x, j), here, here + r, yx, yz}, vy_[x] + row(j));
            if (j < -1) return;
            const TransverseRows zx{
                c(kX, x - 1, j), c(kX, x, j), c(kX, x - 1, j) + 1, c(kX, x, j) + 1, below, below + 1, above, above + 1};
            const TransverseRows zy{c(kY, x, j - 1), c(kY, x, j), c(kY, x, j - 1) + 1, c(kY, x, j) + 1, here - r,
                                    here - r + 1,    here + r,    here + r + 1};
            antidiffusive_row(g_.nz, {c(kZ, x, j), here, here + 1, zx, zy}, vz_[x] + row(j));
        });
    }

    static Faces faces(Ring& vx, Ring& vy, Ring& vz, int x, std::ptrdiff_t row, std::ptrdiff_t length) {
        return {vx[x - 1] + row, vx[x] + row, vy[x] + row - length, vy[x] + row, vz[x] + row};
    }

    void shares(int x) {
        for_rows(1, 1, {in_[x], out_[x]}, [&](int j) {
            shares_row(g_.nz, psi_cells(x, j), star_cells(x, j), faces(vx_, vy_, vz_, x, row(j), g_.row()),
                       in_[x] + row(j), out_[x] + row(j));
        });
    }

    void limit_x(int x) {
        for_rows(0, 0, {}, [&](int j) {
            limit_row(g_.nz, vx_[x] + row(j), in_[x] + row(j), out_[x] + row(j), in_[x + 1] + row(j),
                      out_[x + 1] + row(j), lx_[x] + row(j));
        });
    }

    void limit_yz(int x) {
        const std::ptrdiff_t r = g_.row();
        for_rows(1, 0, {ly_[x], lz_[x]}, [&](int j) {
            const double *in = in_[x] + row(j), *out = out_[x] + row(j);
            limit_row(g_.nz, vy_[x] + row(j), in, out, in + r, out + r, ly_[x] + row(j));
            limit_row(g_.nz, vz_[x] + row(j), in, out, in + 1, out + 1, lz_[x] + row(j));
        });
    }

    void corrected_plane(int x, double* result) {
        for_rows(0, 0, {result}, [&](int j) {
            upwind_row(g_.nz, star_cells(x, j), faces(lx_, ly_, lz_, x, row(j), g_.row()), result + row(j));
        });
        if (beside_ == 0) return;
        if (first_ == 0) std::copy_n(result - 1, g_.row(), result + row(g_.ny) - 1);
        if (first_ + rows_ == g_.ny) std::copy_n(result + row(rows_ - 1) - 1, g_.row(), result - row(first_ + 1) - 1);
    }

    MpdataGrid g_;
    int first_, rows_, beside_;
    std::vector<std::ptrdiff_t> in_field_;  ///< where rows begin in planes of the field, from row -3 on
    const double* psi_ = nullptr;
    const double* courant_ = nullptr;
    Ring star_;          ///< after the upwind step
    Ring vx_, vy_, vz_;  ///< antidiffusive Courant numbers
    Ring in_, out_;      ///< shares of the fluxes into and out of a cell that are allowed
    Ring lx_, ly_, lz_;  ///< limited Courant numbers
};

/// How many blocks these rows are: one where there would be two, which gain less than they compute twice.
int blocks_of(const MpdataGrid& grid, int rows) {
    constexpr long kPlanes = 36, kLeastRows = 32, kLeastBlocks = 3, kLeastCache = 1 << 20;
    static const long cache = std::max(sysconf(_SC_LEVEL2_CACHE_SIZE), kLeastCache);
    const long of_block = cache / (kPlanes * grid.row() * static_cast<long>(sizeof(double)));
    const long blocks = rows / std::max(of_block, kLeastRows);
    return blocks < kLeastBlocks ? 1 : static_cast<int>(blocks);
}

/// The pointers are those of TimeStep::run(), `result` to the first of the rows.
void time_step(const MpdataGrid& grid, const MpdataRows& rows, const double* psi, const double* courant, double* result,
               int planes) {
    const std::ptrdiff_t blocks = blocks_of(grid, rows.count);
    for (std::ptrdiff_t b = 0; b < blocks; ++b) {
        const auto begin = static_cast<int>(rows.count * b / blocks),
                   end = static_cast<int>(rows.count * (b + 1) / blocks);
        TimeStep(grid, {rows.first + begin, end - begin})
            .run(psi, courant, result + static_cast<std::ptrdiff_t>(begin) * grid.row(), planes);
    }
}

}  // namespace

void mpdata_wrap(const MpdataGrid& grid, double* plane) {
    const int row = grid.row();
    for (int j = 1; j <= grid.ny; ++j) {
        double* cells = plane + static_cast<std::ptrdiff_t>(j) * row;
        cells[0] = cells[grid.nz];
        cells[grid.nz + 1] = cells[1];
    }
    for (int k = 0; k < row; ++k) {
        plane[k] = plane[static_cast<std::ptrdiff_t>(grid.ny) * row + k];
        plane[static_cast<std::ptrdiff_t>(grid.ny + 1) * row + k] = plane[row + k];
    }
}

void mpdata_advance(const MpdataGrid& grid, const double* psi, const double* courant, double* result, int planes) {
    const std::size_t plane = grid.plane();
    // Every step but the last computes MpdataGrid::kHalo planes fewer on either side than the one before.
    std::array<std::vector<double>, 2> between;
    const double* from = psi + grid.halo() * plane;
    const double* c = courant + 3 * grid.halo() * plane;
    for (int left = grid.steps - 1; left >= 0; --left) {
        const int margin = left * MpdataGrid::kHalo;
        double* to = result;
        if (left > 0) {
            std::vector<double>& buffer = between[static_cast<std::size_t>(left % 2)];
            buffer.resize(static_cast<std::size_t>(planes + 2 * margin) * plane);
            to = buffer.data() + margin * plane;
        }
        time_step(grid, {0, grid.ny}, from - margin * plane, c - 3 * margin * plane,
                  to - margin * plane + grid.row() + 1, planes + 2 * margin);
        from = to;
    }
}

void mpdata_advance_rows(const MpdataGrid& grid, const MpdataRows& rows, const double* psi, const double* courant,
                         double* result, int planes) {
    const std::size_t halo = MpdataGrid::kHalo * grid.plane();
    time_step(grid, rows, psi + halo, courant + 3 * halo, result + 1, planes);
}

void mpdata_cpu(void* buffers[], void* arg) {
    const auto& grid = *static_cast<const MpdataGrid*>(arg);
    for (int repetition = repetitions(); repetition > 0; --repetition)
        mpdata_advance(grid, reinterpret_cast<const double*>(STARPU_MATRIX_GET_PTR(buffers[0])),
                       reinterpret_cast<const double*>(STARPU_MATRIX_GET_PTR(buffers[1])),
                       reinterpret_cast<double*>(STARPU_MATRIX_GET_PTR(buffers[2])),
                       static_cast<int>(STARPU_MATRIX_GET_NY(buffers[2])));
}

void mpdata_rectangle_cpu(void* buffers[], void* arg) {
    const auto& argument = *static_cast<const KernelArgument*>(arg);
    const auto& rectangles = *static_cast<const MpdataRectangles*>(argument.parameters);
    const MatrixPart& part = rectangles.of(argument.range);
    for (int repetition = repetitions(); repetition > 0; --repetition)
        mpdata_advance_rows(rectangles.grid, {static_cast<int>(part.row), static_cast<int>(part.rows)},
                            reinterpret_cast<const double*>(STARPU_MATRIX_GET_PTR(buffers[0])),
                            reinterpret_cast<const double*>(STARPU_MATRIX_GET_PTR(buffers[1])),
                            reinterpret_cast<double*>(STARPU_MATRIX_GET_PTR(buffers[2])),
                            static_cast<int>(part.columns));
}

}  // namespace apportion
