// SPDX-License-Identifier: LGPL-2.1-or-later
// Catch2 itself, compiled once for all tests.
#define CATCH_CONFIG_RUNNER
#include "test/run_tests.hpp"

#include "test/catch.hpp"

int run_tests(int argc, char** argv) { return Catch::Session().run(argc, argv); }
