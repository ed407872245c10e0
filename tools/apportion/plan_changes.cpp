// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/plan_parts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "models/io/nearest_name.hpp"
#include "models/io/shown.hpp"
#include "models/io/text.hpp"
#include "tools/apportion/command.hpp"

namespace apportion {

namespace {

ProcessorProfile& processor_in(Profile& profile, const std::string& name, const char* option) {
    const auto found = std::ranges::find(profile.processors, name, &ProcessorProfile::name);
    if (found != profile.processors.end()) return *found;
    std::vector<std::string> names;
    for (const ProcessorProfile& processor : profile.processors) names.push_back(processor.name);
    throw UserError(fmt::format("{}: there is no processor {}{}; there are {}", option, in_quotes(name),
                                did_you_mean(name, names), fmt::join(names, ", ")));
}

/// Names may contain '='.
void scale(Profile& profile, const std::string& text) {
    const std::size_t equals = text.rfind('=');
    const double factor =
        equals == std::string::npos ? 0 : parse_number<double>(std::string_view(text).substr(equals + 1)).value_or(0);
    if (!(factor > 0 && std::isfinite(factor)))
        throw UserError(fmt::format("--scale: {} is not PROCESSOR=F with a number F above 0, such as 'CPU 0=1.5'",
                                    in_quotes(text)));
    for (ProfilePoint& point : processor_in(profile, text.substr(0, equals), "--scale").points) {
        point.seconds /= factor;
        point.ci_s /= factor;
        if (!std::isfinite(point.seconds) || point.seconds <= 0)
            throw UserError(fmt::format("--scale: {} leaves no time that can be told", in_quotes(text)));
    }
}

}  // namespace

Profile changed_profile(const Profile& profile, const MachineChanges& changes) {
    Profile changed = profile;
    for (const std::string& text : changes.scale) scale(changed, text);
    std::vector<ProcessorProfile> added;
    for (const std::string& name : changes.add) {
        ProcessorProfile copy = processor_in(changed, name, "--add");
        const auto taken = [&](const std::string& other) {
            const auto called = [&](const ProcessorProfile& processor) { return processor.name == other; };
            return std::ranges::any_of(changed.processors, called) || std::ranges::any_of(added, called);
        };
        for (int number = 2; taken(copy.name); ++number) copy.name = fmt::format("{} #{}", name, number);
        added.push_back(std::move(copy));
    }
    for (const std::string& name : changes.without) {
        const ProcessorProfile& gone = processor_in(changed, name, "--without");
        changed.processors.erase(changed.processors.begin() + (&gone - changed.processors.data()));
    }
    std::ranges::move(added, std::back_inserter(changed.processors));
    if (changed.processors.empty()) throw UserError("--without: no processor is left; leave one");
    return changed;
}

}  // namespace apportion
