// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A load of which one processor computes a block since its begin, while others are idle.
#pragma once

#include <span>
#include <vector>

#include "policies/policy.hpp"

namespace apportion::test {

class OneComputes final : public Progress {
  public:
    OneComputes(int processor, Units units, Units remaining)
        : processor_(processor), remaining_(remaining), block_{{.id = 1, .units = units, .given_s = 0, .begun_s = 0}} {}

    Units remaining() const override { return remaining_; }
    std::span<const BlockInFlight> in_flight(int processor) const override {
        return processor == processor_ ? std::span<const BlockInFlight>(block_) : std::span<const BlockInFlight>();
    }
    Units room(int) const override { return kNoLimit; }

  private:
    int processor_;
    Units remaining_;
    std::vector<BlockInFlight> block_;
};

}  // namespace apportion::test
