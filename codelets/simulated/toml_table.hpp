// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Strict reading of one table of a TOML file: typed values with their limits, and an error for every key that was
// not asked for. Messages begin with FILE:LINE.
#pragma once

// An assertion of the parser fails for [[@]] and its like, before it tells what is wrong; without, it tells.
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <fmt/core.h>

#include <toml++/toml.h>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace apportion::simulated {

/// Numbers that a key may have, both ends included: beyond them a number is a slip, and cannot be simulated.
struct Limits {
    double least, most;
};

class TomlTable {
  public:
    /// `what` names the table in messages, e.g. "a device". The table must outlive this.
    TomlTable(const toml::table& table, std::string file, std::string what);

    std::string text(const char* key);  ///< required, not empty
    std::string text(const char* key, const std::string& otherwise);
    double within(const char* key, Limits limits);  ///< required
    double within(const char* key, Limits limits, double otherwise);
    double zero_or_within(const char* key, Limits limits, double otherwise);
    std::int64_t whole(const char* key, std::int64_t smallest, std::int64_t largest, std::int64_t otherwise);
    bool yes_no(const char* key, bool otherwise);
    /// Pairs of numbers, the first ones ascending; empty when the key is not there.
    std::vector<std::pair<double, double>> points(const char* key, Limits x, Limits y);
    bool has(const char* key) const { return table_.contains(key); }

    /// A table under `key`, if there is one; `what` names it.
    std::optional<TomlTable> table(const char* key, const std::string& what);
    /// Calls `read` for each table of the array of tables under `key`.
    void for_each_table(const char* key, const std::string& what, const std::function<void(TomlTable)>& read);
    /// Calls `read` for each named table under the table `key`.
    void for_each_named(const char* key, const std::function<void(const std::string& name, TomlTable)>& read);
    /// Calls `read` for each name and whole number of the table under `key`.
    void for_each_whole(const char* key, std::int64_t smallest, std::int64_t largest,
                        const std::function<void(const std::string& name, std::int64_t value)>& read);
    /// Calls `read` for each text of the list under `key`; what it returns, if anything, is wrong there.
    void for_each_text(const char* key, const std::function<std::string(const std::string&)>& read);

    /// Every key must have been asked for by now.
    void finish() const;

    /// Throws UserError with the place of `key`, or of the table without it.
    [[noreturn]] void fail(const char* key, const std::string& problem) const;
    template <class First, class... Others>
    [[noreturn]] void fail(const char* key, fmt::format_string<First, Others...> problem, First&& first,
                           Others&&... others) const {
        fail(key, fmt::format(problem, std::forward<First>(first), std::forward<Others>(others)...));
    }

  private:
    const toml::node* find(const char* key);
    double number(const char* key);
    [[noreturn]] void fail_at(const toml::node& node, const std::string& problem) const;

    const toml::table& table_;
    std::string file_;
    std::string what_;
    std::set<std::string, std::less<>> known_;
};

}  // namespace apportion::simulated
