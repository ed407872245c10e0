// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/occupied_workers.hpp"

#include <starpu.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <set>
#include <utility>

#include "policies/starpu/mutex.hpp"

namespace apportion {

namespace {

struct Occupied {
    Mutex mutex;  // held for these few lines only: whoever has it takes no other lock but the watch's
    std::array<std::array<int, 2>, STARPU_NMAXWORKERS> tasks{};  // of each worker, by whether they soon end
    std::set<std::weak_ptr<Watched>, std::owner_less<>> asked;
    std::atomic<int> all_tasks = 0;  // 0, as nearly always: who asks needs no lock

    int& tasks_of(int id, bool soon_free) { return tasks[static_cast<std::size_t>(id)][soon_free ? 1 : 0]; }
};
Occupied& occupied() {
    static Occupied& of_all_loads = *new Occupied;
    return of_all_loads;
}

}  // namespace

OccupiedWorkers::OccupiedWorkers(const std::vector<int>& ids, bool soon_free) : soon_free_(soon_free), ids_(ids) {
    Occupied& all = occupied();
    const Lock lock(all.mutex);
    ++all.all_tasks;
    for (const int id : ids_) ++all.tasks_of(id, soon_free_);
}

OccupiedWorkers::~OccupiedWorkers() {
    Occupied& all = occupied();
    const Lock lock(all.mutex);
    for (const int id : ids_) --all.tasks_of(id, soon_free_);
    --all.all_tasks;
    for (const auto& asking : all.asked) wake_at(asking, starpu_timing_now());  // else it looks by itself, but later
    all.asked.clear();
}

OccupiedWorkers::State OccupiedWorkers::of(const std::vector<int>& ids, const std::weak_ptr<Watched>& asking) {
    Occupied& all = occupied();
    if (all.all_tasks == 0) return State::free;
    const Lock lock(all.mutex);
    const auto any = [&](bool soon_free) {
        return std::ranges::any_of(ids, [&](int id) { return all.tasks_of(id, soon_free) > 0; });
    };
    const State state = any(false) ? State::occupied : any(true) ? State::soon_free : State::free;
    if (state != State::free) all.asked.insert(asking);
    return state;
}

}  // namespace apportion
