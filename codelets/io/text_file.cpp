// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/io/text_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "models/io/input_file.hpp"
#include "models/io/new_file.hpp"
#include "models/io/shown.hpp"

namespace apportion {

namespace {

constexpr std::string_view kBlanks = " \t";

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
    return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

}  // namespace

TextFile::TextFile(const std::string& path) : path_(path) { stream_ = open_to_read(path); }

bool TextFile::next() {
    if (!std::getline(stream_, line_)) {
        if (stream_.bad())
            throw FileError(fmt::format("{}: cannot be read: {}; check the disk", path_, std::strerror(errno)));
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
    if (error == std::errc::result_out_of_range) fail(fmt::format("{} {} is out of range", what, in_quotes(text)));
    if (error != std::errc{} || end != text.data() + text.size())
        fail(fmt::format("{} {} is not a number", what, in_quotes(text)));
    if (!std::isfinite(result)) fail(fmt::format("{} is {}; give a finite number", what, in_quotes(text)));
    return result;
}

void TextFile::fail(const std::string& problem) const {
    throw std::runtime_error(fmt::format("{}:{}: {}", path_, std::max<std::size_t>(number_, 1), problem));
}

void write_text_file(const std::string& path, const std::function<void(std::FILE*)>& write) {
    NewFile file(path);
    write(file.stream());
    file.finish();
}

void flush_standard_output() {
    errno = 0;
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
        throw std::runtime_error(
            fmt::format("standard output cannot be written: {}", std::strerror(errno ? errno : EIO)));
}

}  // namespace apportion
