// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/npy.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace apportion {

static_assert(std::endian::native == std::endian::little, "elements are read and written as they are");

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;  ///< of the data in the file, as NumPy writes it
constexpr std::size_t kMaxHeader = 65536;

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

[[noreturn]] void fail(const std::string& path, const std::string& problem) {
    throw std::runtime_error(path + ": " + problem);
}

[[noreturn]] void fail_system(const std::string& path, const char* action) {
    fail(path, fmt::format("cannot {}: {}", action, std::strerror(errno)));
}

/// The header's text: a Python dictionary with exactly the keys 'descr', 'fortran_order' and 'shape'.
class HeaderParser {
  public:
    HeaderParser(const std::string& path, std::string_view text) : path_(path), rest_(text) {}

    NpyHeader parse() {
        NpyHeader header;
        bool seen[3] = {};
        auto once = [&](int key) {
            if (std::exchange(seen[key], true)) malformed();
        };
        expect('{');
        while (!accept('}')) {
            const std::string_view key = quoted();
            expect(':');
            if (key == "descr")
                once(0), header.type = element_type();
            else if (key == "fortran_order")
                once(1), header.fortran_order = boolean();
            else if (key == "shape")
                once(2), shape(header);
            else
                malformed();
            if (!accept(',')) {
                expect('}');
                break;
            }
        }
        skip_space();
        if (!rest_.empty() || !seen[0] || !seen[1] || !seen[2]) malformed();
        return header;
    }

  private:
    [[noreturn]] void malformed() const { fail(path_, "the .npy header is malformed; write the file with numpy.save"); }

    void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size())); }

    bool accept(char c) {
        skip_space();
        if (!rest_.starts_with(c)) return false;
        rest_.remove_prefix(1);
        return true;
    }

    void expect(char c) {
        if (!accept(c)) malformed();
    }

    bool accept_word(std::string_view word) {
        skip_space();
        if (!rest_.starts_with(word)) return false;
        rest_.remove_prefix(word.size());
        return true;
    }

    std::string_view quoted() {
        skip_space();
        const char quote = rest_.empty() ? '\0' : rest_.front();
        if (quote != '\'' && quote != '"') malformed();
        const std::size_t end = rest_.find(quote, 1);
        if (end == rest_.npos) malformed();
        const std::string_view text = rest_.substr(1, end - 1);
        rest_.remove_prefix(end + 1);
        return text;
    }

    bool boolean() {
        if (accept_word("True")) return true;
        if (!accept_word("False")) malformed();
        return false;
    }

    ElementType element_type() {
        skip_space();
        if (rest_.starts_with('[')) fail(path_, "has structured elements; float32 or float64 are needed");
        const std::string_view descr = quoted();
        if (descr == "<f4") return ElementType::float32;
        if (descr == "<f8") return ElementType::float64;
        fail(path_, fmt::format("has elements of type '{}'; '<f4' (float32) or '<f8' (float64) are needed", descr));
    }

    std::size_t integer() {
        skip_space();
        std::size_t value = 0;
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (error != std::errc{}) malformed();
        rest_.remove_prefix(end - rest_.data());
        return value;
    }

    void shape(NpyHeader& header) {
        std::vector<std::size_t> dimensions;
        expect('(');
        while (!accept(')')) {
            dimensions.push_back(integer());
            if (!accept(',')) {
                expect(')');
                break;
            }
        }
        if (dimensions.size() != 2)
            fail(path_, fmt::format("has {} dimension{}; a matrix with 2 is needed", dimensions.size(),
                                    dimensions.size() == 1 ? "" : "s"));
        header.rows = dimensions[0];
        header.columns = dimensions[1];
        if (header.rows == 0 || header.columns == 0)
            fail(path_, fmt::format("is an empty matrix of {} x {}", header.rows, header.columns));
    }

    const std::string& path_;
    std::string_view rest_;
};

File open_to_read(const std::string& path) {
    File file(std::fopen(path.c_str(), "rb"), std::fclose);
    if (!file) fail_system(path, "open");
    struct stat status;
    if (fstat(fileno(file.get()), &status) != 0) fail_system(path, "read");
    if (!S_ISREG(status.st_mode)) fail(path, "is not a regular file");
    return file;
}

NpyHeader read_header(const std::string& path, std::FILE* file) {
    unsigned char start[12] = {};
    const std::size_t got = std::fread(start, 1, sizeof start, file);
    if (got < sizeof start || std::memcmp(start, kMagic.data(), kMagic.size()) != 0) fail(path, "is not a .npy file");
    const int version = start[6];
    if (version < 1 || version > 3) fail(path, fmt::format("has .npy version {}; 1 to 3 are known", version));
    const std::size_t before = version == 1 ? 10 : 12;
    std::size_t length = start[8] + 256u * start[9];
    if (version > 1) length += (std::size_t{start[10]} << 16) + (std::size_t{start[11]} << 24);
    if (length > kMaxHeader)
        fail(path, fmt::format("has a .npy header of {} bytes; at most {} make sense", length, kMaxHeader));

    std::string text(length, '\0');
    std::fseek(file, static_cast<long>(before), SEEK_SET);
    if (std::fread(text.data(), 1, length, file) != length) fail(path, "ends within its .npy header");
    NpyHeader header = HeaderParser(path, text).parse();
    header.data_offset = before + length;

    struct stat status;
    if (fstat(fileno(file), &status) != 0) fail_system(path, "read");
    const std::size_t has = static_cast<std::size_t>(status.st_size) - header.data_offset;
    std::size_t needs = element_size(header.type);
    if (__builtin_mul_overflow(needs, header.rows, &needs) || __builtin_mul_overflow(needs, header.columns, &needs) ||
        has < needs)
        fail(path, fmt::format("is truncated: its shape {} x {} needs more than the {} bytes of data it has",
                               header.rows, header.columns, has));
    if (has > needs) fail(path, fmt::format("has {} bytes behind the {} that its shape needs", has - needs, needs));
    return header;
}

void read_exactly(const std::string& path, std::FILE* file, void* data, std::size_t bytes) {
    if (std::fread(data, 1, bytes, file) != bytes) fail_system(path, "read");
}

/// Reads a strip of rows at a time and scatters it, so that both sides are touched in cache-sized pieces.
template <class T>
void read_c_order(const std::string& path, std::FILE* file, Matrix& matrix) {
    constexpr std::size_t kStripRows = 64;
    std::vector<T> strip(kStripRows * matrix.columns());
    for (std::size_t first = 0; first < matrix.rows(); first += kStripRows) {
        const std::size_t rows = std::min(kStripRows, matrix.rows() - first);
        read_exactly(path, file, strip.data(), rows * matrix.columns() * sizeof(T));
        matrix.for_each_column<T>([&](T* column, std::size_t j) {
            for (std::size_t i = 0; i < rows; ++i) column[first + i] = strip[i * matrix.columns() + j];
        });
    }
}

std::string header_text(const Matrix& matrix) {
    std::string text =
        fmt::format("{{'descr': '{}', 'fortran_order': True, 'shape': ({}, {}), }}",
                    matrix.type() == ElementType::float32 ? "<f4" : "<f8", matrix.rows(), matrix.columns());
    const std::size_t before = kMagic.size() + 4;
    const std::size_t end = (before + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
    text.append(end - before - text.size() - 1, ' ');
    text += '\n';
    const char prefix[4] = {1, 0, static_cast<char>(text.size() % 256), static_cast<char>(text.size() / 256)};
    return std::string(kMagic) + std::string(prefix, 4) + text;
}

bool write_all(std::FILE* file, const Matrix& matrix) {
    const std::string header = header_text(matrix);
    bool good = std::fwrite(header.data(), 1, header.size(), file) == header.size();
    const std::size_t column_bytes = matrix.rows() * element_size(matrix.type());
    for (std::size_t j = 0; good && j < matrix.columns(); ++j)
        good = std::fwrite(matrix.at(0, j), 1, column_bytes, file) == column_bytes;
    return std::fflush(file) == 0 && good;
}

}  // namespace

NpyHeader read_npy_header(const std::string& path) { return read_header(path, open_to_read(path).get()); }

Matrix read_npy(const std::string& path) {
    const File file = open_to_read(path);
    const NpyHeader header = read_header(path, file.get());
    Matrix matrix(header.type, header.rows, header.columns);
    const std::size_t column_bytes = header.rows * element_size(header.type);
    if (header.fortran_order)
        for (std::size_t j = 0; j < header.columns; ++j) read_exactly(path, file.get(), matrix.at(0, j), column_bytes);
    else if (header.type == ElementType::float32)
        read_c_order<float>(path, file.get(), matrix);
    else
        read_c_order<double>(path, file.get(), matrix);
    return matrix;
}

void write_npy(const std::string& path, const Matrix& matrix) {
    struct stat status;
    // A rename would put a file in the place of a device, a pipe, or whatever else has the name.
    if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) fail(path, "exists and is not a regular file");
    const std::string temporary = fmt::format("{}.{}.part", path, getpid());
    File file(std::fopen(temporary.c_str(), "wbx"), std::fclose);
    if (!file) fail_system(path, "write");
    const bool written = write_all(file.get(), matrix) && std::fclose(file.release()) == 0;
    if (written && std::rename(temporary.c_str(), path.c_str()) == 0) return;
    const int error = errno;
    std::remove(temporary.c_str());
    errno = error;
    fail_system(path, "write");
}

}  // namespace apportion
