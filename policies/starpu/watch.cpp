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
            alarms_.emplace(moment, Alarm{whom, stood_still_});
            if (!running_) std::thread([this] { run(); }).detach();
            running_ = true;
            changed_.notify_one();
            return true;
        } catch (const std::exception&) {  // no memory, or no more threads
            return false;
        }
    }

  private:
    struct Alarm {
        std::weak_ptr<Watched> whom;
        Clock::duration stood_still{};  ///< when it was set
    };

    void run() noexcept {
        // Sleeps in short parts, and sees by one that lasts much longer that the program stood still meanwhile.
        constexpr auto kPart = std::chrono::milliseconds(200);
        constexpr int kLinger = 5;  // parts without an alarm: a load that runs again needs no new thread each time
        std::unique_lock lock(mutex_);
        for (int idle = 0; idle < kLinger || !alarms_.empty();) {  // one may have come in the last part
            std::erase_if(alarms_, [](const auto& alarm) { return alarm.second.whom.expired(); });
            idle = alarms_.empty() ? idle + 1 : 0;
            auto until = Clock::now() + kPart;
            if (!alarms_.empty()) until = std::min(until, alarms_.begin()->first);
            if (changed_.wait_until(lock, until) == std::cv_status::no_timeout) continue;
            const auto now = Clock::now();
            if (now - until > kPart) stood_still_ += now - until;  // less is a busy machine
            while (!alarms_.empty() && alarms_.begin()->first <= now) {
                const Alarm alarm = alarms_.extract(alarms_.begin()).mapped();
                const std::chrono::duration<double> stood_still = stood_still_ - alarm.stood_still;
                lock.unlock();
                if (const auto watched = alarm.whom.lock()) watched->look(stood_still.count());
                lock.lock();
            }
        }
        running_ = false;
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::multimap<Clock::time_point, Alarm> alarms_;
    Clock::duration stood_still_{};  ///< in all
    bool running_ = false;
};

}  // namespace

bool wake_at(const std::weak_ptr<Watched>& whom, double at_us) noexcept {
    static Watch& watch = *new Watch;  // its thread may outlive static objects
    return watch.wake_at(whom, at_us);
}

}  // namespace apportion

#endif
