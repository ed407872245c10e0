// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/common/handicap.hpp"

#include <starpu.h>

#include <array>
#include <cstdlib>

#include "models/io/text.hpp"
#include "models/io/user_error.hpp"

namespace apportion {

namespace {

/// 0 means 1: written before the load's tasks are submitted, read by the workers that run them.
std::array<int, STARPU_NMAXWORKERS> factors{};

int whole_number(std::string_view text, std::string_view entry) {
    const auto value = parse_number<int>(text);
    if (!value || *value < 0)
        throw UserError("APPORTION_HANDICAP: '{}' is not worker=factor with whole numbers, such as 1=4", entry);
    return *value;
}

}  // namespace

std::map<int, int> parse_handicaps(std::string_view text) {
    std::map<int, int> handicaps;
    for (const std::string_view entry : split(text, ',')) {
        const std::size_t equals = std::min(entry.find('='), entry.size());
        const int worker = whole_number(entry.substr(0, equals), entry);
        const int factor = whole_number(entry.substr(std::min(equals + 1, entry.size())), entry);
        if (factor < 1 || factor > kMaxHandicap)
            throw UserError("APPORTION_HANDICAP: the factor in '{}' is not within 1 ... {}", entry, kMaxHandicap);
        if (!handicaps.emplace(worker, factor).second)
            throw UserError("APPORTION_HANDICAP: worker {} appears twice", worker);
    }
    return handicaps;
}

void apply_handicaps() {
    factors.fill(0);
    const char* text = std::getenv("APPORTION_HANDICAP");
    if (!text || !*text) return;
    for (const auto& [worker, factor] : parse_handicaps(text)) {
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
