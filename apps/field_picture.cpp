// SPDX-License-Identifier: LGPL-2.1-or-later
#include "apps/field_picture.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "apps/app.hpp"

namespace apportion {

namespace fs = std::filesystem;

namespace {

/// A file beside `file` that is gone at the end unless it was renamed.
class Temporary {
  public:
    Temporary(const std::string& file, const char* ending) : name_(fmt::format("{}.{}{}", file, ::getpid(), ending)) {}
    ~Temporary() {
        std::error_code ignored;
        fs::remove(name_, ignored);
    }
    Temporary(const Temporary&) = delete;
    Temporary& operator=(const Temporary&) = delete;
    const std::string& name() const { return name_; }

  private:
    std::string name_;
};

/// The text as a string of gnuplot, which doubles quotes within single ones.
std::string quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'') out += c;
        out += c;
    }
    return out + "'";
}

void write_projection(const std::string& file, const MpdataField& field) {
    std::ofstream out(file);
    for (int y = 0; y < field.grid().ny; ++y) {
        for (int z = 0; z < field.grid().nz; ++z) {
            double most = 0;
            for (int x = 0; x < field.nx(); ++x) most = std::max(most, field.psi(x, y, z));
            out << most << ' ';
        }
        out << '\n';
    }
    if (!out.flush()) throw UsageError(fmt::format("--plot: {} cannot be written; is the disk full?", file));
}

}  // namespace

void check_picture(const std::string& file) {
    const fs::path folder = fs::absolute(file).parent_path();
    check_output("--plot", file);
    if (fs::path(file).extension() != ".png")
        throw UsageError(fmt::format("--plot {}: pictures are PNG files; let its name end with .png", file));
    if (access(folder.c_str(), W_OK) != 0)
        throw UsageError(
            fmt::format("--plot {}: you may not write into {}; choose another file", file, folder.string()));
    if (std::system("gnuplot --version >/dev/null 2>&1") != 0)
        throw UsageError("--plot needs gnuplot, which is not there; install it (Debian: gnuplot-nox)");
}

void draw_field(const std::string& file, const MpdataField& field) {
    const Temporary data(file, ".txt"), picture(file, ".png");
    write_projection(data.name(), field);
    std::FILE* gnuplot = popen("gnuplot", "w");
    if (!gnuplot) throw UsageError("--plot: gnuplot cannot be started");
    fmt::print(gnuplot,
               "set terminal pngcairo size 800,700 noenhanced font 'DejaVu Sans,11'\n"
               "set output {}\nset title 'largest psi along x'\nset xlabel 'z'\nset ylabel 'y'\n"
               "set size ratio {}\nset xrange [-0.5:{}]\nset yrange [-0.5:{}]\nset cbrange [0:*]\n"
               "set palette defined (0 'white', 1 '#4393c3', 2 '#f4a582', 3 '#b2182b')\n"
               "plot {} matrix with image notitle\n",
               quoted(picture.name()), static_cast<double>(field.grid().ny) / field.grid().nz, field.grid().nz - 0.5,
               field.grid().ny - 0.5, quoted(data.name()));
    std::error_code failed;
    if (pclose(gnuplot) != 0) failed = std::make_error_code(std::errc::io_error);
    if (!failed) fs::rename(picture.name(), file, failed);
    if (failed)
        throw UsageError(fmt::format("--plot {}: gnuplot could not draw the picture ({})", file, failed.message()));
}

}  // namespace apportion
