// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/common/failed_task.hpp"

#include <exception>
#include <mutex>
#include <utility>

#include "policies/starpu/apportion.h"

namespace apportion {

namespace {
std::mutex mutex;
std::string& failure = *new std::string;  // threads may outlive static objects
}  // namespace

void fail_block(const char* why) noexcept {
    if (apportion_block_failed(why) == 0) return;
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
