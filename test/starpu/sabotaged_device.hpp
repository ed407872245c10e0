// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The load of sabotaged_work.hpp on a device with its own memory.
#pragma once

#include <cstdlib>

#include "test/starpu/opencl_work.hpp"
#include "test/starpu/sabotaged_work.hpp"

namespace apportion::test {

inline void on_device(void* buffers[], void* arg) {
    on_opencl_device<double>(buffers, [&](const double* x, double* y, unsigned units) {
        Work::compute(*static_cast<Work::Part*>(arg), x, y, units);
    });
}

/// StarPU's worker of the device. Ends the program with 77 where there is none.
inline int device() {
    if (opencl_worker() < 0) std::exit(77);
    Work::on_opencl = on_device;
    return opencl_worker();
}

}  // namespace apportion::test
