// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/watch.hpp"

#include <starpu.h>

#include <algorithm>
#include <new>

#ifdef STARPU_SIMGRID

namespace apportion {

namespace {

/// SimGrid's condition variables lose their mutex in a timed wait, so a sleeping actor cannot be woken: each moment has
/// an actor of its own, which are cheap there. Nothing waits for it.
struct Alarm {
    std::weak_ptr<Watched> whom;
    double at_us = 0;
};

void* sleep_until_moment(void* own_alarm) {
    const std::unique_ptr<Alarm> alarm(static_cast<Alarm*>(own_alarm));
    constexpr double kShortest_s = 2e-5;  // SimGrid takes much shorter sleeps for none, and its clock would stand still
    starpu_sleep(static_cast<float>(std::max(kShortest_s, (alarm->at_us - starpu_timing_now()) * 1e-6)));
    if (const auto watched = alarm->whom.lock()) watched->look();
    return nullptr;
}

}  // namespace

bool wake_at(const std::weak_ptr<Watched>& whom, double at_us) noexcept {
    starpu_pthread_t actor;
    auto* alarm = new (std::nothrow) Alarm{whom, at_us};
    if (!alarm) return false;
    STARPU_PTHREAD_CREATE(&actor, NULL, sleep_until_moment, alarm);
    starpu_pthread_detach(actor);
    return true;
}

double stood_still_us() noexcept { return 0; }

}  // namespace apportion

#else

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace apportion {

namespace {

class Watch {
  public:
    bool wake_at(const std::weak_ptr<Watched>& whom, double at_us) noexcept {
        try {
            const std::lock_guard lock(mutex_);
            alarms_.emplace(at_us, whom);
            if (!running_) std::thread([this] { run(); }).detach();
            running_ = true;
            changed_.notify_one();
            return true;
        } catch (const std::exception&) {  // no memory, or no more threads
            return false;
        }
    }

    std::atomic<double> stood_still_us = 0;

  private:
    void run() noexcept {
        // Sleeps in short parts, and sees by one that lasts much longer that the program stood still meanwhile.
        constexpr double kPart_us = 2e5;
        constexpr int kLinger = 5;  // parts without an alarm: a load that runs again needs no new thread each time
        std::unique_lock lock(mutex_);
        for (int idle = 0; idle < kLinger || !alarms_.empty();) {  // one may have come in the last part
            std::erase_if(alarms_, [](const auto& alarm) { return alarm.second.expired(); });
            idle = alarms_.empty() ? idle + 1 : 0;
            const double next_us = alarms_.empty() ? kPart_us : alarms_.begin()->first - starpu_timing_now();
            const double part_us = std::clamp(next_us, 0.0, kPart_us), until_us = starpu_timing_now() + part_us;
            const auto woken = changed_.wait_for(lock, std::chrono::duration<double, std::micro>(part_us));
            if (woken == std::cv_status::no_timeout) continue;
            const double late_us = starpu_timing_now() - until_us;
            if (late_us > kPart_us) stood_still_us += late_us;  // less is a busy machine
            while (!alarms_.empty() && alarms_.begin()->first <= starpu_timing_now()) {
                const auto whom = alarms_.extract(alarms_.begin()).mapped();
                lock.unlock();
                if (const auto watched = whom.lock()) watched->look();
                lock.lock();
            }
        }
        running_ = false;
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::multimap<double, std::weak_ptr<Watched> > alarms_;
    bool running_ = false;
};

Watch& watch() {
    static Watch& watch = *new Watch;  // its thread may outlive static objects
    return watch;
}

}  // namespace

bool wake_at(const std::weak_ptr<Watched>& whom, double at_us) noexcept { return watch().wake_at(whom, at_us); }

double stood_still_us() noexcept { return watch().stood_still_us; }

}  // namespace apportion

#endif
