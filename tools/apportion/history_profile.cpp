// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/history_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "models/samples.hpp"
#include "tools/apportion/command.hpp"

namespace apportion {

namespace {

constexpr const char* kKinds[] = {"CPU", "CUDA", "OpenCL"};  ///< enum starpu_worker_archtype
constexpr std::uint64_t kTrustedSamples = 10;                ///< default of STARPU_CALIBRATE_MINIMUM
constexpr double kConfidence = 0.95;
constexpr double kLargestExact = 9007199254740992;  ///< 2^53: whole numbers are exact up to here

/// Half width of the confidence interval of a mean, per standard deviation of the population.
double interval_per_deviation(std::uint64_t samples) {
    const auto n = static_cast<double>(samples);
    return confidence_half_width(std::sqrt(n / (n - 1)), samples, kConfidence);
}

std::string name_of(const std::vector<HistoryDevice>& devices) {
    std::string name;
    for (const HistoryDevice& device : devices) {
        if (!name.empty()) name += " + ";
        if (static_cast<std::size_t>(device.type) < std::size(kKinds))
            name += fmt::format("{} {}", kKinds[device.type], device.id);
        else
            name += fmt::format("device of type {} {}", device.type, device.id);
        if (device.cores > 1) name += fmt::format(" ({} cores)", device.cores);
    }
    return name;
}

std::optional<int> number_at(std::string_view text, std::size_t at) {
    int value = 0;
    if (at >= text.size() || std::from_chars(text.data() + at, text.data() + text.size(), value).ec != std::errc{})
        return std::nullopt;
    return value;
}

HistoryDevice device_of(const std::string& processor) {
    for (std::size_t type = 0; type < std::size(kKinds); ++type) {
        const std::string kind = std::string(kKinds[type]) + " ";
        const auto id = processor.starts_with(kind) ? number_at(processor, kind.size()) : std::nullopt;
        if (!id || *id < 0 || processor.find('+') != std::string::npos) continue;
        HistoryDevice device{static_cast<int>(type), *id, 1};
        // A group of cores, "CPU 0-10", is what StarPU calls a CPU of so many.
        const std::size_t dash = processor.find_first_not_of("0123456789", kind.size());
        if (type == 0 && dash != std::string::npos && processor[dash] == '-')
            device.cores = number_at(processor, dash + 1).value_or(*id) - *id + 1;
        const std::size_t open = processor.find('(');
        if (type == 0) device.id = 0;
        if (type == 0 && open != std::string::npos && processor.ends_with(" cores)"))
            device.cores = number_at(processor, open + 1).value_or(1);
        return device;
    }
    throw UserError(
        fmt::format("processor '{}' is no device of StarPU; its name must begin with CPU, CUDA or OpenCL and a "
                    "number",
                    processor));
}

/// The points of one implementation. Entries that StarPU flushed have no samples.
std::map<std::int64_t, HistoryEntry> by_units(const std::vector<HistoryEntry>& entries, const UnitsRule& rule) {
    std::map<std::int64_t, HistoryEntry> result;
    for (const HistoryEntry& entry : entries) {
        if (entry.samples == 0 || entry.mean_us <= 0) continue;
        const auto units = rule.units(entry);
        if (!units)
            throw UserError(
                fmt::format("--units-from: the size with footprint {:08x} ({} bytes, {} flops) has no whole "
                            "number of units; give another rule",
                            entry.footprint, entry.bytes, entry.flops));
        const auto [other, is_new] = result.emplace(*units, entry);
        if (!is_new)
            throw UserError(
                fmt::format("--units-from: footprints {:08x} and {:08x} both have {} units; give another rule",
                            other->second.footprint, entry.footprint, *units));
    }
    return result;
}

ProfilePoint point_of(std::int64_t units, const HistoryEntry& entry) {
    ProfilePoint point{units, entry.mean_us * 1e-6, 0, static_cast<std::int64_t>(entry.samples)};
    if (entry.samples > 1) point.ci_s = entry.deviation_us * 1e-6 * interval_per_deviation(entry.samples);
    return point;
}

/// Sums over samples of which only means are known, to be joined for the cores of a CPU.
struct PooledTimes {
    double count = 0, sum_us = 0, sum2_us2 = 0;

    void add(const ProfilePoint& point) {
        const auto n = static_cast<std::uint64_t>(std::max<std::int64_t>(point.repetitions, 1));
        double deviation_us = 0;
        if (n > 1) deviation_us = point.ci_s * 1e6 / interval_per_deviation(n);
        const double mean_us = point.seconds * 1e6;
        count += static_cast<double>(n);
        sum_us += static_cast<double>(n) * mean_us;
        sum2_us2 += static_cast<double>(n) * (mean_us * mean_us + deviation_us * deviation_us);
    }

    void finish(HistoryEntry& entry) const {
        entry.mean_us = sum_us / count;
        entry.deviation_us = std::sqrt(std::max(0.0, sum2_us2 / count - entry.mean_us * entry.mean_us));
        entry.samples = std::max(static_cast<std::uint64_t>(count), kTrustedSamples);
    }
};

}  // namespace

UnitsRule UnitsRule::parse(const std::string& text) {
    UnitsRule rule;
    auto fail = [&]() -> UserError {
        return UserError(
            fmt::format("--units-from {}: give footprint, size, size:B, size:B+S or flops:F, where B is bytes "
                        "per unit, S bytes besides, F operations per unit",
                        text));
    };
    if (text == "footprint") return rule;
    const std::string_view view = text;
    const std::string_view source = view.substr(0, view.find(':'));
    if (source != "size" && source != "flops") throw fail();
    rule.source_ = source == "size" ? Source::bytes : Source::flops;
    if (source == view) {
        if (rule.source_ == Source::flops) throw fail();
        return rule;
    }
    const char* const end = text.data() + text.size();
    const auto [plus, error] = std::from_chars(text.data() + source.size() + 1, end, rule.per_unit_);
    if (error != std::errc{} || !(rule.per_unit_ > 0) || !std::isfinite(rule.per_unit_)) throw fail();
    if (plus != end) {
        if (rule.source_ != Source::bytes || *plus != '+') throw fail();
        const auto [last, error2] = std::from_chars(plus + 1, end, rule.besides_);
        if (error2 != std::errc{} || last != end || !(rule.besides_ >= 0) || !std::isfinite(rule.besides_))
            throw fail();
    }
    const auto is_whole = [](double value) { return value == std::floor(value); };
    if (rule.source_ == Source::bytes && !(is_whole(rule.per_unit_) && is_whole(rule.besides_))) throw fail();
    return rule;
}

std::optional<std::int64_t> UnitsRule::units(const HistoryEntry& entry) const {
    constexpr double kNearlyWhole = 1e-6;  // operations are written with seven digits
    double units = entry.footprint;
    if (source_ == Source::bytes) units = (static_cast<double>(entry.bytes) - besides_) / per_unit_;
    if (source_ == Source::flops) units = entry.flops / per_unit_;
    const double whole = std::round(units);
    if (!(whole >= 1 && whole <= kLargestExact) || std::abs(units - whole) > kNearlyWhole * whole) return std::nullopt;
    if (source_ == Source::bytes && units != whole) return std::nullopt;
    return static_cast<std::int64_t>(whole);
}

HistoryEntry UnitsRule::entry(std::int64_t units, const std::function<std::uint32_t(std::uint64_t)>& hash) const {
    HistoryEntry entry;
    if (source_ == Source::flops)
        throw UserError("--units-from: a footprint does not follow from operations; export by footprint or size:B");
    if (source_ == Source::bytes) {
        const double bytes = static_cast<double>(units) * per_unit_ + besides_;
        if (bytes > kLargestExact) throw UserError(fmt::format("--units-from: {} units have too many bytes", units));
        entry.bytes = static_cast<std::uint64_t>(bytes);
        entry.footprint = hash(entry.bytes);
        return entry;
    }
    if (units > std::numeric_limits<std::uint32_t>::max())
        throw UserError(
            fmt::format("--units-from footprint: {} units exceed a footprint of 32 bits; export by size:B", units));
    entry.footprint = static_cast<std::uint32_t>(units);
    return entry;
}

Profile profile_of(const HistoryModel& model, const UnitsRule& rule) {
    Profile profile;
    for (const HistoryArchitecture& architecture : model.architectures) {
        std::map<std::int64_t, HistoryEntry> fastest;
        for (const auto& implementation : architecture.implementations)
            for (const auto& [units, entry] : by_units(implementation, rule)) {
                const auto [known, is_new] = fastest.emplace(units, entry);
                if (!is_new && entry.mean_us < known->second.mean_us) known->second = entry;
            }
        if (fastest.empty()) continue;
        ProcessorProfile& processor = profile.processors.emplace_back();
        processor.name = name_of(architecture.devices);
        for (const auto& [units, entry] : fastest) processor.points.push_back(point_of(units, entry));
    }
    return profile;
}

HistoryModel history_model_of(const Profile& profile, const UnitsRule& rule,
                              const std::function<std::uint32_t(std::uint64_t)>& hash) {
    HistoryModel model;
    std::vector<std::map<std::int64_t, PooledTimes>> times;  // per architecture
    for (const ProcessorProfile& processor : profile.processors) {
        const std::vector<HistoryDevice> devices{device_of(processor.name)};
        auto known = std::ranges::find(model.architectures, devices, &HistoryArchitecture::devices);
        if (known == model.architectures.end()) {
            known = model.architectures.insert(known, {devices, {}});
            times.emplace_back();
        }
        for (const ProfilePoint& point : processor.points)
            times[static_cast<std::size_t>(known - model.architectures.begin())][point.units].add(point);
    }
    for (std::size_t i = 0; i < times.size(); ++i) {
        std::vector<HistoryEntry>& entries = model.architectures[i].implementations.emplace_back();
        for (const auto& [units, pooled] : times[i]) pooled.finish(entries.emplace_back(rule.entry(units, hash)));
    }
    return model;
}

}  // namespace apportion
