// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Errors of the C interface: functions return a negative errno value and leave one sentence for apportion_error().
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace apportion {

/// A user's mistake: `what()` is one sentence with the problem, the place and what to do.
class ApiError : public std::runtime_error {
  public:
    ApiError(int error_number, const std::string& sentence)
        : std::runtime_error(sentence), error_number_(error_number) {}

    /// As fmt::format writes it.
    template <class First, class... Others>
    ApiError(int error_number, fmt::format_string<First, Others...> sentence, First&& first, Others&&... others)
        : ApiError(error_number, fmt::format(sentence, std::forward<First>(first), std::forward<Others>(others)...)) {}

    int error_number() const { return error_number_; }

  private:
    int error_number_;
};

/// Where there is no memory for it, it is "out of memory".
void set_error(std::string_view sentence) noexcept;

/// The exception that is being handled as a negative errno value and a sentence.
int report_exception() noexcept;

/// Runs `body` and turns its exceptions into a negative errno value and a sentence.
template <class Body>
int guarded(Body&& body) noexcept {
    try {
        body();
        return 0;
    } catch (...) {
        return report_exception();
    }
}

}  // namespace apportion
