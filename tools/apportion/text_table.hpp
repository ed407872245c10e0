// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tables, JSON and numbers as commands print them.
#pragma once

#include <fmt/format.h>
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace apportion {

// A table of text for standard output: columns as wide as their cells.

class TextTable {
  public:
    struct Column {
        /// A title behind '>' is that of cells that stand to the right, as numbers do. Where the table is too wide, a
        /// column is repeated, as the first one of names always is.
        Column(const char* title_, bool wanted_ = true, bool repeated_ = false)
            : title(title_), wanted(wanted_), repeated(repeated_) {
            if (to_the_right) title.erase(0, 1);
        }
        Column(const std::string& title_) : Column(title_.c_str()) {}

        std::string title;
        bool to_the_right = title.starts_with('>'), wanted, repeated;
    };

    explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

    /// One cell a column, in order; text from outside is shown escaped.
    void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

    /// Indented by two, columns two apart, without blanks at the ends of lines. Where that is wider than the terminal
    /// of standard output, the columns that are too many stand below, each time behind those that are repeated.
    std::string text() const;

  private:
    /// Which columns stand beside each other.
    std::vector<std::vector<std::size_t>> parts(const std::vector<std::size_t>& widths, std::size_t columns) const;

    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

/// "1.23 s", "45.6 ms", "7.8 us".
inline std::string seconds_text(double seconds) {
    if (seconds >= 1 || seconds <= 0) return fmt::format("{:.4g} s", seconds);
    return seconds >= 1e-3 ? fmt::format("{:.4g} ms", seconds * 1e3) : fmt::format("{:.4g} us", seconds * 1e6);
}

/// "0.86 %", "12 %".
inline std::string percent_text(double percent) {
    return percent < 10 ? fmt::format("{:.2g} %", percent) : fmt::format("{:.0f} %", percent);
}

/// One object or list with an end of line; indented by so many blanks, -1: in one line. JSON is UTF-8: bytes of a name
/// that are not become the replacement character.
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace apportion
