// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/io/matrix_market.hpp"

#include <string>

#include "test/catch.hpp"
#include "test/folder.hpp"

using namespace apportion;

namespace {

const std::string kCoordinate = "%%MatrixMarket matrix coordinate real general\n";

/// Row i, column j of what is stored by rows.
double at(const Matrix& by_rows, std::size_t i, std::size_t j) { return element(by_rows, j, i); }

SparseMatrix read_sparse(const std::string& text) {
    return std::get<SparseMatrix>(read_matrix_market(Folder().write("a.mtx", text)));
}

Matrix read_dense(const std::string& text) {
    return std::get<Matrix>(read_matrix_market(Folder().write("a.mtx", text)));
}

std::string complaint(const std::string& text, bool vector = false) {
    const Folder folder;
    const std::string path = folder.write("a.mtx", text);
    return thrown<std::runtime_error>(
               [&] { vector ? void(read_matrix_market_vector(path)) : void(read_matrix_market(path)); })
        .substr(path.size());
}

}  // namespace

TEST_CASE("coordinate files become compressed rows, whatever the order of their entries") {
    const SparseMatrix a =
        read_sparse(kCoordinate + "% a comment\n\n 4 4 5\n4 1 -2.5e1\n1 1 1\n2 2 +2\r\n\n3 3 3\n4 4 .5\n\n");
    CHECK(a.n == 4);
    CHECK(a.start == std::vector<std::int64_t>{0, 1, 2, 3, 5});
    CHECK(a.columns == std::vector<std::int32_t>{0, 1, 2, 0, 3});
    CHECK(a.values == std::vector<double>{1, 2, 3, -25, 0.5});
}

TEST_CASE("symmetric files have their other half added") {
    const SparseMatrix a = read_sparse(
        "%%MatrixMarket Matrix Coordinate INTEGER Symmetric\n5 5 6\n1 1 7\n2 2 8\n3 3 9\n4 4 1\n4 1 -3\n5 5 2\n");
    CHECK(a.start == std::vector<std::int64_t>{0, 2, 3, 4, 6, 7});
    CHECK(a.values == std::vector<double>{7, -3, 8, 9, -3, 1, 2});
    const Matrix symmetric = read_dense("%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n");
    CHECK(at(symmetric, 0, 1) == 2);
    CHECK(at(symmetric, 1, 0) == 2);
    CHECK(at(symmetric, 1, 1) == 3);
}

TEST_CASE("full coordinate files and arrays become dense matrices by rows") {
    for (const std::string& text : {kCoordinate + "2 2 3\n1 1 1\n2 1 2\n1 2 3\n",
                                    std::string("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n0\n")}) {
        const Matrix a = read_dense(text);
        CHECK(at(a, 0, 0) == 1);
        CHECK(at(a, 0, 1) == 3);
        CHECK(at(a, 1, 0) == 2);
        CHECK(at(a, 1, 1) == 0);
    }
}

TEST_CASE("vectors are arrays of one column") {
    const Folder folder;
    const std::string file = folder.write("b.mtx", "%%MatrixMarket matrix array integer general\n3 1\n1\n-2\n3\n");
    const Matrix b = read_matrix_market_vector(file);
    REQUIRE(b.rows() == 3);
    CHECK(element(b, 1, 0) == -2);
    CHECK(is_matrix_market(file));
    folder.write("b.mtx", "something else entirely");
    CHECK_FALSE(is_matrix_market(file));
    CHECK(complaint("%%MatrixMarket matrix array real general\n3 2\n", true).starts_with(":2: is not a vector"));
    CHECK(complaint(kCoordinate + "3 1 0\n", true).starts_with(":2: is not a vector"));
}

TEST_CASE("files that are not exactly a matrix are refused with line and reason") {
    const auto refused = [](const std::string& text, int line, const std::string& reason) {
        INFO(text);
        const std::string sentence = complaint(text);
        CHECK(sentence.starts_with(":" + std::to_string(line) + ": "));
        CHECK(sentence.find(reason) != std::string::npos);
    };
    refused("", 1, "is empty");
    refused("1 2 3\n", 1, "is no Matrix Market file");
    refused("%%MatrixMarket vector array real general\n", 1, "describes a 'vector'");
    refused("%%MatrixMarket matrix coordinate complex general\n", 1, "of kind 'complex'");
    refused("%%MatrixMarket matrix coordinate pattern general\n", 1, "of kind 'pattern'");
    refused("%%MatrixMarket matrix coordinate real hermitian\n", 1, "symmetry 'hermitian'");
    refused("%%MatrixMarket matrix sparse real general\n", 1, "format 'sparse'");
    refused("%%MatrixMarket matrix coordinate real\n", 1, "symmetry ''");
    refused(kCoordinate, 1, "ends before the line with the sizes");
    refused(kCoordinate + "% c\n0 0 0\n", 3, "'0' is no number of rows");
    refused(kCoordinate + "3 x 1\n", 2, "'x' is no number of columns");
    refused(kCoordinate + "3 3\n", 2, "'' is no number of entries");
    refused(kCoordinate + "3 3 1 1\n", 2, "'1' is more than the line should have");
    // A short file that asks for all memory.
    refused(kCoordinate + "2147483583 2147483583 1\n1 1 4\n", 3, "1 entry cannot fill the 2147483583 rows");
    refused(kCoordinate + "4 4 2\n1 1 4\n2 2 4\n", 4, "2 entries cannot fill the 4 rows");
    refused(kCoordinate + "3 2 1\n", 2, "is 3 x 2; a square one is needed");
    refused(kCoordinate + "99999999999 9 1\n", 2, "is no number of rows");
    refused(kCoordinate + "9 9 2\n1 1 1\n", 3, "ends behind 1 of the 2 entries");
    refused(kCoordinate + "9 9 1\n1 1 1\n2 2 2\n", 4, "goes on behind");
    refused(kCoordinate + "9 9 1\n10 1 1\n", 3, "'10' is no row");
    refused(kCoordinate + "9 9 1\n1 0 1\n", 3, "'0' is no column");
    refused(kCoordinate + "9 9 1\n1 1\n", 3, "'' is no finite number");
    refused(kCoordinate + "9 9 1\n1 1 nan\n", 3, "'nan' is no finite number");
    refused(kCoordinate + "9 9 1\n1 1 1e999\n", 3, "'1e999' is no finite number");
    refused(kCoordinate + "9 9 1\n1 1 1,5\n", 3, "'1,5' is no finite number");
    refused(kCoordinate + "9 9 1\n1 1 1 7\n", 3, "'7' is more than");
    refused(kCoordinate + "9 9 2\n1 1 1\n1 1 2\n", 4, "row 1, column 1 is there twice");
    refused("%%MatrixMarket matrix coordinate integer general\n9 9 1\n1 1 1.5\n", 3, "'1.5' is no integer");
    refused("%%MatrixMarket matrix coordinate real symmetric\n9 9 1\n1 2 1\n", 3, "below the diagonal");
    refused("%%MatrixMarket matrix coordinate real symmetric\n9 8 1\n", 2, "cannot be symmetric");
    refused("%%MatrixMarket matrix coordinate real skew-symmetric\n9 9 1\n1 1 1\n", 1, "symmetry 'skew-symmetric'");
    refused("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", 5, "ends behind 3 elements");
    refused("%%MatrixMarket matrix array real general\n2147483583 2147483583\n1\n", 2, "not fit any address space");
    refused("%%MatrixMarket matrix array real general\n1 1\n1 2\n", 3, "'2' is more than");
    refused("%%MatrixMarket matrix array real general\n1 1\n1\n2\n", 4, "goes on behind");
    CHECK_THROWS_WITH(read_matrix_market("/nowhere/a.mtx"), ContainsSubstring("cannot be opened"));
    CHECK_THROWS_WITH(read_matrix_market("/tmp"), ContainsSubstring("is not a regular file"));
}
