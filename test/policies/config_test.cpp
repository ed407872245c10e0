// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/config.hpp"

#include <cstdlib>

#include "test/catch.hpp"
#include "test/folder.hpp"

using namespace apportion;

namespace {

void unset_all() {
    for (const EnvironmentVariable& variable : environment_variables()) unsetenv(variable.name);
}

}  // namespace

TEST_CASE("without variables everything has its default") {
    unset_all();
    CHECK_FALSE(check_environment());
    CHECK_FALSE(initial_block_option());
    CHECK_FALSE(blocks_option());
    CHECK(groups_option().empty());
    CHECK(report_file_option().empty());
    CHECK(profiles_option().empty());
    CHECK_FALSE(trace_option());
    CHECK(stall_factor_option() == 50);
    CHECK(platform_file_option().empty());
}

TEST_CASE("well-formed values are understood") {
    unset_all();
    Setting b("APPORTION_INITIAL_BLOCK", "128"), c("APPORTION_BLOCKS", "32");
    Setting d("APPORTION_REPORT", "out.json"), e("APPORTION_TRACE", "1"), f("APPORTION_STALL_FACTOR", "12.5");
    Setting g("APPORTION_PLATFORM", "plbhec-a.toml");
    CHECK_FALSE(check_environment());
    CHECK(initial_block_option() == 128);
    CHECK(blocks_option() == 32);
    CHECK(report_file_option() == "out.json");
    CHECK(trace_option());
    CHECK(stall_factor_option() == 12.5);
    CHECK(platform_file_option() == "plbhec-a.toml");
}

TEST_CASE("groups of cores are a list of sizes, or all cores") {
    unset_all();
    for (const auto& [value, groups] :
         {std::pair{"22", std::vector<Units>{22}}, std::pair{"12,10", std::vector<Units>{12, 10}},
          std::pair{"all", std::vector{kNoLimit}}}) {
        Setting setting("APPORTION_GROUPS", value);
        CHECK_FALSE(check_environment());
        CHECK(groups_option() == groups);
    }
}

TEST_CASE("a malformed value is named with what is allowed") {
    unset_all();
    const std::pair<const char*, const char*> wrong[] = {
        {"APPORTION_INITIAL_BLOCK", "0"}, {"APPORTION_INITIAL_BLOCK", "8k"},
        {"APPORTION_BLOCKS", "-4"},       {"APPORTION_GROUPS", "0"},
        {"APPORTION_GROUPS", "11,"},      {"APPORTION_GROUPS", "socket"},
        {"APPORTION_TRACE", "yes"},       {"APPORTION_STALL_FACTOR", "0.5"},
        {"APPORTION_STALL_FACTOR", "-1"}, {"APPORTION_STALL_FACTOR", "inf"},
        {"APPORTION_STALL_FACTOR", "5x"}, {"APPORTION_BLOCKS", "99999999999999999999"},
        {"APPORTION_BLOCKS", "4194305"},  {"APPORTION_HANDICAP", "1:4"},
    };
    for (auto [name, value] : wrong) {
        Setting setting(name, value);
        const auto error = check_environment();
        REQUIRE(error);
        CHECK(error->find(name) != std::string::npos);
        CHECK(error->find(value) != std::string::npos);
        CHECK(error->find("must be") != std::string::npos);
    }
}

TEST_CASE("a misspelt variable is reported with the nearest valid name") {
    unset_all();
    {
        Setting setting("APPORTION_INITIALBLOCK", "8");
        const auto error = check_environment();
        REQUIRE(error);
        CHECK(*error ==
              "Environment variable APPORTION_INITIALBLOCK is unknown (did you mean APPORTION_INITIAL_BLOCK?).");
    }
    {
        Setting setting("APPORTION_FOO", "");
        CHECK_THAT(check_environment().value_or(""), ContainsSubstring("APPORTION_FOO is unknown; unset it"));
    }
    Setting cache("APPORTION_CACHE", "/tmp"), real("APPORTION_STARPU_REAL", "/opt/starpu");
    CHECK_FALSE(check_environment());
}
