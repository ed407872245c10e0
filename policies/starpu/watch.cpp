// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/watch.hpp"

#include <pthread.h>
#include <sched.h>
#include <starpu.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace apportion {

#ifdef STARPU_SIMGRID

namespace {

/// SimGrid's condition variables lose their mutex in a timed wait, so a sleeping actor cannot be woken: each moment has
/// an actor of its own, which are cheap there. Nothing waits for it.
using Alarm = std::pair<std::weak_ptr<Watched>, double>;

void* sleep_until_moment(void* own_alarm) {
    const std::unique_ptr<Alarm> alarm(static_cast<Alarm*>(own_alarm));
    constexpr double kShortest_s = 2e-5;  // SimGrid takes much shorter sleeps for none, and its clock would stand still
    starpu_sleep(static_cast<float>(std::max(kShortest_s, (alarm->second - starpu_timing_now()) * 1e-6)));
    if (const auto watched = alarm->first.lock()) watched->look(alarm->second);
    return nullptr;
}

}  // namespace

bool wake_at(const std::weak_ptr<Watched>& watched, double at_us) noexcept {
    starpu_pthread_t actor;
    auto* const alarm = new Alarm{watched, at_us};
    STARPU_PTHREAD_CREATE(&actor, NULL, sleep_until_moment, alarm);
    starpu_pthread_detach(actor);
    return true;
}

double stood_still_us() noexcept { return 0; }

#else

namespace {

struct Watch {
    std::mutex mutex;
    std::condition_variable changed;
    std::multimap<double, std::weak_ptr<Watched> > alarms;
    std::atomic<double> stood_still_us = 0;
};
std::atomic<Watch*> current{new Watch};  // its thread may outlive static objects
Watch& watch() { return *current; }

/// A child has neither the thread nor the loads that the alarms are for, and the mutex may have been locked.
[[maybe_unused]] const int kForkIsHeardOf = pthread_atfork(nullptr, nullptr, [] { current = new Watch; });

/// Where the program may run. Its threads may be bound to a core each, StarPU's are, and so would be those they begin.
struct Cores {
    cpu_set_t set{};
    bool known = sched_getaffinity(0, sizeof set, &set) == 0;
};
const Cores kCores{};

/// In a thread of its own, as it may lead to calls of the application's functions; in this one if there is none.
void look(const std::weak_ptr<Watched>& watched, double at_us) noexcept {
    const auto its_look = [=] {
        if (const auto looks = watched.lock()) looks->look(at_us);
    };
    try {
        std::thread(its_look).detach();
    } catch (const std::system_error&) {
        its_look();
    }
}

void ring_until_none_is_left() noexcept {
    // Sleeps in short parts, and sees by one that lasts much longer that the program stood still meanwhile.
    constexpr double kPart_us = 2e5;
    if (kCores.known) sched_setaffinity(0, sizeof kCores.set, &kCores.set);  // of this thread
    std::unique_lock lock(watch().mutex);
    while (!watch().alarms.empty()) {
        const double now_us = starpu_timing_now();
        const double part_us = std::clamp(watch().alarms.begin()->first - now_us, 0.0, kPart_us);
        const auto woken = watch().changed.wait_for(lock, std::chrono::duration<double, std::micro>(part_us));
        if (woken == std::cv_status::no_timeout) continue;
        const double late_us = starpu_timing_now() - now_us - part_us;
        if (late_us > kPart_us) watch().stood_still_us += late_us;  // less is a busy machine
        while (!watch().alarms.empty() && watch().alarms.begin()->first <= starpu_timing_now()) {
            const auto alarm = watch().alarms.begin();  // stays there meanwhile: no other thread begins
            lock.unlock();
            look(alarm->second, alarm->first);
            lock.lock();
            watch().alarms.erase(alarm);
        }
    }
}

}  // namespace

bool wake_at(const std::weak_ptr<Watched>& watched, double at_us) noexcept {
    const std::lock_guard lock(watch().mutex);
    const auto alarm = watch().alarms.emplace(at_us, watched);
    try {
        if (watch().alarms.size() == 1) std::thread(ring_until_none_is_left).detach();
    } catch (const std::system_error&) {
        watch().alarms.erase(alarm);
        return false;
    }
    watch().changed.notify_one();
    return true;
}

double stood_still_us() noexcept { return watch().stood_still_us; }

#endif

double running_us() noexcept { return starpu_timing_now() - stood_still_us(); }

}  // namespace apportion
