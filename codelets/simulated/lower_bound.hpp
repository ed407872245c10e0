// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How soon a load can be computed on a simulated machine at best, however it is distributed.
//
// Within T seconds a device computes at most T max_x x / t(x) units, over the sizes x of blocks that fit its memory and
// that end within T, with the data's way to the device before and the results' way home after: those three follow each
// other. A link lets at most T times its bandwidth pass, in each direction when it is full-duplex, in both together
// otherwise. All devices need the same number of bytes for a unit and each has one link, so that the linear programme
// of these limits has a closed solution: a link's devices compute the least of what they can and of what it carries,
// and the machine the sum over its links and the devices in main memory. The bound is the smallest T for which that is
// the load.
//
// On a cluster, what nodes other than the first compute comes from the first and goes back, over the links of both,
// which are full-duplex; the network's latency is left out.
//
// Left out: noise, a drift that makes slower, and what a block waits for. A device that becomes faster counts as one
// that is so from the beginning. Resident data are on the devices from the beginning. Data that are kept on devices
// from one run to the next need not travel, neither to devices nor to nodes, which own their part.
#pragma once

#include <cstdint>
#include <string>

#include "codelets/simulated/platform.hpp"

namespace apportion::simulated {

/// No schedule of `units` ends earlier on a machine without noise. Infinite when no device has the kernel.
double lower_bound_seconds(const Platform& platform, const std::string& kernel, const KernelSize& size,
                           std::int64_t units);

}  // namespace apportion::simulated
