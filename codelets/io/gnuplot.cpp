// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/io/gnuplot.hpp"

#include <fmt/format.h>

#include <cctype>
#include <filesystem>
#include <optional>
#include <string_view>

#include "codelets/common/child_process.hpp"
#include "models/io/files.hpp"
#include "models/io/shown.hpp"

namespace apportion {

namespace fs = std::filesystem;

namespace {

/// By the name's suffix; nothing for others.
std::optional<std::string> terminal_of(const std::string& file, int width, int height) {
    constexpr double kPixelsPerInch = 96;
    const std::string suffix = fs::path(file).extension();
    const std::string options = "noenhanced font 'DejaVu Sans,11' background rgb 'white'";
    if (suffix == ".png") return fmt::format("pngcairo size {},{} {}", width, height, options);
    if (suffix == ".svg") return fmt::format("svg size {},{} {}", width, height, options);
    if (suffix == ".pdf")
        return fmt::format("pdfcairo size {:g}in,{:g}in {}", width / kPixelsPerInch, height / kPixelsPerInch, options);
    return std::nullopt;
}

}  // namespace

void check_plot(const std::string& file) {
    try {
        require_writable(file);
    } catch (const FileError& error) {
        throw UserError("--plot {}", error.what());
    }
    if (!terminal_of(file, 1, 1))
        throw UserError("--plot {}: pictures are PNG, SVG or PDF files; let its name end with .png, .svg or .pdf",
                        file);
    bool found = false;
    try {
        found = run_child({"gnuplot", "--version"}).status == 0;
    } catch (const CannotRun&) {
    }
    if (!found) throw UserError("--plot needs gnuplot, which is not there; install it (Debian: gnuplot-nox)");
}

void draw(const std::string& file, int width, int height, const std::string& script) {
    // gnuplot gets no name: it would execute some.
    const std::string head =
        fmt::format("set encoding utf8\nset terminal {}\n", terminal_of(file, width, height).value());
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
