// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "codelets/simulated/platform.hpp"

namespace apportion::simulated {

/// CPU devices with a kernel "k", work n, for sizes given in n only.
inline Platform alike_devices(const TrueTime& time, int count = 1) {
    Platform platform;
    platform.kernels["k"].work = {1, 0, 1, 0};
    Device device;
    device.count = count;
    device.kernels["k"] = time;
    platform.devices.push_back(device);
    return platform;
}

}  // namespace apportion::simulated
