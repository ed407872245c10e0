// SPDX-License-Identifier: LGPL-2.1-or-later
//
// StarPU's mutexes and condition variables, which the simulated flavour needs, for std::lock_guard and its like.
#pragma once

#include <starpu.h>

#include <mutex>

namespace apportion {

class Mutex {
  public:
    Mutex() { STARPU_PTHREAD_MUTEX_INIT(&mutex_, NULL); }
    ~Mutex() { STARPU_PTHREAD_MUTEX_DESTROY(&mutex_); }
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;

    void lock() { STARPU_PTHREAD_MUTEX_LOCK(&mutex_); }
    void unlock() { STARPU_PTHREAD_MUTEX_UNLOCK(&mutex_); }

  private:
    friend class Condition;
    starpu_pthread_mutex_t mutex_;
};

using Lock = std::unique_lock<Mutex>;

class Condition {
  public:
    Condition() { STARPU_PTHREAD_COND_INIT(&condition_, NULL); }
    ~Condition() { STARPU_PTHREAD_COND_DESTROY(&condition_); }
    Condition(const Condition&) = delete;
    Condition& operator=(const Condition&) = delete;

    void notify_one() { STARPU_PTHREAD_COND_SIGNAL(&condition_); }
    void notify_all() { STARPU_PTHREAD_COND_BROADCAST(&condition_); }
    /// Until it is notified, or for no reason.
    void wait(Lock& lock) { STARPU_PTHREAD_COND_WAIT(&condition_, &lock.mutex()->mutex_); }
    /// Waits until `holds()`, which is asked under the lock.
    template <class Predicate>
    void wait(Lock& lock, Predicate&& holds) {
        while (!holds()) wait(lock);
    }

  private:
    starpu_pthread_cond_t condition_;
};

}  // namespace apportion
