// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

/// The test cases of the program, chosen as Catch2's command line does. Returns the exit status.
int run_tests(int argc, char** argv);
