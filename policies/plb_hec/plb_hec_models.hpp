// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What plb-hec knows about the processors: measured blocks, the fitted curve F of the kernel and the lines of the
// transfers, in and out. Kept from one run of a load to the next while the processors stay the same.
//
// Two things the paper does not have, and that plb-hec-published does without:
//  - processors of one kind share their samples while these agree, so that nine cores learn in one round what each
//    would learn in nine; a first block that does not agree is believed when the second says the same, or the first
//    of another one of the kind. Who deviates from its kind to one side, in its latest blocks or in what earlier
//    processes learnt, shares no more where a curve of its own says something else than its kind's, by more than its
//    blocks scatter: what StarPU takes for one kind may be fast and slow cores;
//  - a block that took much longer or shorter than the model says, within the measured range, is set aside as a spike;
//    when the next one of the processor says the same, it was a change: what its blocks took before, it takes that much
//    longer for now, and it no longer shares those of its kind. How much is much, the processor's latest blocks tell:
//    where times vary, all blocks count.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "models/fitted_curve.hpp"
#include "models/transfer.hpp"
#include "policies/policy.hpp"

namespace apportion {

/// What became of a measured block.
enum class SampleVerdict { used, spike, changed };

class PlbHecModels {
  public:
    /// Keeps everything when the processors are the same as before, and begins with what is learnt otherwise; returns
    /// whether all have a curve then.
    bool begin(const LoadDescription& load);

    SampleVerdict add(const FinishedBlock& block);
    void add_return(const ReturnedBlock& block);

    /// nullptr until the processor, or one of its kind that it is thought to agree with, finished a block.
    const FittedCurve* curve(int processor) const;
    /// Whether it has finished a block itself, and what that took is believed.
    bool measured(int processor) const { return !at(processor).samples.empty(); }
    /// Seconds that such a block takes at most by those that it ran itself (TimeBounds); infinite: it ran none.
    double at_most_s(int processor, Units units) const;
    /// That of another processor of its kind which has run blocks of different sizes; nullptr: there is none.
    const FittedCurve* curve_of_kind(int processor) const;
    /// Whether its curve rests on blocks of different sizes, so that fixed costs are told from the rest. A core's that
    /// took the same tell none: there may be steps of tiles. (A device's do; it may have much of them.)
    bool sizes_differ(int processor) const;
    /// Whether what it computed tells what larger blocks take: two sizes do, unless the larger one took no longer, and
    /// longer than its data travel.
    bool tells_larger(int processor) const;
    bool complete() const;  ///< every processor has a curve
    /// Whether what earlier processes learnt of it has not been seen to be right yet: by the first blocks, that is.
    bool to_be_checked(int processor) const { return at(processor).unchecked; }
    bool suspected(int processor) const { return at(processor).suspect.has_value(); }
    /// Seconds that so many units would take at most if its latest block in this run were no spike; 0: it is not
    /// suspected. In the next run it is worth another try.
    double suspected_s(int processor, double units) const;
    /// Whether its blocks tell what smaller ones take (FinishedBlock::half_busy_s), as those of nodes do.
    bool tells_fixed_costs(int processor) const { return told_fixed_s(processor).has_value(); }
    /// Of its blocks that are remembered; fixed costs are no more.
    double shortest_s(int processor) const;
    /// The least that these told: a node that becomes slower within a block looks as if it had much of them.
    std::optional<double> told_fixed_s(int processor) const { return at(processor).told_fixed_s; }

    const TransferLine& in(int processor) const { return at(processor).in; }
    /// Of what does not stay, into blocks whose other data stayed.
    const TransferLine& in_beside_staying(int processor) const { return at(processor).in_beside_staying; }
    /// As the way in, until results have come back.
    const TransferLine& out(int processor) const {
        const Entry& its = at(processor);
        return its.out.samples() > 0 ? its.out : its.in;
    }

    void report(PolicyReport& report) const;

  private:
    static constexpr int kEnough = 4;           ///< blocks that tell a processor from its kind: their curve
    static constexpr double kDifference = 0.1;  ///< deviates by more than that,
    static constexpr double kSurely = 5;        ///< and by so many times what they scatter
    static double deviation(double measured_s, double expected_s) {
        return std::max(measured_s / expected_s, expected_s / measured_s) - 1;
    }
    /// Samples of one processor or of those of a kind that agree.
    struct Group {
        std::optional<FittedCurve> curve;
        std::size_t fitted_with = 0;  ///< samples there were at the last fit
    };
    struct Entry {
        Processor processor;
        std::deque<BlockTime> samples;
        std::optional<BlockTime> suspect;  ///< a spike unless the next block confirms it
        bool suspected_in_run = false;     ///< since a block of this run
        std::deque<double> deviations{};   ///< of the last blocks: logarithms of their time over what the curve said
        bool unchecked = false;            ///< its curve rests on what earlier processes learnt alone
        std::optional<double> told_fixed_s{};  ///< by a block of its samples (FinishedBlock::half_busy_s)
        bool pooled = false;                   ///< shares with others of its kind that are pooled
        double last_start_s = 0;
        TransferLine in, in_beside_staying, out;
        Group own;
    };

    Entry& at(int processor) { return entries_[static_cast<std::size_t>(processor)]; }
    const Entry& at(int processor) const { return entries_[static_cast<std::size_t>(processor)]; }
    void restore(const std::vector<ProcessorProfile>& learnt);
    void refit_all();
    void add_transfer(Entry& entry, const FinishedBlock& block);
    const FittedCurve* contradicted(int processor, const BlockTime& sample);
    void add_told_half(Entry& entry, const BlockTime& sample, double half_s);
    std::optional<bool> agrees_with_kind(const Entry& entry, const BlockTime& sample) const;
    bool kind_tells_fixed_costs(const Entry& entry) const;
    bool counts(const Entry& entry) const;
    bool is_as_before(const Entry& entry, const BlockTime& sample) const;
    bool is_strange(const Entry& entry, const FittedCurve& curve, const BlockTime& sample) const;
    double tolerance(const Entry& entry) const;
    void tell_apart(const std::function<bool(const Entry&)>& suspected);
    bool differs_from_kind(const Entry& entry) const;
    double off_its_kind(const Entry& entry, const std::optional<FittedCurve>& own) const;
    bool confirmed_by_kind(const Entry& entry, const BlockTime& sample);
    void leave_kind(Entry& entry);
    void change(Entry& entry, const FittedCurve& curve, const BlockTime& sample);
    void forget_oldest(Entry& entry);
    bool deviates(const Entry& entry, const FittedCurve& curve, const BlockTime& sample) const;
    bool worth_a_fit(const Group& group, std::size_t samples, const BlockTime& latest) const;
    std::optional<std::size_t> spike_among(const std::vector<BlockTime>& samples, const FittedCurve& curve,
                                           double tolerance) const;
    void refit(Entry& entry);

    std::vector<Entry> entries_;
    std::map<int, std::vector<std::size_t>> of_kind_;  ///< entries, ascending
    std::map<int, Group> kinds_;
    int discarded_ = 0;
};

}  // namespace apportion
