// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/text_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace apportion {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kBlanks = " \t";

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
    return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

[[noreturn]] void fail_system(const std::string& path, const char* action, int error) {
    throw std::runtime_error(fmt::format("{}: cannot {}: {}", path, action, std::strerror(error)));
}

}  // namespace

TextFile::TextFile(const std::string& path) : path_(path) {
    std::error_code error;
    if (const fs::file_status status = fs::status(path, error); fs::exists(status) && !fs::is_regular_file(status))
        throw std::runtime_error(path + ": is not a regular file");
    stream_.open(path);
    if (!stream_) fail_system(path, "open", errno);
}

bool TextFile::next() {
    if (!std::getline(stream_, line_)) {
        if (stream_.bad()) fail_system(path_, "read", errno);
        return false;
    }
    if (line_.ends_with('\r')) line_.pop_back();
    ++number_;
    return true;
}

std::vector<std::string_view> TextFile::fields(char separator) const {
    std::vector<std::string_view> result;
    const std::string_view text = separator == ' ' ? trimmed(line_) : std::string_view(line_);
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end =
            std::min(separator == ' ' ? text.find_first_of(kBlanks, begin) : text.find(separator, begin), text.size());
        result.push_back(trimmed(text.substr(begin, end - begin)));
        begin = separator == ' ' ? std::min(text.find_first_not_of(kBlanks, end), text.size() + 1) : end + 1;
    }
    return result;
}

double TextFile::value(std::string_view text, std::string_view what) const {
    double result = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
    if (text.empty()) fail(fmt::format("{} is missing", what));
    if (error == std::errc::result_out_of_range) fail(fmt::format("{} '{}' is out of range", what, text));
    if (error != std::errc{} || end != text.data() + text.size())
        fail(fmt::format("{} '{}' is not a number", what, text));
    if (!std::isfinite(result)) fail(fmt::format("{} is '{}'; give a finite number", what, text));
    return result;
}

void TextFile::fail(const std::string& problem) const {
    throw std::runtime_error(fmt::format("{}:{}: {}", path_, std::max<std::size_t>(number_, 1), problem));
}

void write_text_file(const std::string& path, const std::function<void(std::FILE*)>& write) {
    std::error_code ignored;
    // A rename would put a file in the place of a device, a pipe, or whatever else has the name.
    if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored))
        throw std::runtime_error(path + ": exists and is not a regular file");
    const std::string temporary = fmt::format("{}.{}.part", path, getpid());
    std::FILE* const file = std::fopen(temporary.c_str(), "wx");
    if (!file) fail_system(path, "write", errno);
    write(file);
    const bool good = std::fflush(file) == 0 && !std::ferror(file);
    int error = errno;
    const bool closed = std::fclose(file) == 0;
    if (good && closed && std::rename(temporary.c_str(), path.c_str()) == 0) return;
    if (good) error = errno;
    std::remove(temporary.c_str());
    fail_system(path, "write", error);
}

void flush_standard_output() {
    errno = 0;
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
        throw std::runtime_error(
            fmt::format("standard output cannot be written: {}", std::strerror(errno ? errno : EIO)));
}

}  // namespace apportion
