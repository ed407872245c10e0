// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Wakes runs at moments they name: one thread per process for all of them, and none while nothing runs. In the
// simulated flavour it sleeps in virtual time.
#pragma once

#include <memory>

namespace apportion {

/// What can be woken.
class Watched {
  public:
    virtual ~Watched() = default;
    /// Called once at about the moment; `overslept_s`: so much too late.
    virtual void look(double overslept_s) noexcept = 0;
};

/// Wakes it at `at_us` by StarPU's clock, unless it is gone then. False: there is no thread for that.
bool wake_at(const std::weak_ptr<Watched>& whom, double at_us) noexcept;

}  // namespace apportion
