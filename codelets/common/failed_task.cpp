// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/common/failed_task.hpp"

#include <cerrno>
#include <exception>
#include <mutex>
#include <utility>

#include "policies/starpu/apportion.h"

namespace apportion {

namespace {
std::mutex mutex;
std::string failure;
}  // namespace

void fail_block(const char* why) noexcept {
    int status = 0;
    // Else the block would count as computed. Others may free memory.
    while ((status = apportion_block_failed(why)) == -ENOMEM) starpu_sleep(1e-3F);
    if (status == 0) return;
    const std::lock_guard lock(mutex);
    try {
        if (failure.empty()) failure = why;
    } catch (const std::exception&) {
        failure = "no memory";  // short enough to need none
    }
}

std::string take_failure() {
    const std::lock_guard lock(mutex);
    return std::exchange(failure, {});
}

}  // namespace apportion
