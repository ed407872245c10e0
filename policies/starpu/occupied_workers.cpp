// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/occupied_workers.hpp"

#include <starpu.h>

#include <algorithm>
#include <atomic>
#include <set>

#include "policies/starpu/mutex.hpp"

namespace apportion {

namespace {

struct Occupied {
    Mutex mutex;  // held for these few lines only: who has it takes no other lock but the watch's
    std::set<const OccupiedWorkers*> workers;
    std::set<std::weak_ptr<Watched>, std::owner_less<>> asked;
    std::atomic<bool> any = false;  // as nearly always: who asks needs no lock
};
Occupied& occupied() {
    static Occupied& of_all_loads = *new Occupied;
    return of_all_loads;
}

}  // namespace

OccupiedWorkers::OccupiedWorkers(const std::vector<int>& ids, double late_at_us) : ids_(ids), late_at_us_(late_at_us) {
    Occupied& all = occupied();
    const Lock lock(all.mutex);
    all.workers.insert(this);
    all.any = true;
}

OccupiedWorkers::~OccupiedWorkers() {
    Occupied& all = occupied();
    const Lock lock(all.mutex);
    all.workers.erase(this);
    all.any = !all.workers.empty();
    for (const auto& asking : all.asked) wake_at(asking, starpu_timing_now());  // else it looks by itself, but later
    all.asked.clear();
}

OccupiedWorkers::State OccupiedWorkers::of(const std::vector<int>& ids, const std::weak_ptr<Watched>& asking) {
    Occupied& all = occupied();
    if (!all.any) return State::free;
    const Lock lock(all.mutex);
    const double now_us = running_us();
    State state = State::free;
    for (const OccupiedWorkers* its : all.workers)
        if (std::ranges::find_first_of(ids, its->ids_) != ids.end())
            state = std::max(state, now_us < its->late_at_us_ ? State::soon_free : State::occupied);
    if (state != State::free) all.asked.insert(asking);
    return state;
}

}  // namespace apportion
