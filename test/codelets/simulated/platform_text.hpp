// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A small platform as text, written to files that tests read back, and what is said of a wrong one.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "codelets/simulated/platform_file.hpp"
#include "test/catch.hpp"

namespace apportion::simulated::test {

class Folder {
  public:
    Folder() : path_(std::filesystem::temp_directory_path() / ("platform_file." + std::to_string(::getpid()))) {
        std::filesystem::create_directories(path_);
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::string write(const std::string& name, const std::string& content) const {
        std::ofstream(path_ / name) << content;
        return (path_ / name).string();
    }

  private:
    std::filesystem::path path_;
};

/// The message without the folder's path.
inline std::string complaint(const std::string& file) {
    try {
        load_platform(file);
    } catch (const PlatformError& error) {
        const std::string text = error.what();
        return text.substr(text.rfind('/', text.find(':')) + 1);
    }
    return "none";
}

inline const std::string kGood = R"([kernel.k]
work = { factor = 2, n = 1 }
[[link]]
name = "bus"
bytes_per_s = 1e9
[[device]]
name = "gpu"
kind = "cuda"
link = "bus"
memory_bytes = 1e9
[device.kernel.k]
rate = 1e9
)";

inline std::string replaced(std::string text, const std::string& what, const std::string& by) {
    const auto at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), by);
}

}  // namespace apportion::simulated::test
