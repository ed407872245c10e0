// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/io/text_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "models/io/files.hpp"
#include "models/io/shown.hpp"

namespace apportion {

namespace {

constexpr std::string_view kBlanks = " \t";

}  // namespace

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
    return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

TextFile::TextFile(const std::string& path) : path_(path), file_(open_to_read(path)), in_(&file_) {}

bool TextFile::next() {
    if (!std::getline(*in_, line_)) {
        if (in_->bad()) throw FileError("{}: reading failed after line {}; check the disk", path_, number_);
        return false;
    }
    if (line_.ends_with('\r')) line_.pop_back();
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (++number_ == 1 && line_.starts_with(kByteOrderMark)) line_.erase(0, kByteOrderMark.size());
    return true;
}

std::vector<std::string> TextFile::fields(char separator) const {
    std::vector<std::string> result;
    const std::string_view line = line_, around = separator == ' ' ? kBlanks : std::string_view(&separator, 1);
    for (std::size_t at = 0;; ++at) {
        const std::size_t begin = std::min(line.find_first_not_of(separator == '\t' ? " " : kBlanks, at), line.size());
        if (separator == ' ' && begin == line.size() && !result.empty()) return result;
        std::string& field = result.emplace_back();
        if (separator == ',' && begin < line.size() && line[begin] == '"') {
            at = read_quoted(begin, field);
        } else {
            at = std::min(line.find_first_of(around, begin), line.size());
            field = trimmed(line.substr(begin, at - begin));
        }
        if (at == line.size()) return result;
    }
}

/// Returns the position of the comma behind it, or the line's end.
std::size_t TextFile::read_quoted(std::size_t at, std::string& field) const {
    for (++at; at < line_.size(); ++at) {
        if (line_[at] == '"' && (++at == line_.size() || line_[at] != '"')) {
            const std::size_t behind = std::min(line_.find_first_not_of(kBlanks, at), line_.size());
            if (behind < line_.size() && line_[behind] != ',')
                fail("text follows a closing quote; separate fields by ','");
            return behind;
        }
        field += line_[at];
    }
    fail("a quoted name has no closing quote; add '\"'");
}

double TextFile::value(std::string_view text, std::string_view what) const {
    double result = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
    if (text.empty()) fail("{} is missing", what);
    if (error == std::errc::result_out_of_range) fail("{} {} is out of range", what, in_quotes(text));
    if (error != std::errc{} || end != text.data() + text.size()) fail("{} {} is not a number", what, in_quotes(text));
    if (!std::isfinite(result)) fail("{} is {}; give a finite number", what, in_quotes(text));
    return result;
}

void TextFile::fail_in(std::size_t line, const std::string& problem) const {
    throw FileError("{}:{}: {}", path_, std::max<std::size_t>(line, 1), problem);
}

void flush_standard_output() {
    errno = 0;
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
        throw std::runtime_error(
            fmt::format("standard output cannot be written: {}", std::strerror(errno ? errno : EIO)));
}

}  // namespace apportion
