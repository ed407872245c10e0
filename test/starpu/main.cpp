// SPDX-License-Identifier: LGPL-2.1-or-later
// Main of the tests that run inside StarPU: the scheduler is the one STARPU_SCHED names, or the test fails at once.
#define CATCH_CONFIG_RUNNER
#include <cstdio>

#include "policies/starpu/apportion.h"
#include "test/catch.hpp"

int main(int argc, char** argv) {
    if (apportion_init(nullptr) != 0) {
        std::fprintf(stderr, "%s\n", apportion_error());
        return 1;
    }
    int failed = Catch::Session().run(argc, argv);
    apportion_shutdown();
    return failed;
}
