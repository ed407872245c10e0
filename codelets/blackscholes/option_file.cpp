// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/blackscholes/option_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "models/io/files.hpp"
#include "models/io/shown.hpp"
#include "models/io/text_file.hpp"

namespace apportion {

namespace {

constexpr std::array<std::string_view, kOptionColumns + 1> kNames = {"spot",       "strike", "rate",
                                                                     "volatility", "expiry", "type"};
constexpr std::size_t kType = kOptionColumns;

/// Column of the file for each of kNames.
using Positions = std::array<std::size_t, kNames.size()>;

Positions read_header(TextFile& file) {
    if (!file.next()) file.fail("the file is empty; a line with {} is needed", fmt::join(kNames, ","));
    const auto fields = file.fields(',');
    Positions positions;
    positions.fill(fields.size());
    for (std::size_t f = 0; f < fields.size(); ++f) {
        const auto name = std::ranges::find(kNames, fields[f]);
        if (name == kNames.end())
            file.fail("there is no column {}; the columns are {}", in_quotes(fields[f]), fmt::join(kNames, ","));
        std::size_t& position = positions[name - kNames.begin()];
        if (position != fields.size()) file.fail("column {} is there twice", fields[f]);
        position = f;
    }
    for (std::size_t name = 0; name < kNames.size(); ++name)
        if (positions[name] == fields.size()) file.fail("column {} is missing", kNames[name]);
    return positions;
}

void check(const TextFile& file, const std::array<double, kOptionColumns>& o) {
    // What float and double can both compute without overflow, and sooner a slip than an option.
    constexpr double kLeastPrice = 1e-9, kMostPrice = 1e12, kMostYears = 1e4, kMostDeviation = 5, kMostGrowth = 50;
    for (const std::size_t c : {kSpot, kSignedStrike})
        if (o[c] < kLeastPrice || o[c] > kMostPrice)
            file.fail("{} is {}; it must be within {} ... {}", kNames[c], o[c], kLeastPrice, kMostPrice);
    for (const std::size_t c : {kVolatility, kExpiry})
        if (o[c] < 0) file.fail("{} is {}; it must not be negative", kNames[c], o[c]);
    if (o[kExpiry] > kMostYears)
        file.fail("{} is {}; it must be at most {} years", kNames[kExpiry], o[kExpiry], kMostYears);
    if (o[kVolatility] * std::sqrt(o[kExpiry]) > kMostDeviation)
        file.fail("volatility {} over {} years exceeds {} standard deviations; 20 % a year is 0.2", o[kVolatility],
                  o[kExpiry], kMostDeviation);
    if (std::abs(o[kRate] * o[kExpiry]) > kMostGrowth)
        file.fail("rate {} over {} years is senseless; 5 % a year is 0.05", o[kRate], o[kExpiry]);
}

std::array<double, kOptionColumns> read_option(const TextFile& file, const Positions& positions) {
    const auto fields = file.fields(',');
    if (fields.size() != kNames.size())
        file.fail(file.line().empty() ? "the line is empty"
                                      : fmt::format("there are {} fields instead of {}", fields.size(), kNames.size()));
    std::array<double, kOptionColumns> option;
    for (std::size_t c = 0; c < kOptionColumns; ++c) option[c] = file.value(fields[positions[c]], kNames[c]);
    check(file, option);
    const std::string_view type = fields[positions[kType]];
    if (type != "call" && type != "put") file.fail("type {} is neither call nor put", in_quotes(type));
    if (type == "put") option[kSignedStrike] = -option[kSignedStrike];
    return option;
}

template <class T>
void fill(Matrix& matrix, const std::vector<std::array<double, kOptionColumns>>& options) {
    matrix.for_each_column<T>([&](T* column, std::size_t c) {
        for (std::size_t i = 0; i < options.size(); ++i) column[i] = static_cast<T>(options[i][c]);
    });
}

template <class T>
void write_rows(std::FILE* file, const BlackScholesProblem& p) {
    const auto value = [](const Matrix& matrix, std::size_t i, std::size_t j) {
        return *static_cast<const T*>(matrix.at(i, j));
    };
    for (std::size_t i = 0; i < p.options.rows(); ++i) {
        const T strike = value(p.options, i, kSignedStrike);
        fmt::print(file, "{},{},{},{},{},{}", value(p.options, i, kSpot), std::abs(strike), value(p.options, i, kRate),
                   value(p.options, i, kVolatility), value(p.options, i, kExpiry), strike < 0 ? "put" : "call");
        for (std::size_t j = 0; j < p.results.columns(); ++j) fmt::print(file, ",{}", value(p.results, i, j));
        fmt::print(file, "\n");
    }
}

}  // namespace

Matrix read_options(const std::string& path, ElementType type) {
    TextFile file(path);
    const Positions positions = read_header(file);
    std::vector<std::array<double, kOptionColumns>> options;
    while (file.next()) options.push_back(read_option(file, positions));
    if (options.empty()) file.fail("there is no option below the header");
    Matrix matrix(type, options.size(), kOptionColumns);
    by_real_type(type, [&]<class T>() { fill<T>(matrix, options); });
    return matrix;
}

void write_priced_options(const std::string& path, const BlackScholesProblem& problem) {
    NewFile file(path);
    fmt::print(file.stream(), "{},price{}\n", fmt::join(kNames, ","),
               problem.results.columns() > 1 ? ",standard_error" : "");
    by_real_type(problem.options.type(), [&]<class T>() { write_rows<T>(file.stream(), problem); });
    file.finish();
}

}  // namespace apportion
