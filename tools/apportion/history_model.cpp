// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/history_model.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "models/io/input_file.hpp"
#include "models/io/new_file.hpp"
#include "models/io/shown.hpp"
#include "models/profile_file.hpp"

namespace apportion {

namespace {

constexpr int kVersion = 45;
/// More of anything is a damaged file.
constexpr int kMostParts = 100'000, kMostEntries = 100'000'000;

/// Reads the lines that are no comment, as StarPU does: what they mean follows from their order.
class Reader {
  public:
    Reader(std::istream& in, const std::string& name) : in_(in), name_(name) {}
    HistoryModel read();

  private:
    [[noreturn]] void fail(const std::string& problem) const {
        throw FileError(fmt::format("{}:{}: {}; is this a history model of StarPU 1.4?", name_, line_, problem));
    }
    std::string next(const char* what);
    int next_number(const char* what, int least, int most);
    template <typename Number, typename... Base>
    Number number(const std::string& text, Base... base) const;
    HistoryArchitecture read_architecture();
    std::vector<HistoryEntry> read_implementation();
    HistoryEntry read_entry();

    std::istream& in_;
    const std::string& name_;
    int line_ = 0;
};

std::string Reader::next(const char* what) {
    for (std::string text; std::getline(in_, text);) {
        ++line_;
        if (in_.eof()) fail("the file ends within a line");
        const std::size_t begin = text.find_first_not_of(" \t\r");
        if (begin != std::string::npos && text[begin] != '#') return text;
    }
    fail(fmt::format("the file ends before {}", what));
}

int Reader::next_number(const char* what, int least, int most) {
    std::istringstream text(next(what));
    int value = 0;
    std::string rest;
    if (!(text >> value) || text >> rest || value < least || value > most)
        fail(fmt::format("{} is {}, not a whole number from {} to {}", what, in_quotes(text.str()), least, most));
    return value;
}

template <typename Number, typename... Base>
Number Reader::number(const std::string& text, Base... base) const {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
    if (error != std::errc{} || end != text.data() + text.size()) fail(fmt::format("{} is no number", in_quotes(text)));
    return value;
}

HistoryEntry Reader::read_entry() {
    std::istringstream text(next("a measured size"));
    std::vector<std::string> fields;
    for (std::string field; text >> field;) fields.push_back(field);
    if (fields.size() != 8) fail(fmt::format("a measured size has {} fields, not 8", fields.size()));
    HistoryEntry entry;
    entry.footprint = number<std::uint32_t>(fields[0], 16);
    entry.bytes = number<std::uint64_t>(fields[1], 10);
    entry.flops = number<double>(fields[2]);
    entry.mean_us = number<double>(fields[3]);
    entry.deviation_us = number<double>(fields[4]);
    // The sums of the times and of their squares, which come now, follow from the rest.
    entry.samples = number<std::uint64_t>(fields[7], 10);
    for (const double time_us : {entry.mean_us, entry.deviation_us})
        if (!std::isfinite(time_us) || time_us < 0) fail("a time is negative or not finite");
    return entry;
}

std::vector<HistoryEntry> Reader::read_implementation() {
    const int count = next_number("the number of measured sizes", 0, kMostEntries);
    next("the linear regression");
    next("the non-linear regression");
    // The number of coefficients of the multiple regression; they follow in the same line.
    next("the multiple regression");
    std::vector<HistoryEntry> entries;
    for (int i = 0; i < count; ++i) entries.push_back(read_entry());
    return entries;
}

HistoryArchitecture Reader::read_architecture() {
    HistoryArchitecture architecture;
    const int devices = next_number("the number of devices", 1, kMostParts);
    for (int i = 0; i < devices; ++i) {
        HistoryDevice device;
        device.type = next_number("the type of a device", 0, kMostParts);
        device.id = next_number("the number of a device", 0, kMostParts);
        device.cores = next_number("the number of cores", 0, kMostParts);
        architecture.devices.push_back(device);
    }
    const int implementations = next_number("the number of implementations", 0, kMostParts);
    for (int i = 0; i < implementations; ++i) architecture.implementations.push_back(read_implementation());
    return architecture;
}

HistoryModel Reader::read() {
    next_number("the version of the format", kVersion, kVersion);
    const int count = next_number("the number of device combinations", 0, kMostParts);
    HistoryModel model;
    for (int i = 0; i < count; ++i) model.architectures.push_back(read_architecture());
    return model;
}

void write_entry(std::ostream& out, const HistoryEntry& entry) {
    const auto n = static_cast<double>(entry.samples);
    const double sum_us = n * entry.mean_us;
    const double sum2_us2 = n * (entry.mean_us * entry.mean_us + entry.deviation_us * entry.deviation_us);
    out << fmt::format("{:08x}\t{}\t{:.9e}\t{:.9e}\t{:.9e}\t{:.9e}\t{:.9e}\t{}\n", entry.footprint, entry.bytes,
                       entry.flops, entry.mean_us, entry.deviation_us, sum_us, sum2_us2, entry.samples);
}

}  // namespace

HistoryModel read_history_model(std::istream& in, const std::string& name) { return Reader(in, name).read(); }

HistoryModel read_history_model(const std::string& path) {
    std::ifstream in = open_to_read(path);
    return read_history_model(in, path);
}

void write_history_model(std::ostream& out, const HistoryModel& model) {
    out << "# performance model version\n"
        << kVersion << "\n# device combinations\n"
        << model.architectures.size() << '\n';
    for (const HistoryArchitecture& architecture : model.architectures) {
        out << "# devices: each one's type, number and cores\n" << architecture.devices.size() << '\n';
        for (const HistoryDevice& device : architecture.devices)
            out << device.type << '\n' << device.id << '\n' << device.cores << '\n';
        out << "# implementations\n" << architecture.implementations.size() << '\n';
        for (const std::vector<HistoryEntry>& entries : architecture.implementations) {
            out << "# measured sizes\n" << entries.size() << '\n';
            out << "# no regressions: linear, non-linear, multiple\n";
            out << "0\t0\t0\t0\tnan\tnan\t0\t0\t0\nnan\tnan\tnan\n0\n";
            out << "# footprint\tbytes\tflops\tmean (us)\tdeviation (us)\tsum\tsum of squares\tsamples\n";
            for (const HistoryEntry& entry : entries) write_entry(out, entry);
        }
    }
}

void save_history_model(const std::string& path, const HistoryModel& model) {
    if (std::filesystem::exists(path))
        throw FileError(fmt::format("{}: there is a history model already; move it away first", path));
    replace_file(path, [&](std::ostream& out) { write_history_model(out, model); });
}

}  // namespace apportion
