// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/io/gnuplot.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <filesystem>
#include <string_view>

#include "codelets/common/child_process.hpp"
#include "models/io/new_file.hpp"
#include "models/io/shown.hpp"

namespace apportion {

namespace fs = std::filesystem;

void check_plot(const std::string& file) {
    std::error_code ignored;
    const fs::path folder = fs::absolute(file).parent_path();
    try {
        require_replaceable(file);
    } catch (const FileError& error) {
        throw PictureError(fmt::format("--plot {}", error.what()));
    }
    if (fs::path(file).extension() != ".png")
        throw PictureError(fmt::format("--plot {}: pictures are PNG files; let its name end with .png", file));
    if (!fs::is_directory(folder, ignored))
        throw PictureError(fmt::format("--plot {}: there is no folder {}; create it", file, folder.string()));
    if (access(folder.c_str(), W_OK) != 0)
        throw PictureError(
            fmt::format("--plot {}: you may not write into {}; choose another file", file, folder.string()));
    bool found = false;
    try {
        found = run_child({"gnuplot", "--version"}).status == 0;
    } catch (const CannotRun&) {
    }
    if (!found) throw PictureError("--plot needs gnuplot, which is not there; install it (Debian: gnuplot-nox)");
}

void draw(const std::string& file, int width, int height, const std::string& script) {
    // gnuplot gets no name: it would execute some.
    const std::string head = fmt::format(
        "set encoding utf8\n"
        "set terminal pngcairo size {},{} noenhanced font 'DejaVu Sans,11' background rgb 'white'\n",
        width, height);
    const ChildResult result = run_child({"gnuplot", "--default-settings"}, {}, head + script + "\nset output\n");
    if (result.status != 0 || result.output.empty())
        throw std::runtime_error(fmt::format("--plot {}: gnuplot could not draw the picture: {}", file, result.errors));
    NewFile picture(file);
    std::fwrite(result.output.data(), 1, result.output.size(), picture.stream());
    picture.finish();
}

std::string gnuplot_text(const std::string& text) {
    std::string out = "\"";
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        if (begin > 0) out += "\\n";
        bool by_number = false;
        for (const char c : shown(std::string_view(text).substr(begin, end - begin))) {
            const auto byte = static_cast<unsigned char>(c);
            // By its number, a character means nothing to gnuplot wherever it stands. A digit behind a number would be
            // part of it.
            const bool plain = byte >= 0x80 || std::isalpha(byte) || c == ' ';
            by_number = !plain && (by_number || !std::isdigit(byte));
            if (by_number)
                out += fmt::format("\\{:03o}", byte);
            else
                out += c;
        }
        begin = end + 1;
    }
    return out + "\"";
}

}  // namespace apportion
