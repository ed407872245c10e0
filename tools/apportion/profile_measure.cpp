// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/profile_measure.hpp"

#include <algorithm>

#include "models/io/text.hpp"
#include "tools/apportion/command.hpp"

namespace apportion {

namespace {

/// Processors that are measured at one size in the same repetitions, and what each runs meanwhile.
struct Group {
    std::vector<std::size_t> measured;
    std::vector<Units> units;  ///< per processor of the subject
};

class Measurement {
  public:
    Measurement(ProfileSubject& subject, const MeasureOptions& options, const MeasureWatcher& watcher)
        : subject_(subject), options_(options), watcher_(watcher), processors_(subject.processors().size()) {}

    std::vector<std::size_t> wanted(Units units) const;
    bool measure(Units units);
    bool warm_up(Units units);

  private:
    bool stopped() const { return watcher_.stop && watcher_.stop(); }
    std::vector<Group> groups(Units units, const std::vector<std::size_t>& wanted) const;
    bool measure(const Group& group);
    void report(std::size_t processor, Units units, const Samples& samples) const;

    ProfileSubject& subject_;
    const MeasureOptions& options_;
    const MeasureWatcher& watcher_;
    std::size_t processors_;
};

/// The processors whose point at this size is not measured yet.
std::vector<std::size_t> Measurement::wanted(Units units) const {
    std::vector<std::size_t> result;
    for (std::size_t p = 0; p < processors_; ++p)
        if (!watcher_.known || !watcher_.known(p, units)) result.push_back(p);
    return result;
}

std::vector<Group> Measurement::groups(Units units, const std::vector<std::size_t>& wanted) const {
    const auto processors = static_cast<Units>(processors_);
    if (units <= subject_.most_units() / processors) return {{wanted, std::vector<Units>(processors_, units)}};
    Units others = processors > 1 ? (subject_.most_units() - units) / (processors - 1) : 0;
    others -= others % subject_.granularity();
    std::vector<Group> result;
    for (const std::size_t p : wanted) {
        result.push_back({{p}, std::vector<Units>(processors_, others)});
        result.back().units[p] = units;
    }
    return result;
}

void Measurement::report(std::size_t processor, Units units, const Samples& samples) const {
    if (!watcher_.finished) return;
    watcher_.finished(
        {processor, {units, samples.mean_s(), samples.interval_s(), samples.repetitions()}, samples.precise()});
}

bool Measurement::measure(const Group& group) {
    std::vector<Samples> samples(processors_, Samples(options_.samples));
    std::vector<std::size_t> imprecise = group.measured;
    while (!imprecise.empty()) {
        if (stopped()) return false;
        const std::vector<double> seconds = subject_.run(group.units);
        if (watcher_.repeated) watcher_.repeated(group.units[imprecise.front()]);
        std::erase_if(imprecise, [&](std::size_t p) {
            if (!(seconds[p] > 0))
                throw UserError("{} took no measurable time for {} on {}; profile larger sizes", subject_.kernel(),
                                counted(group.units[p], "unit"), subject_.processors()[p]);
            samples[p].add(seconds[p]);
            return samples[p].enough();
        });
    }
    // Not as they come, so that a profile has its processors in their order.
    for (const std::size_t p : group.measured) report(p, group.units[p], samples[p]);
    return true;
}

bool Measurement::measure(Units units) {
    return std::ranges::all_of(groups(units, wanted(units)), [&](const Group& group) { return measure(group); });
}

bool Measurement::warm_up(Units units) {
    constexpr int kMostRepetitions = 1000;
    const Group group = groups(units, {0}).front();
    double spent_s = 0;
    for (int repetition = 0; spent_s < options_.warm_up_s && repetition < kMostRepetitions; ++repetition) {
        if (stopped()) return false;
        spent_s += std::ranges::max(subject_.run(group.units));
    }
    return true;
}

void check_sizes(const ProfileSubject& subject, std::span<const Units> sizes) {
    for (const Units size : sizes) {
        if (size > subject.most_units())
            throw UserError("--sizes: {} units are more than the {} of this problem; raise --size or end earlier", size,
                            subject.most_units());
        if (size % subject.granularity() != 0)
            throw UserError(
                "--sizes: {} is no multiple of {}, the granularity of {}; begin and step in multiples of it", size,
                subject.granularity(), subject.kernel());
    }
}

}  // namespace

bool measure_profile(ProfileSubject& subject, std::span<const Units> sizes, const MeasureOptions& options,
                     const MeasureWatcher& watcher) {
    check_sizes(subject, sizes);
    Measurement measurement(subject, options, watcher);
    const auto first = std::ranges::find_if(sizes, [&](Units units) { return !measurement.wanted(units).empty(); });
    if (first == sizes.end()) return true;
    return measurement.warm_up(*first) &&
           std::all_of(first, sizes.end(), [&](Units units) { return measurement.measure(units); });
}

std::vector<std::int64_t> parse_numbers(const std::string& text, const char* option) {
    std::vector<std::int64_t> numbers;
    for (const std::string_view part : split(text, ',')) {
        numbers.push_back(parse_number<std::int64_t>(part).value_or(0));
        if (numbers.back() < 1)
            throw UserError("{} {}: give whole numbers from 1 on, with commas between them", option, text);
    }
    return numbers;
}

std::vector<Units> parse_sizes(const std::string& text, const char* option) {
    constexpr Units kMostSizes = 10'000'000;
    std::vector<Units> numbers;
    for (const std::string_view part : split(text, ':')) numbers.push_back(parse_number<Units>(part).value_or(0));
    if (numbers.size() != 3 || std::ranges::min(numbers) < 1)
        throw UserError("{} {}: give from:to:step, whole numbers from 1 on, as in 64:2048:64", option, text);
    const Units from = numbers[0], to = numbers[1], step = numbers[2];
    if (from > to) throw UserError("{} {}: it begins behind its end; give from:to:step", option, text);
    if ((to - from) / step >= kMostSizes)
        throw UserError("{} {}: these are more than {} sizes; take a larger step", option, text, kMostSizes);
    std::vector<Units> sizes;
    for (Units size = from; size <= to; size += step) {
        sizes.push_back(size);
        if (size > to - step) break;  // the next might not be representable
    }
    return sizes;
}

}  // namespace apportion
