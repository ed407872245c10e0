// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A folder of one test, removed at its end, and variables that it sets.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace apportion {

class Folder {
  public:
    Folder() {
        std::string name = std::filesystem::temp_directory_path() / "apportion-test-XXXXXX";
        path_ = mkdtemp(name.data());
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::string file(const std::string& name) const { return path_ / name; }
    /// Writes the file and returns its path.
    std::string write(const std::string& name, const std::string& content) const {
        std::ofstream(file(name), std::ios::binary) << content;
        return file(name);
    }
    std::string read(const std::string& name) const {
        std::ifstream stream(file(name), std::ios::binary);
        return {std::istreambuf_iterator<char>(stream), {}};
    }
    auto files() const {
        return std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator());
    }

  private:
    std::filesystem::path path_;
};

/// A variable of the environment, set for the life of the object.
class Setting {
  public:
    Setting(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
    ~Setting() { unsetenv(name_); }
    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;

  private:
    const char* name_;
};

}  // namespace apportion
