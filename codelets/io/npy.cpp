// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/io/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "models/io/files.hpp"
#include "models/io/shown.hpp"
#include "models/io/text.hpp"
#include "models/io/user_error.hpp"

namespace apportion {

static_assert(std::endian::native == std::endian::little, "elements are read and written as they are");

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;  ///< of the data in the file, as NumPy writes it
constexpr std::size_t kMaxHeader = 65536;
constexpr std::size_t kMaxDimensions = 3;
constexpr std::pair<ElementType, const char*> kTypes[] = {{ElementType::float32, "<f4"},
                                                          {ElementType::float64, "<f8"},
                                                          {ElementType::complex64, "<c8"},
                                                          {ElementType::complex128, "<c16"}};

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

[[noreturn]] void fail(const std::string& path, const std::string& problem) { throw UserError(path + ": " + problem); }

template <class First, class... Others>
[[noreturn]] void fail(const std::string& path, fmt::format_string<First, Others...> problem, First&& first,
                       Others&&... others) {
    fail(path, fmt::format(problem, std::forward<First>(first), std::forward<Others>(others)...));
}

[[noreturn]] void fail_system(const std::string& path, const char* action) {
    fail(path, "cannot {}: {}", action, std::strerror(errno));
}

std::vector<std::size_t> shape_of(const std::string& path, std::string_view numbers, const char* malformed) {
    std::vector<std::size_t> shape;
    if (numbers.ends_with(',')) numbers.remove_suffix(1);  // "(6,)"
    for (const std::string_view number : numbers.empty() ? std::vector<std::string_view>() : split(numbers, ',')) {
        const auto dimension = parse_number<std::size_t>(number);
        if (!dimension) fail(path, malformed);
        shape.push_back(*dimension);
    }
    if (shape.empty() || shape.size() > kMaxDimensions)
        fail(path, "has {} dimensions; an array with 1 to {} is needed", shape.size(), kMaxDimensions);
    if (std::ranges::find(shape, 0u) != shape.end()) fail(path, "is an empty array of {}", fmt::join(shape, " x "));
    return shape;
}

/// The header's text: a Python dictionary with exactly the keys 'descr', 'fortran_order' and 'shape'.
NpyHeader parse_header(const std::string& path, const std::string& header) {
    constexpr const char* kMalformed = "the .npy header is malformed; write the file with numpy.save";
    std::string text;
    for (const char c : header)  // without blanks, but that "2 3" does not become a number
        if ((c != ' ' && c != '\n') || (!text.empty() && text.back() >= '0' && text.back() <= '9')) text += c;
    std::ranges::replace(text, '"', '\'');
    /// The value of that key up to this last character of it, which goes from the text with its key.
    const auto take = [&](const char* key, char last) {
        const std::size_t begin = text.find(key), value = begin + std::strlen(key);
        const std::size_t end = begin == text.npos ? begin : text.find(last, value + 1);
        if (end == text.npos) fail(path, kMalformed);
        const std::string taken = text.substr(value, end + 1 - value);
        text.erase(begin, end + 1 - begin);
        return taken;
    };
    const std::string descr = take("'descr':", '\'');
    if (descr.front() == '[') fail(path, "has structured elements; floating-point numbers are needed");
    const std::string order = take("'fortran_order':", 'e'), shape = take("'shape':", ')');
    const bool in_order = order == "True" || order == "False";
    if (descr.front() != '\'' || !in_order || shape.front() != '(' || (text != "{,,}" && text != "{,,,}"))
        fail(path, kMalformed);
    const std::string_view type = std::string_view(descr).substr(1, descr.size() - 2);
    const auto known = std::ranges::find(kTypes, type, [](const auto& t) { return std::string_view(t.second); });
    if (known == std::end(kTypes))
        fail(path,
             "has elements of type {}; '<f4' (float32), '<f8' (float64), '<c8' (complex64) or '<c16' (complex128) are "
             "needed",
             in_quotes(type));
    NpyHeader parsed;
    parsed.type = known->first;
    parsed.fortran_order = order == "True";
    parsed.shape = shape_of(path, std::string_view(shape).substr(1, shape.size() - 2), kMalformed);
    return parsed;
}

File open_file(const std::string& path) {
    require_regular_file(path);
    File file(std::fopen(path.c_str(), "rb"), std::fclose);
    if (!file) fail_system(path, "open");
    return file;
}

NpyHeader read_header(const std::string& path, std::FILE* file) {
    unsigned char start[12] = {};
    const std::size_t got = std::fread(start, 1, sizeof start, file);
    if (got < sizeof start || std::memcmp(start, kMagic.data(), kMagic.size()) != 0) fail(path, "is not a .npy file");
    const int version = start[6];
    if (version < 1 || version > 3) fail(path, "has .npy version {}; 1 to 3 are known", version);
    const std::size_t before = version == 1 ? 10 : 12;
    std::size_t length = start[8] + 256u * start[9];
    if (version > 1) length += (std::size_t{start[10]} << 16) + (std::size_t{start[11]} << 24);
    if (length > kMaxHeader) fail(path, "has a .npy header of {} bytes; at most {} make sense", length, kMaxHeader);

    std::string text(length, '\0');
    std::fseek(file, static_cast<long>(before), SEEK_SET);
    if (std::fread(text.data(), 1, length, file) != length) fail(path, "ends within its .npy header");
    NpyHeader header = parse_header(path, text);
    header.data_offset = before + length;

    struct stat status;
    if (fstat(fileno(file), &status) != 0) fail_system(path, "read");
    const std::size_t has = static_cast<std::size_t>(status.st_size) - header.data_offset;
    std::size_t needs = element_size(header.type);
    bool overflow = false;
    for (const std::size_t n : header.shape) overflow = overflow || __builtin_mul_overflow(needs, n, &needs);
    if (overflow || has < needs)
        fail(path, "is truncated: its shape {} needs more than the {} of data it has", fmt::join(header.shape, " x "),
             counted(has, "byte"));
    header.columns = header.shape.back();
    header.rows = std::reduce(header.shape.begin(), header.shape.end() - 1, std::size_t{1}, std::multiplies<>());
    if (has > needs) fail(path, "has {} behind the {} that its shape needs", counted(has - needs, "byte"), needs);
    return header;
}

void read_exactly(const std::string& path, std::FILE* file, void* data, std::size_t bytes) {
    if (std::fread(data, 1, bytes, file) != bytes) fail_system(path, "read");
}

NpyHeader check_matrix(const std::string& path, NpyHeader header) {
    if (header.shape.size() != 2)
        fail(path, "has {}; a matrix with 2 is needed", counted(header.shape.size(), "dimension"));
    if (is_complex(header.type)) fail(path, "has complex elements; float32 or float64 are needed");
    return header;
}

NpyHeader check_rows(const std::string& path, NpyHeader header, NpyElements elements) {
    if (header.fortran_order && header.shape.size() > 2)
        fail(path, "is in Fortran order; write numpy.ascontiguousarray of it");
    if (is_complex(header.type) && elements == NpyElements::real)
        fail(path, "has complex elements; float32 or float64 are needed");
    if (!is_complex(header.type) && elements == NpyElements::complex)
        fail(path, "has real elements; complex64 or complex128 are needed, which array.astype gives");
    return header;
}

/// For the file's data.
Matrix matrix_of(const std::string& path, ElementType type, std::size_t rows, std::size_t columns) {
    try {
        return Matrix(type, rows, columns);
    } catch (const std::runtime_error& error) {
        fail(path, error.what());
    }
}

/// Reads a strip of rows at a time and scatters it, so that both sides are touched in cache-sized pieces.
template <class T>
void read_scattered(const std::string& path, std::FILE* file, Matrix& matrix) {
    // Long rows need no more of them in a strip, which then holds one at least.
    constexpr std::size_t kMostRows = 64, kStripBytes = 4 << 20;
    const std::size_t strip_rows =
        std::clamp<std::size_t>(kStripBytes / (matrix.columns() * sizeof(T)), 1, std::min(kMostRows, matrix.rows()));
    std::vector<T> strip(strip_rows * matrix.columns());
    for (std::size_t first = 0; first < matrix.rows(); first += strip_rows) {
        const std::size_t rows = std::min(strip_rows, matrix.rows() - first);
        read_exactly(path, file, strip.data(), rows * matrix.columns() * sizeof(T));
        matrix.for_each_column<T>([&](T* column, std::size_t j) {
            for (std::size_t i = 0; i < rows; ++i) column[first + i] = strip[i * matrix.columns() + j];
        });
    }
}

void read_scattered(const std::string& path, std::FILE* file, Matrix& matrix) {
    switch (matrix.type()) {
        case ElementType::float32:
            return read_scattered<float>(path, file, matrix);
        case ElementType::float64:
            return read_scattered<double>(path, file, matrix);
        case ElementType::complex64:
            return read_scattered<std::complex<float>>(path, file, matrix);
        case ElementType::complex128:
            return read_scattered<std::complex<double>>(path, file, matrix);
    }
}

/// Reads the data at the file's position, column after column or row after row of the matrix.
void read_data(const std::string& path, std::FILE* file, Matrix& matrix, bool column_by_column) {
    // One row is the same in both orders, and the columns of one element lie one behind the other.
    if (matrix.rows() == 1 && matrix.ld() == 1)
        return read_exactly(path, file, matrix.at(0, 0), matrix.columns() * element_size(matrix.type()));
    if (!column_by_column) return read_scattered(path, file, matrix);
    const std::size_t column_bytes = matrix.rows() * element_size(matrix.type());
    for (std::size_t j = 0; j < matrix.columns(); ++j) read_exactly(path, file, matrix.at(0, j), column_bytes);
}

std::string header_text(ElementType type, bool fortran_order, const std::vector<std::size_t>& shape) {
    const auto* descr = std::ranges::find(kTypes, type, [](const auto& t) { return t.first; })->second;
    std::string text =
        fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}{}), }}", descr,
                    fortran_order ? "True" : "False", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
    const std::size_t before = kMagic.size() + 4;
    const std::size_t end = (before + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
    text.append(end - before - text.size() - 1, ' ');
    text += '\n';
    const char prefix[4] = {1, 0, static_cast<char>(text.size() % 256), static_cast<char>(text.size() / 256)};
    return std::string(kMagic) + std::string(prefix, 4) + text;
}

void write_file(const std::string& path, const std::string& header, const Matrix& matrix) {
    NewFile file(path);
    bool good = std::fwrite(header.data(), 1, header.size(), file.stream()) == header.size();
    const std::size_t column_bytes = matrix.rows() * element_size(matrix.type());
    for (std::size_t j = 0; good && j < matrix.columns(); ++j)
        good = std::fwrite(matrix.at(0, j), 1, column_bytes, file.stream()) == column_bytes;
    file.finish();
}

}  // namespace

NpyHeader read_npy_header(const std::string& path) {
    return check_matrix(path, read_header(path, open_file(path).get()));
}

NpyHeader read_npy_rows_header(const std::string& path, NpyElements elements) {
    return check_rows(path, read_header(path, open_file(path).get()), elements);
}

Matrix read_npy(const std::string& path) {
    const File file = open_file(path);
    const NpyHeader header = check_matrix(path, read_header(path, file.get()));
    Matrix matrix = matrix_of(path, header.type, header.rows, header.columns);
    read_data(path, file.get(), matrix, header.fortran_order);
    return matrix;
}

Matrix read_npy_rows(const std::string& path, NpyElements elements) {
    const File file = open_file(path);
    const NpyHeader header = check_rows(path, read_header(path, file.get()), elements);
    Matrix matrix = matrix_of(path, header.type, header.columns, header.rows);
    read_data(path, file.get(), matrix, !header.fortran_order || header.shape.size() == 1);
    return matrix;
}

void require_finite(const std::string& path, const Matrix& matrix, NpyRead read) {
    by_real_type(matrix.type(), [&]<class T>() {
        const std::size_t parts = is_complex(matrix.type()) ? 2 : 1, count = parts * matrix.rows();
        for (std::size_t j = 0; j < matrix.columns(); ++j) {
            const T* const column = matrix.column<T>(j);
            const T* const bad = std::find_if_not(column, column + count, [](T value) { return std::isfinite(value); });
            if (bad == column + count) continue;
            const std::size_t i = static_cast<std::size_t>(bad - column) / parts;
            throw UserError("{}: the element in row {}, column {} (from 0) is not finite", path,
                            read == NpyRead::whole ? i : j, read == NpyRead::whole ? j : i);
        }
    });
}

void write_npy(const std::string& path, const Matrix& matrix) {
    write_file(path, header_text(matrix.type(), true, {matrix.rows(), matrix.columns()}), matrix);
}

void write_npy_rows(const std::string& path, const Matrix& matrix, const std::vector<std::size_t>& shape) {
    write_file(path, header_text(matrix.type(), false, shape), matrix);
}

}  // namespace apportion
