// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A table of text for standard output: columns as wide as their cells.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace apportion {

class TextTable {
  public:
    struct Column {
        std::string title;
        bool to_the_right = false;
        bool wanted = true;
        bool repeated = false;  ///< as the first one of names always is, where the table is too wide
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

}  // namespace apportion
