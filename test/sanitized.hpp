// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whether a sanitizer looks on. Each case takes ten times as long then, and a wrong access shows in the first case of
// its kind: tests of many alike cases take fewer of them. -Dpure_tests=true runs all of them without a sanitizer.
#pragma once

namespace apportion::test {

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
constexpr bool kSanitized = true;
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

/// How many of `all` alike cases a test takes.
constexpr unsigned cases_of(unsigned all) { return kSanitized ? (all + 2) / 3 : all; }

}  // namespace apportion::test
