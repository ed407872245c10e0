// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What MPDATA computes for one cell or one face: shared by the CPU kernel, the CUDA kernel and the reference, so that
// all give the same bits (no contraction into fused multiply-adds, see codelets/meson.build). Dimensionless: psi is the
// advected field, c a Courant number (velocity * dt / dx) at a face. Formulas after P. K. Smolarkiewicz and
// L. G. Margolin, "MPDATA: a finite-difference solver for geophysical flows", J. Comput. Phys. 140 (1998), sections
// 2 and 3, for a non-divergent flow; the limiter after Smolarkiewicz and Grabowski, J. Comput. Phys. 86 (1990).
#pragma once

#ifdef __CUDACC__
#define APPORTION_CELL __host__ __device__ inline
#else
#define APPORTION_CELL inline
#endif

namespace apportion::mpdata {

inline constexpr double kTiny = 1e-15;  ///< keeps quotients of vanishing fields finite

APPORTION_CELL double larger(double a, double b) { return a > b ? a : b; }
APPORTION_CELL double smaller(double a, double b) { return a < b ? a : b; }
APPORTION_CELL double positive(double c) { return larger(c, 0.0); }
APPORTION_CELL double negative(double c) { return smaller(c, 0.0); }
APPORTION_CELL double magnitude(double c) { return larger(c, -c); }

/// Upwind (donor-cell) flux through a face between two cells.
APPORTION_CELL double flux(double left, double right, double c) { return positive(c) * left + negative(c) * right; }

/// Normalised difference: the field's relative slope from `low` to `high`.
APPORTION_CELL double slope(double low, double high) { return (high - low) / (high + low + kTiny); }

/// One of the two directions along a face between two cells: Courant numbers at the two cells' faces in it, and sums of
/// the two cells' neighbours below and above in it.
struct Transverse {
    double c_left_below, c_left_above, c_right_below, c_right_above;
    double psi_below, psi_above;
};

APPORTION_CELL double transverse_part(const Transverse& t) {
    const double c = 0.25 * ((t.c_left_below + t.c_left_above) + (t.c_right_below + t.c_right_above));
    return c * (0.5 * slope(t.psi_below, t.psi_above));
}

/// Courant number of the antidiffusive velocity at a face between the cells `left` and `right`.
APPORTION_CELL double antidiffusive(double c, double left, double right, const Transverse& first,
                                    const Transverse& second) {
    return (magnitude(c) - c * c) * slope(left, right) - c * (transverse_part(first) + transverse_part(second));
}

/// Values of a cell's six neighbours, or Courant numbers of its six faces: below (m) and above (p) in x, y and z.
struct Around {
    double xm, xp, ym, yp, zm, zp;
};

/// The cell after upwind fluxes through its six faces.
APPORTION_CELL double upwind(double cell, const Around& psi, const Around& c) {
    return cell - ((flux(cell, psi.xp, c.xp) - flux(psi.xm, cell, c.xm)) +
                   (flux(cell, psi.yp, c.yp) - flux(psi.ym, cell, c.ym)) +
                   (flux(cell, psi.zp, c.zp) - flux(psi.zm, cell, c.zm)));
}

APPORTION_CELL double largest(double cell, const Around& psi) {
    return larger(cell, larger(larger(larger(psi.xm, psi.xp), larger(psi.ym, psi.yp)), larger(psi.zm, psi.zp)));
}
APPORTION_CELL double smallest(double cell, const Around& psi) {
    return smaller(cell, smaller(smaller(smaller(psi.xm, psi.xp), smaller(psi.ym, psi.yp)), smaller(psi.zm, psi.zp)));
}

/// What share of the antidiffusive flux into a cell keeps it below `most`.
APPORTION_CELL double inflow_share(double most, double cell, const Around& psi, const Around& c) {
    const double in = (positive(c.xm) * psi.xm - negative(c.xp) * psi.xp) +
                      (positive(c.ym) * psi.ym - negative(c.yp) * psi.yp) +
                      (positive(c.zm) * psi.zm - negative(c.zp) * psi.zp);
    return (most - cell) / (in + kTiny);
}

/// What share of the antidiffusive flux out of a cell keeps it above `least`.
APPORTION_CELL double outflow_share(double least, double cell, const Around& c) {
    const double out =
        ((positive(c.xp) - negative(c.xm)) + (positive(c.yp) - negative(c.ym)) + (positive(c.zp) - negative(c.zm))) *
        cell;
    return (cell - least) / (out + kTiny);
}

/// The antidiffusive Courant number cut so that neither cell of the face leaves its bounds.
APPORTION_CELL double limited(double c, double in_left, double out_left, double in_right, double out_right) {
    return smaller(1.0, smaller(out_left, in_right)) * positive(c) +
           smaller(1.0, smaller(in_left, out_right)) * negative(c);
}

}  // namespace apportion::mpdata
