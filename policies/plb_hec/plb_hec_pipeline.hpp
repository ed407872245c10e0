// SPDX-License-Identifier: LGPL-2.1-or-later
//
// E(y): seconds in which a processor gets through a share of y units as k equal blocks, transfers included, for the
// best k (PLB-HeC, section III.C, eq. 5, has k = 1 and no overlap):
//
//     one block at a time      k (In + F + Out)(x)                    x = y / k <= memory
//                              k (In(x) + F(x)) + Out(x)              x = y / k <= memory / 2
//     two blocks in flight     In(x) + k max(F, In, Out)(x) + Out(x)  x = y / k <= memory / 4
//                              In(x) + k max(F, In + Out)(x) + Out(x) x = y / k <= memory / 2
//
// Beside blocks in flight that fill the memory there is no room for results on their way home
// (engine/device_memory.hpp), so that nothing comes before these have left. The smallest E decides.
#pragma once

#include <span>

#include "models/fitted_curve.hpp"
#include "models/transfer.hpp"
#include "policies/planners/continuous/equal_finish.hpp"
#include "policies/policy.hpp"

namespace apportion {

class PipelineTime final : public ShareTime {
  public:
    struct Blocks {
        double count = 1;
        bool overlapped = false;
        double largest = 0;  ///< units of a block in this way of working
    };

    PipelineTime(const FittedCurve& kernel, const TransferLine& in, const TransferLine& out,
                 const Processor& processor);
    /// A kernel of which only a guess is known: a line.
    PipelineTime(double fixed_s, double seconds_per_unit, const TransferLine& in, const TransferLine& out,
                 const Processor& processor);

    double seconds(double units) const override;
    double derivative(double units) const override;
    double second_derivative(double units) const override;

    Blocks blocks(double units) const;
    /// Of these blocks, one behind the other.
    double seconds_of(std::span<const Units> blocks) const;
    double kernel_seconds(double units) const;

    /// When the link and the processor are free of the blocks so far.
    struct Free {
        double link_s = 0, end_s = 0;
    };
    /// When a block in flight behind them begins, if it has not: its data follow theirs.
    double start_of(const BlockInFlight& block, const Free& free) const;
    /// With it; one that is late should end when it has been so for as long again.
    Free with(const BlockInFlight& block, const Free& free, double now_s) const;

    /// A block is in flight, so that the transfer into the next one is hidden.
    void follow(bool follows) { follows_ = follows, asked_units_ = -1; }

    /// Of the data of a share that fits its memory that part is there already; the rest comes as it was seen to, if it
    /// was. Counts in seconds(), not in derivatives.
    void stay(double part, const TransferLine& rest) { stays_ = part, rest_ = rest, asked_units_ = -1; }

    /// A block in flight takes longer than it should: so, for the time being, do all.
    void slow_down(double factor) { slowdown_ *= factor, asked_units_ = -1; }

    /// Makes E smooth for a solver: the number of blocks stays what is best for `units`.
    void fix_blocks(double units) { fixed_ = units > 0 ? blocks(units) : Blocks{}, is_fixed_ = units > 0; }
    void release_blocks() { is_fixed_ = false; }

  private:
    bool fills_memory(double block, bool overlapped) const;
    double both_ways(double in_s, double out_s, double block) const;
    double total(double units, const Blocks& blocks) const;
    double in_seconds(double units, bool stays) const;
    double out_seconds(double units, double travels) const;
    Blocks best_blocks(double units) const;

    const FittedCurve* kernel_ = nullptr;
    double guessed_fixed_s_ = 0, guessed_slope_s_ = 0;
    TransferLine in_, out_;
    bool own_memory_ = false;
    double memory_ = 0;
    bool follows_ = false;
    double stays_ = 0;
    TransferLine rest_;
    double slowdown_ = 1;
    bool is_fixed_ = false;
    Blocks fixed_;
    mutable double asked_units_ = -1;  ///< answer_ is for these: a solver asks for a time and its derivative in turn
    mutable Blocks answer_;
};

}  // namespace apportion
