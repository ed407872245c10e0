// SPDX-License-Identifier: LGPL-2.1-or-later
#include "apps/field_picture.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "codelets/io/gnuplot.hpp"

namespace apportion {

namespace {

/// Viridis (van der Walt and Smith): as much lighter as larger, also in grey and for the colour-blind.
constexpr const char* kPalette =
    "0 '#440154', 1 '#472c7a', 2 '#3b518b', 3 '#2c718e', 4 '#21908d', 5 '#27ad81', 6 '#5cc863', 7 '#aadc32', 8 "
    "'#fde725'";

}  // namespace

void draw_field(const std::string& file, const MpdataField& field, int steps) {
    std::string script = "$field << EOD\n";
    for (int y = 0; y < field.grid().ny; ++y) {
        for (int z = 0; z < field.grid().nz; ++z) {
            double most = 0;
            for (int x = 0; x < field.nx(); ++x) most = std::max(most, field.psi(x, y, z));
            script += fmt::format("{:g} ", most);
        }
        script += '\n';
    }
    script += fmt::format(
        "EOD\nset title 'largest psi along x after {} step{}'\nset xlabel 'z'\nset ylabel 'y'\nset cblabel 'psi'\n"
        "set size ratio {}\nset xrange [-0.5:{}]\nset yrange [-0.5:{}]\nset cbrange [0:*]\n"
        "set palette defined ({})\nplot $field matrix with image notitle\n",
        steps, steps == 1 ? "" : "s", static_cast<double>(field.grid().ny) / field.grid().nz, field.grid().nz - 0.5,
        field.grid().ny - 0.5, kPalette);
    draw(file, 800, 700, script);
}

}  // namespace apportion
