// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/io/npy.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <complex>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <vector>

#include "test/catch.hpp"
#include "test/folder.hpp"

using namespace apportion;

namespace {

std::string dictionary(const std::string& descr, const std::string& order, const std::string& shape) {
    return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

std::string npy(int version, const std::string& header, const std::string& data) {
    std::string bytes = "\x93NUMPY";
    bytes += {static_cast<char>(version), '\0'};
    for (int i = 0; i < (version == 1 ? 2 : 4); ++i) bytes += static_cast<char>(header.size() >> (8 * i));
    return bytes + header + data;
}

template <class T>
std::string bytes_of(std::initializer_list<T> values) {
    std::string bytes(values.size() * sizeof(T), '\0');
    std::memcpy(bytes.data(), values.begin(), bytes.size());
    return bytes;
}

template <class T>
T element(const Matrix& matrix, std::size_t i, std::size_t j) {
    return *static_cast<const T*>(matrix.at(i, j));
}

std::string complaint(const std::string& path) {
    return thrown<std::runtime_error>([&] { read_npy(path); });
}

const std::string kSix = bytes_of<float>({1, 2, 3, 4, 5, 6});

}  // namespace

TEST_CASE("C order, Fortran order and all header versions give the same matrix") {
    const Folder folder;
    const std::string columns = bytes_of<float>({1, 4, 2, 5, 3, 6});
    for (int version : {1, 2, 3})
        for (bool fortran : {false, true}) {
            const std::string header = dictionary("<f4", fortran ? "True" : "False", "(2, 3)");
            const Matrix matrix = read_npy(folder.write("a.npy", npy(version, header, fortran ? columns : kSix)));
            REQUIRE(matrix.rows() == 2);
            REQUIRE(matrix.columns() == 3);
            CHECK(matrix.type() == ElementType::float32);
            for (std::size_t i = 0; i < 2; ++i)
                for (std::size_t j = 0; j < 3; ++j)
                    CHECK(element<float>(matrix, i, j) == static_cast<float>(3 * i + j + 1));
        }
}

TEST_CASE("double-precision files are read, also with keys in another order and other spacing") {
    const Folder folder;
    const Matrix matrix =
        read_npy(folder.write("a.npy", npy(1, "{\"shape\":(1,2),\"fortran_order\":False,\"descr\":\"<f8\"}   \n",
                                           bytes_of<double>({0.5, -3}))));
    CHECK(matrix.type() == ElementType::float64);
    CHECK(element<double>(matrix, 0, 0) == 0.5);
    CHECK(element<double>(matrix, 0, 1) == -3);
}

TEST_CASE("what is written has NumPy's layout") {
    const Folder folder;
    Matrix matrix(ElementType::float32, 2, 1);
    *static_cast<float*>(matrix.at(0, 0)) = 7;
    *static_cast<float*>(matrix.at(1, 0)) = -2;
    write_npy(folder.file("c.npy"), matrix);
    std::string header = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1), }";
    header.append(128 - 10 - header.size() - 1, ' ');
    CHECK(folder.read("c.npy") == npy(1, header + "\n", bytes_of<float>({7, -2})));
}

TEST_CASE("a written matrix is read back, whatever its padding, type and shape") {
    const Folder folder;
    const std::string path = folder.file("c.npy");
    for (ElementType type : {ElementType::float32, ElementType::float64})
        for (std::size_t rows : {1u, 3u, 1024u})
            for (std::size_t columns : {1u, 5u}) {
                Matrix matrix(type, rows, columns);
                fill_random(matrix, 3);
                write_npy(path, matrix);
                const Matrix again = read_npy(path);
                REQUIRE(again.type() == type);
                REQUIRE(again.rows() == rows);
                REQUIRE(again.columns() == columns);
                bool equal = true;
                for (std::size_t j = 0; j < columns; ++j)
                    equal = equal && std::memcmp(again.at(0, j), matrix.at(0, j), rows * element_size(type)) == 0;
                CHECK(equal);
            }
}

TEST_CASE("rows in C order beyond one strip arrive in their places") {
    const Folder folder;
    std::string data;
    for (int i = 0; i < 131 * 2; ++i) data += bytes_of<double>({static_cast<double>(i)});
    const Matrix matrix = read_npy(folder.write("a.npy", npy(1, dictionary("<f8", "False", "(131, 2)"), data)));
    bool right = true;
    for (std::size_t i = 0; i < 131; ++i)
        for (std::size_t j = 0; j < 2; ++j)
            right = right && element<double>(matrix, i, j) == static_cast<double>(2 * i + j);
    CHECK(right);
}

TEST_CASE("files that are not exactly a matrix are refused with the reason") {
    const Folder folder;
    const auto refused = [&](const std::string& bytes, const std::string& reason) {
        const std::string path = folder.write("bad.npy", bytes);
        INFO(reason);
        const std::string sentence = complaint(path);
        CHECK(sentence.starts_with(path + ": "));
        CHECK(sentence.find(reason) != std::string::npos);
    };
    const std::string good = dictionary("<f4", "False", "(2, 3)");
    refused("", "is not a .npy file");
    refused("hello, world, this is text", "is not a .npy file");
    refused(npy(4, good, kSix), "has .npy version 4");
    refused(npy(1, good, kSix).substr(0, 30), "ends within its .npy header");
    refused(npy(1, good, kSix.substr(1)), "is truncated");
    refused(npy(1, good, kSix + "x"), "has 1 byte behind the 24");
    refused(npy(1, dictionary("<f4", "False", "(6,)"), kSix), "has 1 dimension;");
    refused(npy(1, dictionary("<f4", "False", "()"), kSix), "has 0 dimensions;");
    refused(npy(1, dictionary("<f4", "False", "(1, 2, 3)"), kSix), "has 3 dimensions;");
    refused(npy(1, dictionary("<f4", "False", "(0, 3)"), ""), "is an empty array");
    refused(npy(1, dictionary("<f4", "False", "(4294967296, 4294967296)"), kSix), "is truncated");
    refused(npy(1, dictionary("<i4", "False", "(2, 3)"), kSix), "elements of type '<i4'");
    refused(npy(1, dictionary(">f4", "False", "(2, 3)"), kSix), "elements of type '>f4'");
    refused(npy(1, "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2, 3), }\n", kSix),
            "structured elements");
    refused(npy(2, std::string(100000, ' '), kSix), "header of 100000 bytes");
    for (const char* header : {"", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': Maybe}",
                               "{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3)}",
                               "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}",
                               "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} more",
                               "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
                               "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': True}"})
        refused(npy(1, header, kSix), "header is malformed");
    CHECK(complaint(folder.file("missing.npy")).find("cannot be opened") != std::string::npos);
    std::filesystem::create_directory(folder.file("folder.npy"));
    CHECK(complaint(folder.file("folder.npy")).find("is not a regular file") != std::string::npos);
}

TEST_CASE("arrays of 1 to 3 dimensions are read and written by their rows") {
    const Folder folder;
    const std::string path = folder.file("a.npy");
    const auto check = [&](const std::string& shape, const char* order, std::size_t rows, std::size_t columns) {
        INFO(shape);
        folder.write("a.npy", npy(1, dictionary("<f4", order, shape), kSix));
        const Matrix matrix = read_npy_rows(path, NpyElements::real);
        REQUIRE(matrix.columns() == rows);
        REQUIRE(matrix.rows() == columns);
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < columns; ++j) {
                const std::size_t at = order[0] == 'F' ? i * columns + j : j * rows + i;
                CHECK(element<float>(matrix, j, i) == static_cast<float>(at + 1));
            }
    };
    check("(2, 3)", "False", 2, 3);
    check("(2, 3)", "True", 2, 3);
    check("(6,)", "False", 1, 6);
    check("(3, 1, 2)", "False", 3, 2);
    check("(1, 2, 3)", "False", 2, 3);
    CHECK(read_npy_rows_header(path, NpyElements::real).shape == std::vector<std::size_t>{1, 2, 3});

    const Matrix again = read_npy_rows(path, NpyElements::real);
    write_npy_rows(folder.file("b.npy"), again, {1, 2, 3});
    CHECK(read_npy_rows_header(folder.file("b.npy"), NpyElements::real).shape == std::vector<std::size_t>{1, 2, 3});
    CHECK(folder.read("b.npy").ends_with(kSix));
    write_npy_rows(folder.file("b.npy"), again, {6});
    CHECK(folder.read("b.npy").find("'shape': (6,), }") != std::string::npos);
}

TEST_CASE("complex arrays are read where they are wanted, and only there") {
    const Folder folder;
    const std::string path = folder.file("a.npy");
    const auto said = [](auto&& reading) { return thrown<std::runtime_error>(reading); };
    folder.write("a.npy", npy(1, dictionary("<c16", "True", "(1, 2)"), bytes_of<double>({1, 2, 3, 4})));
    const Matrix matrix = read_npy_rows(path, NpyElements::complex);
    CHECK(matrix.type() == ElementType::complex128);
    CHECK(element<std::complex<double>>(matrix, 1, 0) == std::complex<double>(3, 4));
    write_npy_rows(folder.file("b.npy"), matrix, {1, 2});
    CHECK(folder.read("b.npy").find("'descr': '<c16', 'fortran_order': False") != std::string::npos);
    CHECK(said([&] { read_npy(path); }).find("has complex elements") != std::string::npos);
    CHECK(said([&] { read_npy_rows(path, NpyElements::real); }).find("has complex elements") != std::string::npos);
    folder.write("a.npy", npy(1, dictionary("<c8", "False", "(2, 1)"), bytes_of<float>({1, 2, 3, 4})));
    CHECK(read_npy_rows(path, NpyElements::complex).type() == ElementType::complex64);
    folder.write("a.npy", npy(1, dictionary("<f4", "False", "(2, 3)"), kSix));
    CHECK(said([&] { read_npy_rows(path, NpyElements::complex); }).find("has real elements") != std::string::npos);
    folder.write("a.npy", npy(1, dictionary("<f4", "True", "(1, 2, 3)"), kSix));
    CHECK(said([&] { read_npy_rows(path, NpyElements::real); }).find("Fortran order") != std::string::npos);
    folder.write("a.npy", npy(1, dictionary("<f4", "False", "(1, 1, 2, 3)"), kSix));
    CHECK(said([&] { read_npy_rows(path, NpyElements::real); }).find("has 4 dimensions") != std::string::npos);
}

TEST_CASE("of a matrix that is too large for this program its file is named") {
    const Folder folder;
    const std::string path = folder.write("long.npy", npy(1, dictionary("<f4", "False", "(2147483648, 1)"), ""));
    std::filesystem::resize_file(path, std::filesystem::file_size(path) + (std::size_t{1} << 31) * sizeof(float));
    CHECK(complaint(path).starts_with(path + ": a matrix of 2147483648 x 1 is too large"));
    CHECK_THROWS_WITH(read_npy_rows(path, NpyElements::real), ContainsSubstring(path + ": a matrix of 1 x 2147483648"));
}

TEST_CASE("a wide matrix takes no more memory than its elements twice") {
    const Folder folder;
    constexpr std::size_t kColumns = 50'000'000;
    const std::string path =
        folder.write("wide.npy", npy(1, dictionary("<f4", "False", "(1, " + std::to_string(kColumns) + ")"), ""));
    std::filesystem::resize_file(path, std::filesystem::file_size(path) + kColumns * sizeof(float));  // a hole
    std::ifstream statm("/proc/self/statm");
    std::size_t pages = 0;
    statm >> pages;
    rlimit before;
    REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
    const rlimit limited{pages * 4096 + 3 * kColumns * sizeof(float), before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_AS, &limited) == 0);
    std::size_t read = 0;
    try {
        read = read_npy(path).columns();
    } catch (const std::bad_alloc&) {
    }
    setrlimit(RLIMIT_AS, &before);
    CHECK(read == kColumns);
}

TEST_CASE("the part that a killed process of the same number left is not in the way") {
    const Folder folder;
    const std::string victim = folder.write("victim", "precious"), path = folder.file("c.npy");
    std::filesystem::create_symlink(victim, path + "." + std::to_string(getpid()) + ".part");
    write_npy(path, Matrix(ElementType::float32, 2, 2));
    CHECK(read_npy(path).rows() == 2);
    CHECK(folder.read("victim") == "precious");
}

TEST_CASE("a file that cannot be written leaves nothing behind") {
    const Folder folder;
    std::filesystem::create_directory(folder.file("taken.npy"));
    Matrix matrix(ElementType::float32, 2, 2);
    CHECK_THROWS_AS(write_npy(folder.file("taken.npy"), matrix), std::runtime_error);
    CHECK_THROWS_AS(write_npy(folder.file("missing/c.npy"), matrix), std::runtime_error);
    CHECK(folder.files() == 1);
}
