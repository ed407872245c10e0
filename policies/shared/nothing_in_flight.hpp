// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The progress of a load of which nothing is computed yet, for plans of what is to come.
#pragma once

#include "policies/policy.hpp"

namespace apportion {

class NothingInFlight final : public Progress {
  public:
    explicit NothingInFlight(Units remaining) : remaining_(remaining) {}
    Units remaining() const override { return remaining_; }
    std::span<const BlockInFlight> in_flight(int) const override { return {}; }
    Units room(int) const override { return kNoLimit; }
    void take(Units units) { remaining_ -= units; }

  private:
    Units remaining_;
};

}  // namespace apportion
