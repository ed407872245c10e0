// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/text_table.hpp"

#include <algorithm>

#include "models/io/shown.hpp"

namespace apportion {

namespace {

/// Characters; all of them are thought to be one column wide.
std::size_t width(const std::string& text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string TextTable::text() const {
    std::vector<std::vector<std::string>> lines(1);
    for (const Column& column : columns_) lines.front().push_back(shown(column.title));
    for (const auto& row : rows_) {
        auto& line = lines.emplace_back();
        for (const std::string& cell : row) line.push_back(shown(cell));
    }
    std::vector<std::size_t> widths(columns_.size(), 0);
    for (const auto& line : lines)
        for (std::size_t c = 0; c < widths.size(); ++c) widths[c] = std::max(widths[c], width(line[c]));
    std::string text;
    for (const auto& line : lines) {
        std::string out = " ";
        for (std::size_t c = 0; c < widths.size(); ++c) {
            if (!columns_[c].wanted || widths[c] == 0) continue;
            const std::string blanks(widths[c] - width(line[c]), ' ');
            out += (c == 0 ? " " : "  ") + (columns_[c].to_the_right ? blanks + line[c] : line[c] + blanks);
        }
        text += out.substr(0, out.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
}

}  // namespace apportion
