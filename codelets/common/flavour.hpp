// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which flavour of StarPU this is compiled for.
#pragma once

#include <starpu_config.h>

namespace apportion {

/// The simulated flavour of StarPU computes nothing, so there is nothing to verify or to write.
#ifdef STARPU_SIMGRID
inline constexpr bool kSimulated = true;
#else
inline constexpr bool kSimulated = false;
#endif

}  // namespace apportion
