// SPDX-License-Identifier: LGPL-2.1-or-later
#include "apps/field_picture.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "codelets/io/gnuplot.hpp"

namespace apportion {

void draw_field(const std::string& file, const MpdataField& field) {
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
        "EOD\nset title 'largest psi along x'\nset xlabel 'z'\nset ylabel 'y'\n"
        "set size ratio {}\nset xrange [-0.5:{}]\nset yrange [-0.5:{}]\nset cbrange [0:*]\n"
        "set palette defined (0 'white', 1 '#4393c3', 2 '#f4a582', 3 '#b2182b')\n"
        "plot $field matrix with image notitle\n",
        static_cast<double>(field.grid().ny) / field.grid().nz, field.grid().nz - 0.5, field.grid().ny - 0.5);
    draw(file, 800, 700, script);
}

}  // namespace apportion
