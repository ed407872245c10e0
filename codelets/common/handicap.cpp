// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/common/handicap.hpp"

#include <starpu.h>

#include <array>
#include <cstdlib>

#include "models/io/handicaps.hpp"
#include "models/io/user_error.hpp"

namespace apportion {

namespace {

/// 0 means 1: written before the load's tasks are submitted, read by the workers that run them.
std::array<int, STARPU_NMAXWORKERS> factors{};

}  // namespace

void apply_handicaps() {
    factors.fill(0);
    const char* text = std::getenv("APPORTION_HANDICAP");
    if (!text || !*text) return;
    const auto handicaps = parse_handicaps(text);
    if (!handicaps) throw UserError("APPORTION_HANDICAP: it must be {}", kHandicapForm);
    for (const auto& [worker, factor] : *handicaps) {
        if (worker >= static_cast<int>(starpu_worker_get_count()))
            throw UserError("APPORTION_HANDICAP: there is no worker {}; this machine has workers 0 ... {}", worker,
                            static_cast<int>(starpu_worker_get_count()) - 1);
        if (starpu_worker_get_type(worker) != STARPU_CPU_WORKER)
            throw UserError("APPORTION_HANDICAP: worker {} is no CPU worker, and only those can be handicapped",
                            worker);
        factors[worker] = factor;
    }
}

int repetitions() {
    const int worker = starpu_worker_get_id();
    return worker >= 0 && factors[worker] > 0 ? factors[worker] : 1;
}

}  // namespace apportion
