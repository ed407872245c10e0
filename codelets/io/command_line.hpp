// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the command lines of Apportion have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "models/io/nearest_name.hpp"
#include "models/io/shown.hpp"

namespace apportion {

/// Refuses an empty value, as an unset variable of a script leaves it: it is no way to leave an option out. Of any
/// option that was added before, also to subcommands.
inline void refuse_empty_values(CLI::App& app) {
    for (CLI::Option* option : app.get_options([](CLI::Option*) { return true; }))
        option->check([](const std::string& value) -> std::string {
            return value.empty() ? "its value is empty; give one, or leave the option out" : "";
        });
    for (CLI::App* part : app.get_subcommands({})) refuse_empty_values(*part);
}

/// Seeds that JSON can have.
inline CLI::Validator seeds() {
    return {[](std::string& value) {
                constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
                std::uint64_t seed = 0;
                const bool usable = CLI::detail::lexical_cast(value, seed) && seed <= kLargest;
                return usable ? "" : in_quotes(value) + " is not usable; give a whole number from 0 to 2^63 - 1";
            },
            "0 to 2^63 - 1"};
}

/// Finite numbers that `fits` takes; `which` says in a message which they are, `in_help` in the list of options.
inline CLI::Validator finite_numbers(const std::function<bool(double)>& fits, const std::string& which,
                                     const std::string& in_help) {
    return {[=](std::string& value) {
                double number = 0;
                const bool usable = CLI::detail::lexical_cast(value, number) && std::isfinite(number) && fits(number);
                return usable ? "" : in_quotes(value) + " is not usable; give a finite number " + which;
            },
            in_help};
}
inline CLI::Validator numbers_above_zero() {
    return finite_numbers([](double number) { return number > 0; }, "above 0", "POSITIVE");
}
/// CLI::Range takes NaN for a number of any range.
inline CLI::Validator numbers_between(int least, int most) {
    return finite_numbers([=](double number) { return number >= least && number <= most; },
                          "from " + std::to_string(least) + " to " + std::to_string(most),
                          "FLOAT in [" + std::to_string(least) + " - " + std::to_string(most) + "]");
}

/// " (did you mean --policies?)" where the error is an option that `app` does not have, and one that it has is like it;
/// or nothing. CLI11 names the words only.
inline std::string nearest_option(const CLI::ParseError& error, const CLI::App& app, int argc, char** argv) {
    if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError)) return "";
    const std::string sentence = error.what();
    std::vector<std::string> names;
    const auto add_options_of = [&names](const CLI::App& its) {
        for (const CLI::Option* option : its.get_options())
            for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    };
    add_options_of(app);
    for (const CLI::App* group : app.get_subcommands([](const CLI::App* its) { return its->get_name().empty(); }))
        add_options_of(*group);
    for (int k = 1; k < argc; ++k) {
        const std::string word = argv[k];
        if (!word.starts_with("--") || sentence.find(word) == sentence.npos) continue;
        if (std::string advice = did_you_mean(word.substr(0, word.find('=')), names); !advice.empty()) return advice;
    }
    return "";
}

}  // namespace apportion
