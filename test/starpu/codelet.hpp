// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Codelets of tests, whose functions need nothing else.
#pragma once

#include <starpu.h>

#include <vector>

namespace apportion::test {

inline starpu_codelet make_codelet(starpu_cpu_func_t on_cpu, const std::vector<starpu_data_access_mode>& modes,
                                   const char* name, starpu_opencl_func_t on_opencl = nullptr) {
    starpu_codelet codelet;
    starpu_codelet_init(&codelet);
    codelet.cpu_funcs[0] = on_cpu;
    codelet.opencl_funcs[0] = on_opencl;
    codelet.nbuffers = static_cast<int>(modes.size());
    for (std::size_t k = 0; k < modes.size(); ++k) codelet.modes[k] = modes[k];
    codelet.name = name;
    return codelet;
}

}  // namespace apportion::test
