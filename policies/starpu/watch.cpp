// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/watch.hpp"

#include <starpu.h>

#include <algorithm>
#include <new>

#ifdef STARPU_SIMGRID

namespace apportion {

namespace {

/// SimGrid's condition variables lose their mutex in a timed wait, so a sleeping actor cannot be woken: each moment has
/// an actor of its own, which are cheap there. Nobody waits for it.
struct Alarm {
    std::weak_ptr<Watched> whom;
    double at_us = 0;
};

void* sleep_until_moment(void* own_alarm) {
    const std::unique_ptr<Alarm> alarm(static_cast<Alarm*>(own_alarm));
    constexpr double kShortest_s = 1e-3;  // SimGrid takes shorter sleeps for none, and its clock would stand still
    starpu_sleep(static_cast<float>(std::max(kShortest_s, (alarm->at_us - starpu_timing_now()) * 1e-6)));
    if (const auto watched = alarm->whom.lock()) watched->look(0);
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

}  // namespace apportion

#else

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

namespace apportion {

namespace {

using Clock = std::chrono::steady_clock;

class Watch {
  public:
    bool wake_at(const std::weak_ptr<Watched>& whom, double at_us) noexcept {
        const auto delay = std::chrono::duration<double, std::micro>(std::max(0.0, at_us - starpu_timing_now()));
        try {
            const std::lock_guard lock(mutex_);
            const auto moment = Clock::now() + std::chrono::duration_cast<Clock::duration>(delay);
            const bool soonest = alarms_.empty() || moment < alarms_.begin()->first;
            alarms_.emplace(moment, whom);
            if (!running_) {
                std::thread([this] { run(); }).detach();
                running_ = true;
            } else if (soonest) {
                changed_.notify_one();
            }
            return true;
        } catch (const std::exception&) {  // no memory, or no more threads
            return false;
        }
    }

  private:
    void run() noexcept {
        constexpr auto kLinger = std::chrono::seconds(1);  // a load that runs again needs no new thread each time
        std::unique_lock lock(mutex_);
        for (;;) {
            std::erase_if(alarms_, [](const auto& alarm) { return alarm.second.expired(); });
            if (alarms_.empty()) {
                if (changed_.wait_for(lock, kLinger) == std::cv_status::timeout && alarms_.empty()) break;
                continue;
            }
            const auto moment = alarms_.begin()->first;
            if (Clock::now() < moment) {
                // Long sleeps in parts, so that the thread sees when nothing runs any more.
                changed_.wait_until(lock, std::min(moment, Clock::now() + kLinger));
                continue;
            }
            const std::weak_ptr<Watched> whom = alarms_.extract(alarms_.begin()).mapped();
            const std::chrono::duration<double> overslept = Clock::now() - moment;
            lock.unlock();
            if (const auto watched = whom.lock()) watched->look(overslept.count());
            lock.lock();
        }
        running_ = false;
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::multimap<Clock::time_point, std::weak_ptr<Watched> > alarms_;
    bool running_ = false;
};

}  // namespace

bool wake_at(const std::weak_ptr<Watched>& whom, double at_us) noexcept {
    static Watch& watch = *new Watch;  // its thread may outlive static objects
    return watch.wake_at(whom, at_us);
}

}  // namespace apportion

#endif
