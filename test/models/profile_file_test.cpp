// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/profile_file.hpp"

#include <sys/stat.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <random>
#include <sstream>

#include "test/catch.hpp"

using namespace apportion;

namespace {

Profile read(const std::string& text) {
    std::istringstream in(text);
    return read_profile(in, "p.csv");
}

std::string error_of(const std::string& text) {
    return thrown<FileError>([&] { read(text); });
}

const std::string kHeader = "processor,units,seconds\n";

}  // namespace

TEST_CASE("a profile is read in any order of lines, with notes, blanks, CRLF and quoted names") {
    const Profile profile = read(
        "# machine: node7\r\n# just text\r\nprocessor, units, seconds, ci, repetitions\r\n"
        "CPU 0,128,0.5,0.01,7\r\n\r\n\"CUDA 0 (K20c, 5 GB)\",64,0.1,,\r\nCPU 0,64,0.25,0.02,9\r\n\"a \"\"b\"\"\" "
        ",1,1e-3,0,1");
    REQUIRE(profile.processors.size() == 3);
    CHECK(profile.notes[0] == std::pair<std::string, std::string>("machine", "node7"));
    CHECK(profile.notes[1].second == "just text");
    CHECK(profile.processors[0].name == "CPU 0");
    CHECK(profile.processors[1].name == "CUDA 0 (K20c, 5 GB)");
    CHECK(profile.processors[2].name == "a \"b\"");
    REQUIRE(profile.processors[0].points.size() == 2);
    CHECK(profile.processors[0].points[0].units == 64);
    CHECK(profile.processors[0].points[0].ci_s == 0.02);
    CHECK(profile.processors[0].points[1].repetitions == 7);
    CHECK(profile.processors[1].points[0].repetitions == 0);
}

TEST_CASE("what is wrong in a profile is told with file, line and remedy") {
    CHECK(error_of("") == "p.csv:1: the file is empty; its first line must be 'processor,units,seconds'");
    CHECK(error_of(kHeader) == "p.csv:1: no measurement follows the first line; add some");
    CHECK(error_of("processor,units\nA,1\n").starts_with("p.csv:1: column 'seconds' is missing"));
    CHECK(error_of("processor,units,seconds,in,out\nA,1,1,0,0\n") ==
          "p.csv:1: column 4 is 'in' but must be 'ci'; the first line must be 'processor,units,seconds', with "
          "',ci,repetitions', with ',in,out' behind these, or with ',both' behind all");
    CHECK(error_of("A,1,2\n").starts_with("p.csv:1: column 1 is 'A' but must be 'processor'; the first line must be"));
    CHECK(error_of("units,processor,seconds\nA,1,2\n")
              .starts_with("p.csv:1: column 1 is 'units' but must be 'processor'"));
    CHECK(error_of(kHeader + "A,1,1\nB,1,1\nA,2,1\nA,1,3\n") ==
          "p.csv:5: processor 'A' has 1 unit already in line 2; remove one of the two");
    CHECK(error_of(kHeader + "A,1,-1\n").starts_with("p.csv:2: seconds are '-1'"));
    CHECK(error_of(kHeader + "A,1,nan\n").starts_with("p.csv:2: seconds are 'nan'"));
    CHECK(error_of(kHeader + "A,1,inf\n").starts_with("p.csv:2: seconds are 'inf'"));
    CHECK(error_of(kHeader + "A,1,0\n").starts_with("p.csv:2: seconds are '0'"));
    CHECK(error_of(kHeader + "A,1,1s\n").starts_with("p.csv:2: seconds are '1s'"));
    CHECK(error_of(kHeader + "\n# note\nA,0,1\n").starts_with("p.csv:4: units are '0'"));
    CHECK(error_of(kHeader + "A,-5,1\n").starts_with("p.csv:2: units are '-5'"));
    CHECK(error_of(kHeader + "A,1.5,1\n").starts_with("p.csv:2: units are '1.5'"));
    CHECK(error_of(kHeader + "A,1e300,1\n").starts_with("p.csv:2: units are '1e300'"));
    CHECK(error_of(kHeader + "A,nan,1\n").starts_with("p.csv:2: units are 'nan'"));
    CHECK(error_of(kHeader + "A,99999999999999999999,1\n").starts_with("p.csv:2: units are"));
    CHECK(error_of(kHeader + "A,1125899906842625,1\n") ==
          "p.csv:2: units are '1125899906842625'; they must be a whole number from 1 to 2^50");
    CHECK(error_of(kHeader + "A,1\n").starts_with("p.csv:2: 2 fields where the first line names 3 columns"));
    CHECK(error_of(kHeader + "A,1,1,1\n").starts_with("p.csv:2: 4 fields"));
    CHECK(error_of(kHeader + ",1,1\n").starts_with("p.csv:2: the name of the processor is empty"));
    CHECK(error_of(kHeader + "\"A,1,1\n").starts_with("p.csv:2: a quoted name has no closing quote"));
    CHECK(error_of(kHeader + "\"A\"B,1,1\n").starts_with("p.csv:2: text follows a closing quote"));
    for (const std::string number : {"-1", "nan", "inf", "1e200", "1.01e12", "1s"}) {
        const std::string why = " is '" + number + "'; it must be a number of seconds from 0 to 1e12, or empty";
        const std::string header = "processor,units,seconds,ci,repetitions,in,out,both\n";
        CHECK(error_of(header + "A,1,1," + number + ",3,1,1,1\n") == "p.csv:2: ci" + why);
        CHECK(error_of(header + "A,1,1,1,3," + number + ",1,1\n") == "p.csv:2: in" + why);
        CHECK(error_of(header + "A,1,1,1,3,1," + number + ",1\n") == "p.csv:2: out" + why);
        CHECK(error_of(header + "A,1,1,1,3,1,1," + number + "\n") == "p.csv:2: both" + why);
    }
    CHECK(error_of("processor,units,seconds,ci,repetitions\nA,1,1,0,x\n").starts_with("p.csv:2: repetitions are 'x'"));
    CHECK(error_of("processor,units,seconds,ci,repetitions,in,out,both,color\n")
              .starts_with("p.csv:1: column 'color' is unknown"));
}

TEST_CASE("a file that is not there is an error, not an empty profile") {
    CHECK_THROWS_AS(read_profile("/nonexistent/profile.csv"), FileError);
    CHECK_THROWS_WITH(read_profile("/"), "/: is not a regular file; a folder cannot be read here");
    CHECK_THROWS_AS(save_profile("/nonexistent/profile.csv", {}), FileError);
}

TEST_CASE("units may be written as tools write floating-point numbers") {
    const Profile profile = read(kHeader + "A,1000.0,1\nA,2.000000000000000000e+03,1\nA,3e3,1\n");
    REQUIRE(profile.processors.at(0).points.size() == 3);
    for (std::int64_t k = 0; k < 3; ++k)
        CHECK(profile.processors[0].points[static_cast<std::size_t>(k)].units == 1000 * (k + 1));
}

TEST_CASE("only a regular file is replaced") {
    const std::string pipe = "profile_file_test.pipe";
    std::remove(pipe.c_str());
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    CHECK_THROWS_WITH(save_profile(pipe, {}), pipe + ": exists and is not a regular file; choose another name");
    CHECK(std::filesystem::is_fifo(pipe));
    CHECK_THROWS_WITH(read_profile(pipe), pipe + ": is not a regular file; a pipe or device cannot be read here");
    std::remove(pipe.c_str());
}

TEST_CASE("an interval that is no number is not written, so that the file can be read") {
    std::ostringstream text;
    write_profile(text, {{}, {{"A", {{1, 0.5, double{INFINITY}, 1}, {2, 0.7, std::nan(""), 1}}}}});
    CHECK(read(text.str()).processors.at(0).points == std::vector<ProfilePoint>{{1, 0.5, 0, 1}, {2, 0.7, 0, 1}});
}

TEST_CASE("a name or a note with a line break stays on its line, so that the file can be read") {
    std::ostringstream text;
    write_profile(text, {{{"load", "one\ntwo"}}, {{"A\nB", {{1, 0.5, 0, 1}}}}});
    const Profile profile = read(text.str());
    CHECK(profile.notes.at(0).second == "one\\ntwo");
    CHECK(profile.processors.at(0).name == "A\\nB");
}

TEST_CASE("what is written is read back with the same numbers") {
    std::mt19937 random(5);
    std::uniform_real_distribution<double> exponent(-9, 3);
    Profile profile;
    profile.notes = {{"machine", "node7"}, {"", "free text"}};
    for (const char* name : {"CPU 0", "a, \"quoted\" one", "#7"}) {
        ProcessorProfile& processor = profile.processors.emplace_back();
        processor.name = name;
        for (std::int64_t units = 1; units < 1000; units += 37)
            processor.points.push_back({units, std::pow(10, exponent(random)), std::pow(10, exponent(random)), units});
    }
    const std::string path = "profile_file_test.csv";
    save_profile(path, profile);
    const Profile again = read_profile(path);
    std::remove(path.c_str());
    CHECK(again.notes == profile.notes);
    REQUIRE(again.processors.size() == profile.processors.size());
    for (std::size_t i = 0; i < profile.processors.size(); ++i) {
        CHECK(again.processors[i].name == profile.processors[i].name);
        REQUIRE(again.processors[i].points.size() == profile.processors[i].points.size());
        for (std::size_t k = 0; k < profile.processors[i].points.size(); ++k) {
            const ProfilePoint &a = again.processors[i].points[k], &b = profile.processors[i].points[k];
            CHECK(a.units == b.units);
            CHECK(a.seconds == b.seconds);
            CHECK(a.ci_s == b.ci_s);
            CHECK(a.repetitions == b.repetitions);
        }
    }
}

TEST_CASE("times of transfers are read and written where they are known") {
    const Profile profile = read("processor,units,seconds,ci,repetitions,in,out\nA,8,1,,2,0.25,0.5\nA,16,2,,,,\n");
    REQUIRE(profile.processors.at(0).points.size() == 2);
    CHECK(profile.processors[0].points[0] == ProfilePoint{8, 1, 0, 2, 0.25, 0.5});
    CHECK(profile.processors[0].points[1] == ProfilePoint{16, 2, 0, 0, 0, 0});
    std::ostringstream out;
    write_profile(out, profile);
    CHECK(read(out.str()).processors == profile.processors);
    CHECK(out.str().starts_with("processor,units,seconds,ci,repetitions,in,out\n"));
    const Profile both =
        read("processor,units,seconds,ci,repetitions,in,out,both\nA,8,1,,2,0.25,0.5,0.75\nA,16,2,,,,,\n");
    CHECK(both.processors[0].points[0] == ProfilePoint{8, 1, 0, 2, 0.25, 0.5, 0.75});
    out.str("");
    write_profile(out, both);
    CHECK(read(out.str()).processors == both.processors);
    CHECK(error_of("processor,units,seconds,ci,repetitions,in\nA,8,1,,2,-1\n").starts_with("p.csv:2: in is '-1'"));
    CHECK(error_of("processor,units,seconds,ci,repetitions,in,out\nA,8,1,,2,1,x\n").starts_with("p.csv:2: out is 'x'"));
}
