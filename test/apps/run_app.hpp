// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Runs the applications as their users do, in a folder of their own. APPORTION_TEST_APPS is where they are.
#pragma once

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "test/catch.hpp"
#include "test/folder.hpp"

namespace apportion {

struct Result {
    int status = -1;
    std::string out, err;
};

/// Where they run.
struct AppFolder : Folder {
    /// Runs an application in the folder, through the shell, `environment` being assignments. Leaves out StarPU's own
    /// warnings.
    Result run(const std::string& command, const std::string& environment = "") const {
        const std::string line = "cd " + path().string() + " && " + environment + " " APPORTION_TEST_APPS "/" +
                                 command + " >out 2>err; status=$?; sed -i '/^\\[starpu\\]/d' err; exit $status";
        const int status = std::system(line.c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read("out"), read("err")};
    }
    /// What it prints with --json, when all is well.
    nlohmann::json json(const std::string& command, const std::string& environment = "") const {
        const Result result = run(command + " --json", environment);
        INFO(result.err);
        REQUIRE(result.status == 0);
        return nlohmann::json::parse(result.out);
    }
};

/// A plan of side x side blocks: rectangles {first row, first column, rows, columns} of workers.
inline std::string plan_of(int side,
                           const std::vector<std::pair<std::string, std::vector<std::array<int, 4>>>>& workers) {
    nlohmann::json plan{{"units", side * side}, {"shares", nlohmann::json::array()}};
    for (const auto& [worker, rectangles] : workers) {
        nlohmann::json share{{"processor", worker}, {"rectangles", nlohmann::json::array()}};
        for (const auto& [row, column, rows, columns] : rectangles)
            share["rectangles"].push_back(
                {{"first_row", row}, {"first_column", column}, {"rows", rows}, {"columns", columns}});
        plan["shares"].push_back(share);
    }
    return plan.dump();
}

inline void check_says(const Result& result, std::initializer_list<const char*> parts) {
    CHECK(result.status == 0);
    for (const char* part : parts) CHECK_THAT(result.out, ContainsSubstring(part));
}

/// The run fails with this exit code and one sentence that contains `reason`, and prints nothing else.
inline void check_refused(const Result& result, const std::string& reason, int status = 2) {
    INFO(result.err);
    CHECK(result.status == status);
    CHECK(result.out.empty());
    CHECK(result.err.find(reason) != std::string::npos);
    CHECK(std::ranges::count(result.err, '\n') == 1);
}

}  // namespace apportion
