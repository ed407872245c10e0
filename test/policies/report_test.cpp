// SPDX-License-Identifier: LGPL-2.1-or-later
// The JSON report of a run, whatever its names are.
#include "policies/starpu/report.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "policies/starpu/apportion.h"
#include "policies/starpu/error.hpp"
#include "test/catch.hpp"

using namespace apportion;

TEST_CASE("names that are no UTF-8 are replaced in the report, not the report by nothing") {
    RunRecord run;
    run.load =
        "gr\xf6\xdf"
        "e";
    run.processors.push_back({"CPU \x1b[31m0", "CPU", 0, 10});
    run.lost.push_back({0, 1.0, "Ger\xe4t verloren"});
    run.blocks = {{.processor = 0, .units = 5, .given_back = true}, {.processor = 0, .first = 5, .units = 2}};
    run.error = "\xff";
    const std::string text = report_json(run, {}, true);
    const auto report = nlohmann::json::parse(text);
    CHECK(report.at("load") ==
          "gr\uFFFD\uFFFD"
          "e");
    CHECK(report.at("lost_processors").at(0).at("reason") == "Ger\uFFFDt verloren");
    CHECK(report.at("lost_processors").at(0).at("units_given_back") == 5);
    CHECK(report.at("trace").at(0).at("start").is_null());
    CHECK(report.at("trace").at(1).at("start") == 0);
    CHECK(report.at("processors").at(0).at("name") == "CPU \x1b[31m0");
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find('\n') == std::string::npos);
}

TEST_CASE("a pipe as report is refused at once") {
    const std::string pipe = "report_test.pipe";
    std::remove(pipe.c_str());
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    for (const auto& use : {+[](const std::string& path) { check_report_file(path); },
                            +[](const std::string& path) { append_report(path, "{}"); }}) {
        try {
            use(pipe);
            FAIL("accepted");
        } catch (const ApiError& error) {
            CHECK_THAT(error.what(), ContainsSubstring("the report cannot be written"));
        }
    }
    std::remove(pipe.c_str());
}

TEST_CASE("an error is one line without escape sequences") {
    set_error("load '\x1b[31m\n\xf6': no");
    CHECK(std::string(apportion_error()) == "load '\\x1b[31m\\n\\xf6': no");
}
