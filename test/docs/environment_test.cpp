// SPDX-License-Identifier: LGPL-2.1-or-later
//
// docs/environment.md against the library's own table. APPORTION_PAGE is the page.
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "policies/config.hpp"
#include "test/catch.hpp"

TEST_CASE("the page of environment variables has the library's table") {
    std::vector<std::string> expected, found;
    for (const apportion::EnvironmentVariable& v : apportion::environment_variables()) {
        const std::string values = std::regex_replace(std::string(v.allowed), std::regex(R"(\|)"), R"(\|)");
        expected.push_back("| `" + std::string(v.name) + "` | " + v.meaning + " | " + values + " | " + v.default_value +
                           " |");
    }
    std::ifstream page(APPORTION_PAGE);
    for (std::string line; std::getline(page, line);)
        if (line.starts_with("| `APPORTION_")) found.push_back(line);
    CHECK(found == expected);
}
