// SPDX-License-Identifier: LGPL-2.1-or-later
//
// MPDATA the plain way: every stage over the whole field before the next, neighbours by periodic indices.
#include <utility>

#include "codelets/mpdata/mpdata.hpp"
#include "codelets/mpdata/mpdata_arithmetic.hpp"

namespace apportion {

namespace {

using namespace mpdata;

struct Cell {
    int x, y, z;
};

Cell moved(Cell cell, int direction, int by) {
    (direction == 0 ? cell.x : direction == 1 ? cell.y : cell.z) += by;
    return cell;
}

/// Values of all cells, x slowest; indices wrap around.
class Cells {
  public:
    Cells(int nx, int ny, int nz) : nx_(nx), ny_(ny), nz_(nz), values_(static_cast<std::size_t>(nx) * ny * nz) {}

    double& operator[](Cell c) { return values_[index(c)]; }
    double operator[](Cell c) const { return values_[index(c)]; }
    std::vector<double> values() && { return std::move(values_); }

    Around around(Cell c) const {
        const auto at = [&](int d, int by) { return (*this)[moved(c, d, by)]; };
        return {at(0, -1), at(0, 1), at(1, -1), at(1, 1), at(2, -1), at(2, 1)};
    }

    template <class Function>
    void fill(Function&& function) {
        std::size_t i = 0;
        for (int x = 0; x < nx_; ++x)
            for (int y = 0; y < ny_; ++y)
                for (int z = 0; z < nz_; ++z) values_[i++] = function(Cell{x, y, z});
    }

  private:
    static int wrapped(int i, int n) { return i < 0 ? i + n : i >= n ? i - n : i; }
    std::size_t index(Cell c) const {
        return (static_cast<std::size_t>(wrapped(c.x, nx_)) * ny_ + wrapped(c.y, ny_)) * nz_ + wrapped(c.z, nz_);
    }

    int nx_, ny_, nz_;
    std::vector<double> values_;
};

/// Courant numbers at the faces towards the next cell in x, y and z.
struct Flow {
    Cells x, y, z;
    const Cells& operator[](int d) const { return d == 0 ? x : d == 1 ? y : z; }
    Cells& operator[](int d) { return d == 0 ? x : d == 1 ? y : z; }

    Around faces(Cell c) const {
        const auto below = [&](int d) { return (*this)[d][moved(c, d, -1)]; };
        return {below(0), x[c], below(1), y[c], below(2), z[c]};
    }
};

Transverse transverse(const Cells& psi, const Flow& flow, Cell left, Cell right, int direction) {
    const Cells& c = flow[direction];
    const auto sum = [&](int by) { return psi[moved(left, direction, by)] + psi[moved(right, direction, by)]; };
    return {c[moved(left, direction, -1)], c[left], c[moved(right, direction, -1)], c[right], sum(-1), sum(1)};
}

void time_step(Cells& psi, const Flow& flow, const Cells& blank) {
    Cells star = blank;
    star.fill([&](Cell c) { return upwind(psi[c], psi.around(c), flow.faces(c)); });

    Flow v{blank, blank, blank};
    for (int d = 0; d < 3; ++d)
        v[d].fill([&](Cell left) {
            const Cell right = moved(left, d, 1);
            const int first = d == 0 ? 1 : 0, second = d == 2 ? 1 : 2;
            return antidiffusive(flow[d][left], star[left], star[right], transverse(star, flow, left, right, first),
                                 transverse(star, flow, left, right, second));
        });

    Cells in = blank, out = blank;
    in.fill([&](Cell c) {
        const double most = larger(largest(psi[c], psi.around(c)), largest(star[c], star.around(c)));
        return inflow_share(most, star[c], star.around(c), v.faces(c));
    });
    out.fill([&](Cell c) {
        const double least = smaller(smallest(psi[c], psi.around(c)), smallest(star[c], star.around(c)));
        return outflow_share(least, star[c], v.faces(c));
    });

    Flow limits{blank, blank, blank};
    for (int d = 0; d < 3; ++d)
        limits[d].fill([&](Cell left) {
            const Cell right = moved(left, d, 1);
            return limited(v[d][left], in[left], out[left], in[right], out[right]);
        });
    psi.fill([&](Cell c) { return upwind(star[c], star.around(c), limits.faces(c)); });
}

}  // namespace

std::vector<double> mpdata_reference(const MpdataField& field) {
    const MpdataGrid& g = field.grid();
    const Cells blank(field.nx(), g.ny, g.nz);
    Cells psi = blank;
    psi.fill([&](Cell c) { return field.psi(c.x, c.y, c.z); });
    Flow flow{blank, blank, blank};
    for (int d = 0; d < 3; ++d) flow[d].fill([&](Cell c) { return field.courant(d, c.x, c.y, c.z); });
    for (int step = 0; step < g.steps; ++step) time_step(psi, flow, blank);
    return std::move(psi).values();
}

}  // namespace apportion
