// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test/run_tests.hpp"

int main(int argc, char** argv) { return run_tests(argc, argv); }
