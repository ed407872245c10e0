// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/planners/assignment/instance_file.hpp"

#include <sstream>

#include "test/catch.hpp"

using namespace apportion;

namespace {

const std::string kValid = R"json({
  "nodes": ["A", "B"],
  "pus": [{"node": "A", "device": "(0,0)"},
          {"node": "B", "device": "(0,1)"}],
  "a_N_s": [0.001, 0],
  "b_N_bytes_per_s": [1000, 500],
  "d_si_bytes": 80,
  "d_sr_bytes": 20,
  "c_s": [2, 3.5],
  "limits": [7, null]
})json";

DataAssignment read(const std::string& text) {
    std::istringstream in(text);
    return read_instance(in, "i.json");
}

/// The message for the valid text with `from` replaced.
std::string error_of(const std::string& from, const std::string& to) {
    std::string text = kValid;
    text.replace(text.find(from), from.size(), to);
    return thrown<FileError>([&] { read(text); });
}

}  // namespace

TEST_CASE("an instance is read with its nodes, units and limits") {
    const DataAssignment problem = read(kValid);
    REQUIRE(problem.nodes.size() == 2);
    REQUIRE(problem.units.size() == 2);
    CHECK(problem.nodes[0].startup_s == 0.001);
    CHECK(problem.nodes[0].seconds_per_packet == Approx(0.1));
    CHECK(problem.nodes[1].seconds_per_packet == Approx(0.2));
    CHECK(problem.nodes[0].maximum_packets == 7);
    CHECK(problem.nodes[1].maximum_packets == kNoLimit);
    CHECK(problem.units[1].name == "B(0,1)");
    CHECK(problem.units[1].node == 1);
    CHECK(problem.units[1].seconds_per_packet == 3.5);
    CHECK(problem.units[1].computing_per_packet_s == 3.5);
}

TEST_CASE("where the data are there packets take no time to travel") {
    std::string text = kValid;
    const std::size_t list = text.find('[', text.find("\"b_N_bytes_per_s\"")) + 1;
    text.replace(list, text.find(',', list) - list, "null");
    CHECK(read(text).nodes[0].seconds_per_packet == 0);
}

TEST_CASE("the computing alone may be given apart, and limits may be left out") {
    std::string text = kValid;
    text.replace(text.find("\"limits\": [7, null]"), 19, "\"compute_s\": [1, 2]");
    const DataAssignment problem = read(text);
    CHECK(problem.units[1].computing_per_packet_s == 2);
    CHECK(problem.nodes[0].maximum_packets == kNoLimit);
}

TEST_CASE("what is wrong in an instance is told with file, line and remedy") {
    CHECK(error_of("\"nodes\": [\"A\", \"B\"],", "") == "i.json:1: \"nodes\" is missing; add it");
    CHECK(error_of("\"B\"],", "\"B\"") == "i.json:3: this is no valid JSON; correct the text here");
    CHECK(error_of("[\"A\", \"B\"]", "[\"A\", \"A\"]") == "i.json:2: \"nodes\" names 'A' twice; rename one");
    CHECK(error_of("\"node\": \"B\"", "\"node\": \"C\"") ==
          "i.json:3: \"pus\" number 2 belongs to a node that \"nodes\" does not name; add it there");
    CHECK(error_of("\"B\", \"device\": \"(0,1)\"", "\"A\", \"device\": \"(0,0)\"") ==
          "i.json:3: \"pus\" names 'A(0,0)' twice, node and device together; rename one");
    CHECK(error_of("[2, 3.5]", "[2]") == "i.json:9: \"c_s\" must be a list of 2 numbers, one for each processing unit");
    CHECK(error_of("[2, 3.5]", "[2, -3.5]").starts_with("i.json:9: \"c_s\" holds -3.5 for processing unit number 2"));
    CHECK(error_of("[2, 3.5]", "[2, \"x\"]").starts_with("i.json:9: \"c_s\" holds \"x\" for processing unit number 2"));
    CHECK(error_of("[1000, 500]", "[1000, 0]").starts_with("i.json:6: \"b_N_bytes_per_s\" holds 0 for node number 2"));
    CHECK(error_of("[7, null]", "[7, 1.5]").starts_with("i.json:10: \"limits\" must hold a whole number"));
    CHECK(error_of("[7, null]", "[7, -1]").starts_with("i.json:10: \"limits\" must hold a whole number"));
    CHECK(error_of("[7, null]", "[7]").starts_with("i.json:10: \"limits\" must be a list of 2"));
    CHECK(error_of("\"limits\"", "\"limit\"") ==
          "i.json:10: \"limit\" is no key of an instance; remove it or correct its name");
    CHECK(error_of("\"device\": \"(0,1)\"", "\"device\": \"(0,1)\", \"speed\": 2") ==
          "i.json:4: \"speed\" is no key of a processing unit; remove it or correct its name");
    CHECK(error_of("\"d_sr_bytes\": 20", "\"d_si_bytes\": 20") ==
          "i.json:7: \"d_si_bytes\" is there twice; remove one");
    CHECK(error_of("80", "-80") == "i.json:7: \"d_si_bytes\" must be a number of bytes, at least 0");
    CHECK(error_of("80", "1e999").starts_with("i.json:"));
    CHECK_THROWS_AS(read("[]"), FileError);
    CHECK_THROWS_AS(read(""), FileError);
    CHECK_THROWS_AS(read(std::string(100000, '[')), FileError);
    CHECK_THROWS_AS(read_instance("/nonexistent/instance.json"), FileError);
}
