// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/watchdog.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

namespace apportion {

namespace {

/// No timer is set for less: SimGrid takes such sleeps for none, and its clock would stand still.
constexpr double kSoon_s = 1e-3;

double clock_s() { return starpu_timing_now() * 1e-6; }

}  // namespace

struct Watchdog::State {
    explicit State(Look what) : look(std::move(what)) {
        STARPU_PTHREAD_MUTEX_INIT(&mutex, NULL);
        STARPU_PTHREAD_COND_INIT(&changed, NULL);
    }
    ~State() {
        STARPU_PTHREAD_COND_DESTROY(&changed);
        STARPU_PTHREAD_MUTEX_DESTROY(&mutex);
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    void look_until_stopped();
    void nap(double seconds);

    Look look;
    starpu_pthread_mutex_t mutex;
    starpu_pthread_cond_t changed;
    bool stopped = false;
    bool looking = false;
    double next_look_s = 0;  ///< by StarPU's clock; 0: none
    double nap_end_s = 0;    ///< before which nobody can wake it
};

/// Called with the mutex held; may end early.
void Watchdog::State::nap(double seconds) {
#ifdef STARPU_SIMGRID
    // SimGrid's condition variables lose their mutex in a timed wait.
    nap_end_s = clock_s() + seconds;
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
    starpu_sleep(static_cast<float>(seconds));
    STARPU_PTHREAD_MUTEX_LOCK(&mutex);
#else
    constexpr long kSecond_ns = 1'000'000'000;
    timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += static_cast<time_t>(seconds);
    end.tv_nsec += static_cast<long>((seconds - std::floor(seconds)) * kSecond_ns);
    end.tv_sec += end.tv_nsec / kSecond_ns;
    end.tv_nsec %= kSecond_ns;
    starpu_pthread_cond_timedwait(&changed, &mutex, &end);
#endif
}

void Watchdog::State::look_until_stopped() {
    STARPU_PTHREAD_MUTEX_LOCK(&mutex);
    while (!stopped) {
        const double left_s = next_look_s - clock_s();
        if (next_look_s == 0) {
            STARPU_PTHREAD_COND_WAIT(&changed, &mutex);
        } else if (left_s > kSoon_s) {
            nap(left_s);
        } else {
            next_look_s = 0;
            looking = true;
            STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
            const double seconds = look(std::max(0.0, -left_s));
            STARPU_PTHREAD_MUTEX_LOCK(&mutex);
            looking = false;
            STARPU_PTHREAD_COND_BROADCAST(&changed);
            const double next_s = clock_s() + seconds;
            if (seconds > 0 && (next_look_s == 0 || next_look_s > next_s)) next_look_s = next_s;
        }
    }
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
}

void* Watchdog::run(void* own_state) {
    const std::unique_ptr<std::shared_ptr<State>> state(static_cast<std::shared_ptr<State>*>(own_state));
    (*state)->look_until_stopped();
    return nullptr;
}

Watchdog::Watchdog(Look look) : state_(std::make_shared<State>(std::move(look))) {
    STARPU_PTHREAD_CREATE(&thread_, NULL, run, new std::shared_ptr<State>(state_));
}

Watchdog::~Watchdog() {
    STARPU_PTHREAD_MUTEX_LOCK(&state_->mutex);
    state_->stopped = true;
    STARPU_PTHREAD_COND_BROADCAST(&state_->changed);
    while (state_->looking) STARPU_PTHREAD_COND_WAIT(&state_->changed, &state_->mutex);
    STARPU_PTHREAD_MUTEX_UNLOCK(&state_->mutex);
#ifdef STARPU_SIMGRID
    starpu_pthread_detach(thread_);  // it may sleep, and would take virtual time to join
#else
    STARPU_PTHREAD_JOIN(thread_, NULL);
#endif
}

void Watchdog::wake(double within_s) {
    STARPU_PTHREAD_MUTEX_LOCK(&state_->mutex);
    const double latest_s = std::max(clock_s() + within_s, state_->nap_end_s);
    if (state_->next_look_s == 0 || state_->next_look_s > latest_s) {
        state_->next_look_s = latest_s;
        STARPU_PTHREAD_COND_BROADCAST(&state_->changed);
    }
    STARPU_PTHREAD_MUTEX_UNLOCK(&state_->mutex);
}

}  // namespace apportion
