// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The simulated flavour's performance model: lets StarPU's workers take the time of the platform that the environment
// variable APPORTION_PLATFORM names. CPU worker i is the i-th cpu device of the platform, CUDA worker of device d its
// d-th cuda device. A scheduler that asks for a time gets the exact one, without noise and drift; when StarPU asks in
// order to execute a task, it gets what the machine will really need.
//
// APPORTION_PLATFORM_SEED replaces the platform's seed of the noise. Of a cluster, each rank has the devices of its
// node. Defined in the simulated flavours only: others call `install` in `if constexpr (kSimulated)`, and do not link
// it. Use the model for one kernel and size at a time.
#pragma once

#include <starpu.h>

#include <cstdint>
#include <string>

#include "codelets/simulated/platform.hpp"

namespace apportion::simulated {

/// Units of a block from its task.
using UnitsOf = std::uint64_t (*)(const starpu_task* task);

/// What size its units have, where they are not those of the problem.
using SizeOf = KernelSize (*)(const starpu_task* task, KernelSize problem);

/// Makes `codelet` a simulated one: a STARPU_PER_WORKER performance model of this kernel, and pretended
/// implementations for the kinds of device that have the kernel. Call it before tasks of the codelet are submitted,
/// again when the size changes. Throws UserError when there is no platform or it does not describe the kernel.
void install(starpu_codelet& codelet, const std::string& kernel, const KernelSize& size, UnitsOf units_of,
             SizeOf size_of = nullptr);

/// Throws UserError where a unit's data, of `codelet` as it was installed, are not as many bytes as the platform file
/// says of its kernel, by which bounds and profiles are made: up to a tenth, as files round. Not of data that stay,
/// which are in neither, where no device has memory of its own, and of what the file does not say.
void check_transfers(const starpu_codelet& codelet, double bytes_in_per_unit, double bytes_out_per_unit);

}  // namespace apportion::simulated
