// SPDX-License-Identifier: LGPL-2.1-or-later
// Catch2, version 2 (Debian 12) or 3 (Debian 13), under one name.
#pragma once
#include <string>
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
#else
#include <catch2/catch.hpp>
inline auto ContainsSubstring(const std::string& text) { return Catch::Matchers::Contains(text); }
#endif

/// What `body` throws as an Error, a sentence; empty where it throws nothing.
template <class Error, class Body>
std::string thrown(Body&& body) {
    try {
        body();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}
