// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/io/matrix_market.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "codelets/common/matrix.hpp"
#include "models/io/files.hpp"
#include "models/io/shown.hpp"
#include "models/io/text.hpp"
#include "models/io/text_file.hpp"

namespace apportion {

namespace {

constexpr std::string_view kBanner = "%%MatrixMarket";
constexpr std::string_view kSpace = " \t";
constexpr double kDense = 1.0 / 3;  ///< share of elements from which a matrix is kept dense

/// The file, line by line, and where in the line we are.
class Lines : private TextFile {
  public:
    using TextFile::fail;
    using TextFile::TextFile;

    bool next() {
        const bool found = TextFile::next();
        rest_ = line();
        return found;
    }

    /// The next line that is neither a comment nor empty; false at the end of the file.
    bool next_data() {
        while (next())
            if (!rest_.starts_with('%') && rest_.find_first_not_of(kSpace) != rest_.npos) return true;
        return false;
    }

    /// The next word of the line, empty at its end.
    std::string_view word() {
        rest_.remove_prefix(std::min(rest_.find_first_not_of(kSpace), rest_.size()));
        const std::string_view result = rest_.substr(0, rest_.find_first_of(kSpace));
        rest_.remove_prefix(result.size());
        return result;
    }

    std::size_t index(const char* what, std::size_t least, std::size_t most) {
        const std::string_view text = word();
        const auto value = parse_number<std::size_t>(text);
        if (!value || *value < least || *value > most)
            fail("{} is no {}: a whole number of {} ... {}", in_quotes(text), what, least, most);
        return *value;
    }

    double number(bool integer) {
        std::string_view text = word();
        const std::string_view whole = text;
        if (text.starts_with('+')) text.remove_prefix(1);
        const auto value = parse_number<double>(text);
        if (!value || !std::isfinite(*value)) fail("{} is no finite number", in_quotes(whole));
        if (integer && *value != std::floor(*value)) fail("{} is no integer, as the file announces", in_quotes(whole));
        return *value;
    }

    void end_of_line() {
        if (const std::string_view more = word(); !more.empty())
            fail("{} is more than the line should have", in_quotes(more));
    }

  private:
    std::string_view rest_;
};

struct Header {
    bool coordinate = false, integer = false, symmetric = false;
    std::size_t rows = 0, columns = 0, entries = 0;
};

std::string lower_case(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](unsigned char c) { return std::tolower(c); });
    return result;
}

Header read_header(Lines& lines) {
    constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max() - 64;
    if (!lines.next()) lines.fail("is empty");
    if (lines.word() != kBanner) lines.fail("is no Matrix Market file: the first line must begin with %%MatrixMarket");
    if (const auto object = lower_case(lines.word()); object != "matrix")
        lines.fail("describes a {}; a matrix is needed", in_quotes(object));
    Header header;
    const std::string format = lower_case(lines.word()), field = lower_case(lines.word());
    const std::string symmetry = lower_case(lines.word());
    if (format != "coordinate" && format != "array")
        lines.fail("has format {}; coordinate or array are needed", in_quotes(format));
    if (field != "real" && field != "integer" && field != "double")
        lines.fail("has elements of kind {}; real or integer are needed", in_quotes(field));
    if (symmetry != "general" && symmetry != "symmetric")
        lines.fail("has symmetry {}; general or symmetric are needed", in_quotes(symmetry));
    lines.end_of_line();
    header.coordinate = format == "coordinate";
    header.integer = field == "integer";
    header.symmetric = symmetry == "symmetric";
    if (!lines.next_data()) lines.fail("ends before the line with the sizes");
    header.rows = lines.index("number of rows", 1, kMost);
    header.columns = lines.index("number of columns", 1, kMost);
    if (header.coordinate)
        header.entries = lines.index("number of entries", 0, std::numeric_limits<std::int32_t>::max());
    lines.end_of_line();
    if (header.symmetric && header.rows != header.columns)
        lines.fail("a matrix of {} x {} cannot be symmetric", header.rows, header.columns);
    return header;
}

void expect_end(Lines& lines) {
    if (lines.next_data()) lines.fail("the file goes on behind the elements that it announces");
}

struct Entry {
    std::int32_t row, column;  ///< from 0
    double value;
};

/// All entries, the mirrored ones included, by row and column.
std::vector<Entry> read_entries(Lines& lines, const Header& header) {
    std::vector<Entry> entries;
    for (std::size_t k = 0; k < header.entries; ++k) {
        if (!lines.next_data())
            lines.fail("the file ends behind {} of the {} entries that it announces", k, header.entries);
        const auto row = static_cast<std::int32_t>(lines.index("row", 1, header.rows)) - 1;
        const auto column = static_cast<std::int32_t>(lines.index("column", 1, header.columns)) - 1;
        const double value = lines.number(header.integer);
        lines.end_of_line();
        entries.push_back({row, column, value});
        if (!header.symmetric) continue;
        if (column > row) lines.fail("a symmetric file has entries below the diagonal and on it only");
        if (column != row) entries.push_back({column, row, value});
    }
    expect_end(lines);
    const auto place = [](const Entry& e) { return std::pair(e.row, e.column); };
    std::ranges::sort(entries, {}, place);
    if (const auto twice = std::ranges::adjacent_find(entries, {}, place); twice != entries.end())
        lines.fail("the entry in row {}, column {} is there twice", twice->row + 1, twice->column + 1);
    return entries;
}

SparseMatrix compressed(const std::vector<Entry>& entries, std::size_t n) {
    SparseMatrix matrix;
    matrix.n = n;
    matrix.start.assign(n + 1, 0);
    for (const Entry& e : entries) {
        ++matrix.start[static_cast<std::size_t>(e.row) + 1];
        matrix.columns.push_back(e.column);
        matrix.values.push_back(e.value);
    }
    for (std::size_t i = 0; i < n; ++i) matrix.start[i + 1] += matrix.start[i];
    return matrix;
}

double& element(Matrix& by_rows, std::size_t row, std::size_t column) {
    return *static_cast<double*>(by_rows.at(column, row));
}

/// One that does not fit in memory is a mistake at the line with the sizes.
Matrix announced_matrix(const Lines& lines, const Header& header) {
    try {
        return Matrix(ElementType::float64, header.columns, header.rows);
    } catch (const std::runtime_error& error) {
        lines.fail(error.what());
    }
}

/// Array files go through the matrix column by column, symmetric ones from the diagonal down.
Matrix read_array(Lines& lines, const Header& header) {
    Matrix matrix = announced_matrix(lines, header);
    std::size_t read = 0;
    for (std::size_t j = 0; j < header.columns; ++j) {
        for (std::size_t i = header.symmetric ? j : 0; i < header.rows; ++i, ++read) {
            if (!lines.next_data()) lines.fail("the file ends behind {} elements; its size needs more", read);
            const double value = lines.number(header.integer);
            lines.end_of_line();
            element(matrix, i, j) = value;
            if (header.symmetric) element(matrix, j, i) = value;
        }
    }
    expect_end(lines);
    return matrix;
}

}  // namespace

std::variant<SparseMatrix, Matrix> read_matrix_market(const std::string& path) {
    Lines lines(path);
    const Header header = read_header(lines);
    if (header.rows != header.columns)
        lines.fail("the matrix is {} x {}; a square one is needed", header.rows, header.columns);
    if (!header.coordinate) return read_array(lines, header);
    const std::vector<Entry> entries = read_entries(lines, header);
    // Otherwise a header of three numbers could ask for all memory.
    if (entries.size() < header.rows)
        lines.fail("{} cannot fill the {} that the file announces; every row needs one",
                   entries.size() == 1 ? "1 entry" : fmt::format("{} entries", entries.size()),
                   counted(header.rows, "row"));
    const double n = static_cast<double>(header.rows);
    if (static_cast<double>(entries.size()) < kDense * n * n) return compressed(entries, header.rows);
    Matrix matrix(ElementType::float64, header.rows, header.rows);
    for (const Entry& e : entries) element(matrix, e.row, e.column) = e.value;
    return matrix;
}

Matrix read_matrix_market_vector(const std::string& path) {
    Lines lines(path);
    const Header header = read_header(lines);
    if (header.coordinate || header.columns != 1)
        lines.fail("is not a vector; an array file with one column is needed");
    const Matrix by_rows = read_array(lines, header);
    Matrix vector(ElementType::float64, header.rows, 1);
    for (std::size_t i = 0; i < header.rows; ++i)
        *static_cast<double*>(vector.at(i, 0)) = *static_cast<const double*>(by_rows.at(0, i));
    return vector;
}

bool is_matrix_market(const std::string& path) {
    std::ifstream stream = open_to_read(path);
    std::string start(kBanner.size(), '\0');
    return stream.read(start.data(), static_cast<std::streamsize>(start.size())) && start == kBanner;
}

}  // namespace apportion
