// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/gnuplot.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "tools/apportion/child_process.hpp"
#include "tools/apportion/command.hpp"

namespace apportion {

namespace fs = std::filesystem;

void check_plot(const std::string& file) {
    const fs::path folder = fs::absolute(file).parent_path();
    if (fs::exists(file) && !fs::is_regular_file(file))
        throw UserError(fmt::format("--plot {}: this is no regular file; choose another name", file));
    if (fs::path(file).extension() != ".png")
        throw UserError(fmt::format("--plot {}: pictures are PNG files; let its name end with .png", file));
    if (!fs::is_directory(folder))
        throw UserError(fmt::format("--plot {}: there is no folder {}; create it", file, folder.string()));
    if (access(folder.c_str(), W_OK) != 0)
        throw UserError(
            fmt::format("--plot {}: you may not write into {}; choose another file", file, folder.string()));
    try {
        if (run_child({"gnuplot", "--version"}).status == 0) return;
    } catch (const std::runtime_error&) {
    }
    throw UserError("--plot needs gnuplot, which is not there; install it (Debian: gnuplot-nox)");
}

void draw(const std::string& file, int width, int height, const std::string& script) {
    const std::string temporary = fmt::format("{}.{}", file, ::getpid());
    const std::string head = fmt::format(
        "set terminal pngcairo size {},{} noenhanced font 'DejaVu Sans,11' background rgb 'white'\n"
        "set output {}\n",
        width, height, gnuplot_text(temporary));
    const ChildResult result = run_child({"gnuplot"}, {}, head + script + "\nset output\n");
    std::error_code failed;
    if (result.status == 0) fs::rename(temporary, file, failed);
    if (result.status != 0 || failed) {
        std::error_code ignored;
        fs::remove(temporary, ignored);
        throw UserError(fmt::format("--plot {}: gnuplot could not draw the picture: {}", file,
                                    failed ? failed.message() : result.errors));
    }
}

std::string gnuplot_text(const std::string& text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (c == '\n')
            out += "\\n";
        else if (static_cast<unsigned char>(c) >= ' ')
            out += c;
    }
    return out + "\"";
}

}  // namespace apportion
