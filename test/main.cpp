// SPDX-License-Identifier: LGPL-2.1-or-later
// Own main: StarPU's simulated flavour renames it and wants an explicit return.
#define CATCH_CONFIG_RUNNER
#ifdef APPORTION_TEST_WITH_STARPU
#include <starpu.h>
#endif

#include "test/catch.hpp"

int main(int argc, char** argv) {
    int failed = Catch::Session().run(argc, argv);
    return failed;
}
