// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/text_table.hpp"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "codelets/io/terminal.hpp"
#include "models/io/shown.hpp"

namespace apportion {

std::string TextTable::text() const {
    std::vector<std::vector<std::string>> lines(1);
    for (const Column& column : columns_) lines.front().push_back(shown(column.title));
    for (const auto& row : rows_) {
        auto& line = lines.emplace_back();
        for (const std::string& cell : row) line.push_back(shown(cell));
    }
    std::vector<std::size_t> widths(columns_.size(), 0);
    for (const auto& line : lines)
        for (std::size_t c = 0; c < widths.size(); ++c) widths[c] = std::max(widths[c], width_of(line[c]));
    std::string text;
    for (const std::vector<std::size_t>& part : parts(widths, terminal_columns(STDOUT_FILENO))) {
        if (!text.empty()) text += "\n";
        for (const auto& line : lines) {
            std::string out = " ";
            for (const std::size_t c : part) {
                out += c == part.front() ? " " : "  ";
                if (columns_[c].to_the_right) out.append(widths[c] - width_of(line[c]), ' ');
                out += columns_[c].to_the_right ? line[c] : padded(line[c], widths[c]);
            }
            text += out.substr(0, out.find_last_not_of(' ') + 1) + "\n";
        }
    }
    return text;
}

std::vector<std::vector<std::size_t>> TextTable::parts(const std::vector<std::size_t>& widths,
                                                       std::size_t columns) const {
    constexpr std::size_t kGap = 2;
    const auto names =
        static_cast<std::size_t>(std::ranges::find(columns_, false, &Column::to_the_right) - columns_.begin());
    std::vector<std::vector<std::size_t>> parts(1);
    std::vector<std::size_t> repeated;  // of those so far
    std::size_t used = 0;
    const auto add = [&](std::size_t c) {
        parts.back().push_back(c);
        used += kGap + widths[c];
    };
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        if (!columns_[c].wanted || widths[c] == 0) continue;
        if (columns > 0 && parts.back() != repeated && used + kGap + widths[c] > columns) {
            parts.emplace_back();
            used = 0;
            for (const std::size_t r : repeated) add(r);
        }
        add(c);
        if (c == names || columns_[c].repeated) repeated.push_back(c);
    }
    return parts;
}

std::string json_text(const nlohmann::ordered_json& json, int indent) {
    return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace apportion
