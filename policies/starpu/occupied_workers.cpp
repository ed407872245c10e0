// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/occupied_workers.hpp"

#include <starpu.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "policies/starpu/mutex.hpp"

namespace apportion {

namespace {

struct Occupied {
    Mutex mutex;  // held for these few lines only: whoever has it takes no other lock but the watch's
    std::array<int, STARPU_NMAXWORKERS> tasks{};
    std::set<std::weak_ptr<Watched>, std::owner_less<>> asked;

    int& tasks_of(int id) { return tasks[static_cast<std::size_t>(id)]; }
};
Occupied& occupied() {
    static Occupied& of_all_loads = *new Occupied;
    return of_all_loads;
}

}  // namespace

OccupiedWorkers::OccupiedWorkers(const std::vector<int>& ids) : ids_(ids) {
    Occupied& all = occupied();
    const Lock lock(all.mutex);
    for (const int id : ids_) ++all.tasks_of(id);
}

OccupiedWorkers::~OccupiedWorkers() {
    Occupied& all = occupied();
    const Lock lock(all.mutex);
    for (const int id : ids_) --all.tasks_of(id);
    for (const auto& asking : all.asked) wake_at(asking, starpu_timing_now());  // else it looks by itself, but later
    all.asked.clear();
}

bool OccupiedWorkers::any(const std::vector<int>& ids, const std::weak_ptr<Watched>& asking) {
    Occupied& all = occupied();
    const Lock lock(all.mutex);
    if (std::ranges::none_of(ids, [&](int id) { return all.tasks_of(id) > 0; })) return false;
    all.asked.insert(asking);
    return true;
}

}  // namespace apportion
