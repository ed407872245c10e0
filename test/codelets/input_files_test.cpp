// SPDX-License-Identifier: LGPL-2.1-or-later
// The files of options and of gene expression: what is read, and which sentence refuses what is wrong.
#include <string>

#include "codelets/blackscholes/option_file.hpp"
#include "codelets/grn/expression_file.hpp"
#include "test/catch.hpp"
#include "test/folder.hpp"

using namespace apportion;

namespace {

/// What read(path) throws, without the path.
template <class Read>
std::string refusal(const std::string& content, Read&& read) {
    const Folder folder;
    const std::string path = folder.write("file", content);
    const std::string sentence = thrown<std::runtime_error>([&] { read(path); });
    CHECK(sentence.starts_with(path));
    return sentence.substr(path.size());
}

std::string options_refusal(const std::string& content) {
    return refusal(content, [](const std::string& path) { read_options(path, ElementType::float64); });
}

std::string expression_refusal(const std::string& content) {
    return refusal(content, [](const std::string& path) { read_expression(path); });
}

const std::string kHeader = "spot,strike,rate,volatility,expiry,type\n";

}  // namespace

TEST_CASE("options are read in any order of columns") {
    const Folder folder;
    const std::string file = folder.write(
        "in.csv", "type, strike,spot,rate,expiry,volatility\r\nput,40,42,0.1,0.5,0.2\r\ncall, 50 ,42.5,-0.01,0,0");
    for (ElementType type : {ElementType::float32, ElementType::float64}) {
        const Matrix m = read_options(file, type);
        REQUIRE(m.rows() == 2);
        CHECK(element(m, 0, kSpot) == 42);
        CHECK(element(m, 0, kSignedStrike) == -40);
        CHECK(element(m, 0, kRate) == Approx(0.1));
        CHECK(element(m, 0, kVolatility) == Approx(0.2));
        CHECK(element(m, 0, kExpiry) == 0.5);
        CHECK(element(m, 1, kSpot) == 42.5);
        CHECK(element(m, 1, kSignedStrike) == 50);
        CHECK(element(m, 1, kRate) == Approx(-0.01));
    }
}

TEST_CASE("a table of options may begin with a byte order mark") {
    const Folder folder;
    CHECK(read_options(folder.write("in.csv", "\xEF\xBB\xBF" + kHeader + "42,40,0.1,0.2,0.5,call\n"),
                       ElementType::float64)
              .rows() == 1);
}

TEST_CASE("what is no table of options is refused with file and line") {
    CHECK(options_refusal("") ==
          ":1: the file is empty; a line with spot,strike,rate,volatility,expiry,type is needed");
    CHECK(options_refusal("spot,strike,rate,expiry,type\n") == ":1: column volatility is missing");
    CHECK(options_refusal("spot,strike,rate,volatility,expiry,type,spot\n") == ":1: column spot is there twice");
    CHECK(options_refusal("spot,strike,rate,sigma,expiry,type\n") ==
          ":1: there is no column 'sigma'; the columns are spot,strike,rate,volatility,expiry,type");
    CHECK(options_refusal(kHeader) == ":1: there is no option below the header");
    CHECK(options_refusal(kHeader + "42,40,0.1,0.2,0.5,call\n42,40,0.1,0.2,0.5\n") ==
          ":3: there are 5 fields instead of 6");
    CHECK(options_refusal(kHeader + "\n") == ":2: the line is empty");
    CHECK(options_refusal(kHeader + "42,40,0.1,0.2,0.5,call,7\n") == ":2: there are 7 fields instead of 6");
    CHECK(options_refusal(kHeader + "nan,40,0.1,0.2,0.5,call\n") == ":2: spot is 'nan'; give a finite number");
    CHECK(options_refusal(kHeader + "42,inf,0.1,0.2,0.5,call\n") == ":2: strike is 'inf'; give a finite number");
    CHECK(options_refusal(kHeader + "42,40,,0.2,0.5,call\n") == ":2: rate is missing");
    CHECK(options_refusal(kHeader + "42,40,5%,0.2,0.5,call\n") == ":2: rate '5%' is not a number");
    CHECK(options_refusal(kHeader + "100,90,0,0,1e40,call\n") == ":2: expiry is 1e+40; it must be at most 10000 years");
    CHECK(options_refusal(kHeader + "1e999,40,0.1,0.2,0.5,call\n") == ":2: spot '1e999' is out of range");
    CHECK(options_refusal(kHeader + "42,-40,0.1,0.2,0.5,call\n") ==
          ":2: strike is -40; it must be within 1e-09 ... 1000000000000");
    CHECK(options_refusal(kHeader + "0,40,0.1,0.2,0.5,put\n") ==
          ":2: spot is 0; it must be within 1e-09 ... 1000000000000");
    CHECK(options_refusal(kHeader + "42,40,0.1,-0.2,0.5,call\n") == ":2: volatility is -0.2; it must not be negative");
    CHECK(options_refusal(kHeader + "42,40,0.1,0.2,-1,call\n") == ":2: expiry is -1; it must not be negative");
    CHECK(options_refusal(kHeader + "42,40,0.1,20,0.5,call\n") ==
          ":2: volatility 20 over 0.5 years exceeds 5 standard deviations; 20 % a year is 0.2");
    CHECK(options_refusal(kHeader + "42,40,60,0.2,1,call\n") ==
          ":2: rate 60 over 1 years is senseless; 5 % a year is 0.05");
    CHECK(options_refusal(kHeader + "42,40,0.1,0.2,0.5,Call\n") == ":2: type 'Call' is neither call nor put");
    CHECK_THROWS_WITH(
        read_options("/nowhere/options.csv", ElementType::float64),
        "/nowhere/options.csv: cannot be opened: No such file or directory; check the path and your rights");
    CHECK_THROWS_WITH(read_options("/dev/null", ElementType::float64),
                      "/dev/null: is not a regular file; a pipe or device cannot be read here");
}

TEST_CASE("priced options are written with the columns they came with") {
    const Folder folder;
    const std::string file = folder.write("in.csv", kHeader + "42,40,0.1,0.2,0.5,call\n42,40,0.1,0.2,0.5,put\n");
    BlackScholesProblem p{
        read_options(file, ElementType::float64), blackscholes_results(ElementType::float64, 2, {}), {}};
    price_by_reference(p, 0, 2);
    write_priced_options(file, p);
    const std::string text = folder.read("in.csv");
    CHECK(text.starts_with("spot,strike,rate,volatility,expiry,type,price\n42,40,0.1,0.2,0.5,call,4.7594"));
    CHECK(text.find("\n42,40,0.1,0.2,0.5,put,0.8085") != std::string::npos);
    CHECK_THROWS_WITH(write_priced_options("/dev/null", p),
                      "/dev/null: exists and is not a regular file; choose another name");
}

TEST_CASE("expression is read with blanks or tabs, with or without a corner") {
    for (const char* text :
         {"WT_1 WT_2 WT_3\nG1 1 2.5 3\nG2  4 5 -6e-1 \n", "gene\tWT_1\tWT_2\tWT_3\nG1\t1\t2.5\t3\nG2\t4\t5\t-0.6",
          "WT 1\tWT 2\tWT 3\r\nG1\t1\t2.5\t3\r\nG2\t4\t5\t-0.6\r\n"}) {
        const Expression e = read_expression(Folder().write("genes", text));
        CHECK(e.samples == 3);
        CHECK(e.genes == std::vector<std::string>{"G1", "G2"});
        CHECK(e.values == std::vector<double>{1, 2.5, 3, 4, 5, -0.6});
    }
}

TEST_CASE("what is no expression is refused with file and line") {
    CHECK(expression_refusal("") == ":1: a line with the samples' names is needed, then one line for each gene");
    CHECK(expression_refusal("\nG1 1 2\n") ==
          ":1: a line with the samples' names is needed, then one line for each gene");
    CHECK(expression_refusal("a b c\n") == ":1: there is no gene below the samples' names");
    CHECK(expression_refusal("a b c d\nG1 1 2\n") == ":2: this gene has 2 values, but line 1 names 4 samples");
    CHECK(expression_refusal("a b c\nG1 1 2 3\nG2 1 2\n") == ":3: this gene has 2 values instead of 3");
    CHECK(expression_refusal("a b c\nG1 1 2 3\n\nG2 1 2 3\n") == ":3: this gene has 0 values instead of 3");
    CHECK(expression_refusal("a b\nG1 1 NA\n") == ":2: value 2 of gene G1 'NA' is not a number");
    CHECK(expression_refusal("a b\nG1 1 nan\n") == ":2: value 2 of gene G1 is 'nan'; give a finite number");
    CHECK(expression_refusal("a\tb\nG1\t1\t\n") == ":2: value 2 of gene G1 is missing");
    CHECK(expression_refusal("a b\nG1 1 2\nG2 1 2\nG1 3 4\n") == ":4: gene G1 is on line 2 already");
    CHECK(expression_refusal("a\tb\n\t1\t2\n") == ":2: the gene's name is missing");
    CHECK(expression_refusal("a b\nG1 1 \x1b[31m\xff\n") == ":2: value 2 of gene G1 '\\x1b[31m\\xff' is not a number");
    CHECK(expression_refusal("a b\nG1 1 " + std::string(1000, 'x') + "\n") ==
          ":2: value 2 of gene G1 '" + std::string(40, 'x') + "...' is not a number");
}

TEST_CASE("networks are written as tables") {
    Expression e;
    e.genes = {"alpha", "beta", "gamma"};
    e.samples = 4;
    e.values = {0, 0, 1, 1, 0, 1, 0, 1, 0, 1, 1, 0};
    GrnProblem p = make_grn_problem(e, {});
    search_by_one_call(p);
    const Folder folder;
    write_network(folder.file("network"), p);
    CHECK(folder.read("network") ==
          "target\tpredictor_1\tpredictor_2\tentropy\tdetermination\n"
          "alpha\tbeta\tgamma\t0.000000\t1.000000\n"
          "beta\talpha\tgamma\t0.000000\t1.000000\n"
          "gamma\talpha\tbeta\t0.000000\t1.000000\n");
}
