// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <cmath>

#include "codelets/common/matrix.hpp"
#include "codelets/mpdata/mpdata.hpp"
#include "models/io/text.hpp"
#include "models/io/user_error.hpp"

namespace apportion {

MpdataField::MpdataField(int nx, const MpdataGrid& grid)
    : nx_(nx),
      grid_(grid),
      planes_(static_cast<std::size_t>(std::max(nx, 0)) + 2 * static_cast<std::size_t>(grid.halo())) {
    if (nx < 1 || grid.ny < 1 || grid.nz < 1)
        throw UserError("a field of {} x {} x {} cells has none", nx, grid.ny, grid.nz);
    if (nx < grid.halo())
        throw UserError(
            "{} planes are fewer than the {} that {} at once read beside a block; use more planes or fewer steps at "
            "once",
            nx, grid.halo(), counted(grid.steps, "time step"));
    constexpr std::size_t kFields = 5;  // psi, result and three Courant numbers
    const std::size_t doubles = planes_ * grid.plane();
    require_free_memory(kFields * doubles * sizeof(double), "the fields");
    psi_ = std::make_unique_for_overwrite<double[]>(doubles);
    result_ = std::make_unique_for_overwrite<double[]>(doubles);
    courant_ = std::make_unique_for_overwrite<double[]>(3 * doubles);
}

void MpdataField::pin() {
    if (pinned_ > 0) return;
    for (Values* values : {&psi_, &result_, &courant_}) {
        if (!pin_memory(values->get(), bytes(*values))) break;
        ++pinned_;
    }
}

void MpdataField::unpin() {
    for (Values* values : {&psi_, &result_, &courant_})
        if (pinned_ > 0) --pinned_, unpin_memory(values->get(), bytes(*values));
}

std::size_t MpdataField::bytes(const Values& values) const {
    return (&values == &courant_ ? 3 : 1) * planes_ * grid_.plane() * sizeof(double);
}

double* MpdataField::courant_planes(int x) {
    return courant_.get() + 3 * static_cast<std::size_t>(x + grid_.halo()) * grid_.plane();
}

double& MpdataField::courant(int direction, int x, int y, int z) {
    const std::size_t in_plane = index(-grid_.halo(), y, z);
    return courant_planes(x)[static_cast<std::size_t>(direction) * grid_.plane() + in_plane];
}

double MpdataField::courant(int direction, int x, int y, int z) const {
    return const_cast<MpdataField*>(this)->courant(direction, x, y, z);
}

void MpdataField::repeat_planes(double* first_of_halo, std::size_t doubles_per_plane) const {
    const auto at = [&](int x) {
        return first_of_halo + static_cast<std::size_t>(x + grid_.halo()) * doubles_per_plane;
    };
    for (int h = 1; h <= grid_.halo(); ++h) {
        std::copy_n(at(nx_ - h), doubles_per_plane, at(-h));
        std::copy_n(at(h - 1), doubles_per_plane, at(nx_ + h - 1));
    }
}

void MpdataField::make_periodic() {
    for (int x = 0; x < nx_; ++x) {
        mpdata_wrap(grid_, plane(x));
        for (std::size_t d = 0; d < 3; ++d) mpdata_wrap(grid_, courant_planes(x) + d * grid_.plane());
    }
    repeat_planes(psi_.get(), grid_.plane());
    repeat_planes(courant_.get(), 3 * grid_.plane());
}

void MpdataField::advance() {
    psi_.swap(result_);
    repeat_planes(psi_.get(), grid_.plane());
}

void MpdataField::scale_courant(double factor) {
    std::for_each_n(courant_.get(), 3 * planes_ * grid_.plane(), [factor](double& c) { c *= factor; });
}

double MpdataField::sum() const {
    double sum = 0;
    for_each_cell([&](int x, int y, int z) { sum += psi(x, y, z); });
    return sum;
}

double MpdataField::smallest() const {
    double least = psi(0, 0, 0);
    for_each_cell([&](int x, int y, int z) { least = std::min(least, psi(x, y, z)); });
    return least;
}

double MpdataField::largest() const {
    double most = psi(0, 0, 0);
    for_each_cell([&](int x, int y, int z) { most = std::max(most, psi(x, y, z)); });
    return most;
}

double MpdataField::largest_courant() const {
    double most = 0;
    for_each_cell([&](int x, int y, int z) {
        const double out = std::max(courant(0, x, y, z), 0.0) - std::min(courant(0, x - 1, y, z), 0.0) +
                           std::max(courant(1, x, y, z), 0.0) - std::min(courant(1, x, y - 1, z), 0.0) +
                           std::max(courant(2, x, y, z), 0.0) - std::min(courant(2, x, y, z - 1), 0.0);
        most = std::max(most, out);
    });
    return most;
}

void rotating_body(MpdataField& field, MpdataBody body, double courant) {
    constexpr double kHeight = 4, kRadius = 0.15, kDistance = 0.25;  // of the domain's shortest edge
    const MpdataGrid& g = field.grid();
    const double edge = std::min({field.nx(), g.ny, g.nz});
    const double middle[3] = {0.5 * field.nx(), 0.5 * g.ny, 0.5 * g.nz};
    // The body starts beside the middle, across the axis.
    const double away = kDistance * edge / std::sqrt(2.0);
    const double center[3] = {middle[0] + away, middle[1] - away, middle[2]};
    field.for_each_cell([&](int x, int y, int z) {
        const double dx = x + 0.5 - middle[0], dy = y + 0.5 - middle[1], dz = z + 0.5 - middle[2];
        // Rotation about (1, 1, 1), axis x distance: each component is constant along its own direction, so
        // that the flow is free of divergence on the grid as well, across the periodic edges too.
        field.courant(0, x, y, z) = dz - dy;
        field.courant(1, x, y, z) = dx - dz;
        field.courant(2, x, y, z) = dy - dx;
        const double distance =
            std::sqrt((x + 0.5 - center[0]) * (x + 0.5 - center[0]) + (y + 0.5 - center[1]) * (y + 0.5 - center[1]) +
                      (z + 0.5 - center[2]) * (z + 0.5 - center[2])) /
            (kRadius * edge);
        const double inside = body == MpdataBody::sphere ? (distance <= 1 ? 1 : 0) : std::max(0.0, 1 - distance);
        field.psi(x, y, z) = kHeight * inside;
    });
    field.make_periodic();
    if (const double fastest = field.largest_courant(); fastest > 0) field.scale_courant(courant / fastest);
}

}  // namespace apportion
