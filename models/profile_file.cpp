// SPDX-License-Identifier: LGPL-2.1-or-later
#include "models/profile_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "models/io/files.hpp"
#include "models/io/shown.hpp"
#include "models/io/text.hpp"
#include "models/io/text_file.hpp"

namespace apportion {

namespace {

constexpr std::string_view kColumns[] = {"processor", "units", "seconds", "ci", "repetitions", "in", "out", "both"};
constexpr std::size_t kRequired = 3;
constexpr const char* kHeaders =
    "'processor,units,seconds', with ',ci,repetitions', with ',in,out' behind these, or with ',both' behind all";
/// Beyond these a number is a mistake: times [s], of which the later columns may also be 0.
constexpr double kShortest = 1e-12, kLongest = 1e12;

/// Also as tools that know no whole numbers write them: 1000.0, 1.000000e+03.
std::optional<std::int64_t> parse_units(std::string_view text) {
    if (const auto units = parse_number<std::int64_t>(text)) return units;
    const auto number = parse_number<double>(text);
    const auto most = static_cast<double>(ProfilePoint::kMostUnits);
    if (!number || !(std::abs(*number) <= most) || *number != std::floor(*number)) return std::nullopt;
    return static_cast<std::int64_t>(*number);
}

class Reader {
  public:
    explicit Reader(TextFile& file) : file_(file) {}
    Profile read();

  private:
    struct Line {
        std::int64_t units;
        std::size_t line;
    };

    void read_header();
    void read_note(std::string_view line);
    ProfilePoint read_point() const;
    double read_seconds(std::size_t column) const;
    std::size_t processor_index();
    void sort_points(std::size_t processor);

    TextFile& file_;
    std::vector<std::string> fields_;
    std::size_t columns_ = 0;  ///< 0: no header yet
    Profile profile_;
    std::vector<std::vector<Line>> lines_;  ///< per processor, for messages about duplicates
    std::unordered_map<std::string, std::size_t> index_;
};

void Reader::read_header() {
    for (std::size_t i = 0; i < std::max(kRequired, std::min(fields_.size(), std::size(kColumns))); ++i)
        if (i >= fields_.size() || fields_[i] != kColumns[i])
            file_.fail("{}; the first line must be {}",
                       i >= fields_.size()
                           ? fmt::format("column '{}' is missing", kColumns[i])
                           : fmt::format("column {} is {} but must be '{}'", i + 1, in_quotes(fields_[i]), kColumns[i]),
                       kHeaders);
    if (fields_.size() > std::size(kColumns))
        file_.fail("column {} is unknown; remove it", in_quotes(fields_[std::size(kColumns)]));
    columns_ = fields_.size();
}

void Reader::read_note(std::string_view line) {
    line = trimmed(line.substr(1));
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos)
        profile_.notes.emplace_back("", line);
    else
        profile_.notes.emplace_back(line.substr(0, colon), trimmed(line.substr(colon + 2)));
}

/// 0 where there is none.
double Reader::read_seconds(std::size_t column) const {
    if (columns_ <= column || fields_[column].empty()) return 0;
    const auto seconds = parse_number<double>(fields_[column]);
    if (!seconds || !(*seconds >= 0 && *seconds <= kLongest))
        file_.fail("{} is {}; it must be a number of seconds from 0 to 1e12, or empty", kColumns[column],
                   in_quotes(fields_[column]));
    return *seconds;
}

ProfilePoint Reader::read_point() const {
    const auto units = parse_units(fields_[1]);
    if (!units || *units <= 0 || *units > ProfilePoint::kMostUnits)
        file_.fail("units are {}; they must be a whole number from 1 to 2^50", in_quotes(fields_[1]));
    const auto seconds = parse_number<double>(fields_[2]);
    if (!seconds || !(*seconds >= kShortest && *seconds <= kLongest))
        file_.fail(
            "seconds are {}; they must be a number from 1e-12 to 1e12 (remove the line if the processor cannot run "
            "this size)",
            in_quotes(fields_[2]));
    ProfilePoint point{*units, *seconds, read_seconds(3)};
    if (columns_ > 4 && !fields_[4].empty()) {
        const auto repetitions = parse_number<std::int64_t>(fields_[4]);
        if (!repetitions || *repetitions < 0)
            file_.fail("repetitions are {}; they must be a whole number, at least 0, or empty", in_quotes(fields_[4]));
        point.repetitions = *repetitions;
    }
    point.in_s = read_seconds(5);
    point.out_s = read_seconds(6);
    point.both_s = read_seconds(7);
    return point;
}

std::size_t Reader::processor_index() {
    if (fields_[0].empty()) file_.fail("the name of the processor is empty; give it one");
    const auto [entry, is_new] = index_.try_emplace(fields_[0], profile_.processors.size());
    if (is_new) {
        profile_.processors.push_back({fields_[0], {}});
        lines_.emplace_back();
    }
    return entry->second;
}

/// Sorts by units where needed, and finds duplicates.
void Reader::sort_points(std::size_t processor) {
    std::vector<ProfilePoint>& points = profile_.processors[processor].points;
    std::vector<Line>& lines = lines_[processor];
    auto by_units = [](const auto& a, const auto& b) { return a.units < b.units; };
    std::ranges::stable_sort(lines, by_units);
    for (std::size_t i = 1; i < lines.size(); ++i)
        if (lines[i].units == lines[i - 1].units)
            file_.fail_in(lines[i].line, fmt::format("processor {} has {} already in line {}; remove one of the two",
                                                     in_quotes(profile_.processors[processor].name),
                                                     counted(lines[i].units, "unit"), lines[i - 1].line));
    if (!std::ranges::is_sorted(points, by_units)) std::ranges::sort(points, by_units);
}

Profile Reader::read() {
    while (file_.next()) {
        const std::string_view line = trimmed(file_.line());
        if (line.empty()) continue;
        if (line.front() == '#') {
            read_note(line);
            continue;
        }
        fields_ = file_.fields(',');
        if (columns_ == 0) {
            read_header();
            continue;
        }
        if (fields_.size() != columns_)
            file_.fail("{} where the first line names {}; give as many (a name with a comma stands in quotes)",
                       counted(fields_.size(), "field"), counted(columns_, "column"));
        const ProfilePoint point = read_point();
        const std::size_t processor = processor_index();
        profile_.processors[processor].points.push_back(point);
        lines_[processor].push_back({point.units, file_.number()});
    }
    if (columns_ == 0) file_.fail("the file is empty; its first line must be 'processor,units,seconds'");
    if (profile_.processors.empty()) file_.fail("no measurement follows the first line; add some");
    for (std::size_t i = 0; i < profile_.processors.size(); ++i) sort_points(i);
    return std::move(profile_);
}

/// No line break can be read back from a line: such a name becomes its shown form, any other stays what it is.
std::string on_one_line(const std::string& text) { return text.find('\n') == std::string::npos ? text : shown(text); }

std::string csv_name(const std::string& name) {
    if (name.find_first_of(",\"#") == std::string::npos && trimmed(name) == name) return name;
    std::string out = "\"";
    for (char c : name) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + '"';
}

}  // namespace

std::size_t points_in(const Profile& profile) {
    std::size_t points = 0;
    for (const ProcessorProfile& processor : profile.processors) points += processor.points.size();
    return points;
}

Profile read_profile(std::istream& in, const std::string& name) {
    TextFile file(in, name);
    return Reader(file).read();
}

Profile read_profile(const std::string& path) {
    TextFile file(path);
    return Reader(file).read();
}

std::string as_note(std::string_view text) {
    std::string line = shown(text);
    line.erase(0, std::min(line.find_first_not_of(' '), line.size()));
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

void write_profile(std::ostream& out, const Profile& profile) {
    for (const auto& [key, value] : profile.notes)
        out << "# " << on_one_line(key) << (key.empty() ? "" : ": ") << on_one_line(value) << '\n';
    const auto any = [&](const auto& known) {
        return std::ranges::any_of(profile.processors, [&](const ProcessorProfile& processor) {
            return std::ranges::any_of(processor.points, known);
        });
    };
    const bool both = any([](const ProfilePoint& p) { return p.both_s > 0; });
    const bool transfers = both || any([](const ProfilePoint& p) { return p.in_s > 0 || p.out_s > 0; });
    const auto if_known = [](double seconds) {
        return seconds > 0 && std::isfinite(seconds) ? fmt::format("{}", seconds) : "";
    };
    out << "processor,units,seconds,ci,repetitions" << (transfers ? ",in,out" : "") << (both ? ",both\n" : "\n");
    for (const ProcessorProfile& processor : profile.processors)
        for (const ProfilePoint& point : processor.points) {
            out << csv_name(on_one_line(processor.name)) << fmt::format(",{},{},", point.units, point.seconds);
            out << if_known(point.ci_s) << ',';
            if (point.repetitions > 0) out << point.repetitions;
            if (transfers) out << ',' << if_known(point.in_s) << ',' << if_known(point.out_s);
            if (both) out << ',' << if_known(point.both_s);
            out << '\n';
        }
}

void save_profile(const std::string& path, const Profile& profile) {
    replace_file(path, [&](std::ostream& out) { write_profile(out, profile); });
}

}  // namespace apportion
