// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A thread that looks at something from time to time while it is worth a look. Made of StarPU's threads, so that in
// the simulated flavour it sleeps in virtual time; while nothing is to be looked at it waits without a timer, and when
// it is destroyed while it sleeps it ends soon after, so that it keeps no simulation from ending.
#pragma once

#include <starpu.h>

#include <functional>
#include <memory>

namespace apportion {

class Watchdog {
  public:
    /// Gets the seconds by which the look comes too late; returns those until the next one, or 0: none until wake().
    using Look = std::function<double(double overslept_s)>;

    explicit Watchdog(Look look);
    ~Watchdog();  ///< `look` does not run any more
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    /// From now on there is something to look at, first in about `within_s`. Cheap when a look is due by then anyway.
    void wake(double within_s);

  private:
    struct State;

    static void* run(void* state);

    std::shared_ptr<State> state_;  ///< the thread's as well
    starpu_pthread_t thread_;
};

}  // namespace apportion
