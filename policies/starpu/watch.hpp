// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Wakes runs at moments they name: one thread per process for all of them, and none once the last moment is past. In
// the simulated flavour it sleeps in virtual time.
#pragma once

#include <memory>

namespace apportion {

class Watched {
  public:
    /// `at_us`: the moment that was asked for.
    virtual void look(double at_us) noexcept = 0;

  protected:
    ~Watched() = default;
};

/// Lets it look once at about `at_us` by StarPU's clock, unless it is gone then. False: there is no thread for that.
bool wake_at(const std::weak_ptr<Watched>& watched, double at_us) noexcept;

/// How long the program was stopped in all, as far as the watch saw it. What is late by a clock without this time is
/// not late because somebody stopped the program.
double stood_still_us() noexcept;

/// StarPU's clock, as if it had stood still with the program.
double running_us() noexcept;

}  // namespace apportion
