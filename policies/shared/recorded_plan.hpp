// SPDX-License-Identifier: LGPL-2.1-or-later
//
// From a recorded profile to what the static policies plan with: the seconds in which a processor gets through a whole
// share, transfers included, as so many blocks as are best (its best-time curve).
//
// Kernel time F(x) of a block of x units: the recorded points. A processor's sizes are *fine* where they contain at
// least half of the multiples of the step that covers most of their range, and where half a step is a smaller part of
// the processor's share, at the highest speeds, than the mean error of interpolating a time between such multiples
// (where none is recorded, any time) from its neighbours; then only recorded sizes are used. Otherwise they are
// *sparse*, and seconds are interpolated linearly between neighbours; below the smallest size fixed costs stay
// (models/speed_points.hpp, LineBelow). A size that another processor has and this one has not, between its own, is a
// hole: nothing is interpolated across it. No block is larger than the largest recorded size.
//
// Transfers In(x), Out(x) and Both(x): latency and seconds per unit of the link in each direction and in both at once,
// as they were recorded beside the kernel's times, while other devices' data travelled as well, or as the runtime knows
// them (block_costs.hpp, recorded_links). A share of y units is cut into k blocks that differ by one granule at most.
// With S = max(In, Out, Both), and H = S - max(In, Out), by which one direction holds the other up, their time is
//
//     main memory              sum of F
//     one block at a time      In + F + sum over the others of (In + H + F) + Out               x <= memory
//     two blocks in flight     In + max(sum of F,
//                                       F + sum over the others of max(F, S) - min(F, H)) + Out x <= 2 buffers of it
//
// and k is the best of: the fewest blocks that memory and the profile allow, a few more, multiples of it, and the
// number that makes blocks as large as the size of the highest recorded speed. One block more has to gain what the
// runtime needs for a block, and is not smaller than the smallest recorded size.
//
// Shares are planned in steps: the granularity (where all processors' sizes are fine: what divides their steps) times
// the smallest number that makes at most 2048 steps of the load; a number that divides the load is preferred. What is
// no whole step is added to the share that ends first with it. Shares that even at the highest speed take longer than a
// plan that is known are left out.
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "models/speed_points.hpp"
#include "policies/planners/planner.hpp"
#include "policies/shared/block_runs.hpp"

namespace apportion {

inline constexpr Units kMostSteps = 2048;  ///< of a load

/// How one processor runs a share.
struct ShareRun {
    double seconds = std::numeric_limits<double>::infinity();  ///< infinite: it cannot
    double kernel_s = 0;                                       ///< of these, the kernels'
    Units blocks = 0;
    bool overlapped = false;  ///< two blocks in flight
};

/// The sizes that a profile's processors have, together.
struct RecordedSizes {
    std::vector<Units> all;    ///< of any processor, ascending
    std::vector<Units> steps;  ///< of each processor: blocks are multiples of it; of sparse ones it is the granularity
    std::vector<bool> fine;    ///< of each processor
    Units step = 1;            ///< divides all these
    Units common = 1;          ///< divides those of fine processors: the rest of a load may be for none of these
    Units most = kNoLimit;     ///< units of the load: a block that is rounded up to a granule has no more
    Units granularity = 1;
};

RecordedSizes recorded_sizes(const LoadDescription& load);

/// The same, if all were sparse.
RecordedSizes interpolated_sizes(const LoadDescription& load);

/// The kernel and share times of one processor. Cheap to copy.
class ShareTimes {
  public:
    /// Of the load's processor `p`.
    ShareTimes(const LoadDescription& load, std::size_t p, const RecordedSizes& sizes);

    /// F(x); infinite where the size is not usable. O(log points).
    double kernel_seconds(Units units) const;

    /// The best way to run a share; 0 units take no time.
    ShareRun best(Units share) const;

    /// Its blocks, as many as best(share).blocks; sum: the share.
    BlockRuns blocks(Units share) const;

    /// Units per second, of any recorded size: no share is faster. O(points).
    double highest_speed() const;

    /// Nothing tells the two apart.
    bool same_as(const ShareTimes& other) const;

    /// For shares that cannot be run at recorded sizes: the same, interpolating, also across holes.
    ShareTimes without_holes() const;

  private:
    struct Point {
        Units units = 0;
        double seconds = 0;
        bool hole_before = false;  ///< sizes between the point before and this one are not usable
        bool operator==(const Point&) const = default;
    };
    ShareRun run(Units share, Units count, bool overlapped) const;
    void consider(ShareRun& best, double& best_cost, Units share, Units count, bool overlapped) const;
    void consider_all(ShareRun& best, double& best_cost, Units share, bool overlapped) const;
    Units largest(bool overlapped) const;
    Units fastest_size(bool overlapped) const;
    double in_s(Units units) const { return own_memory_ ? link_.in.seconds(units) : 0; }
    double out_s(Units units) const { return own_memory_ ? link_.out.seconds(units) : 0; }
    double streaming_s(Units units) const { return own_memory_ ? link_.streaming_s(units) : 0; }
    double held_up_s(Units units) const { return own_memory_ ? link_.held_up_s(units) : 0; }
    /// Of a block among others.
    double step_s(Units units, double kernel_s, bool overlapped) const;

    std::shared_ptr<const std::vector<Point>> points_;
    LineBelow below_;
    Units step_ = 1;
    bool exact_ = false;
    Units granularity_ = 1;
    bool own_memory_ = false;
    Units memory_ = kNoLimit;
    Units most_ = kNoLimit;  ///< units of the load
    Units largest_ = 0;      ///< block that the profile allows
    LoadDescription::Link link_;
    Units fastest_[2] = {0, 0};  ///< of one block at a time, and overlapped
};

/// The processors of a load and the part of it that is to be planned.
struct RecordedProblem {
    const LoadDescription* load = nullptr;
    std::span<const ShareTimes> times;  ///< per processor
    std::vector<double> busy_s;         ///< per processor: seconds until it is free
    std::vector<bool> lost;             ///< per processor: it gets nothing
    PlanProblem shares;                 ///< units: whole steps; seconds: busy_s and the best time
    Units granules_left = 0;            ///< units beside the whole steps, a multiple of the granularity
};

/// `units` of the load for the processors that are not lost.
RecordedProblem recorded_problem(const LoadDescription& load, std::span<const ShareTimes> times,
                                 const RecordedSizes& sizes, Units units, std::vector<double> busy_s,
                                 std::vector<bool> lost);

/// Planned shares, with what is missing from the units added, piece by piece, where it ends first. Sum: the units,
/// rounded up to granules, unless no processor is there.
std::vector<Units> complete_shares(const RecordedProblem& problem, std::vector<Units> shares);

/// How a processor runs a share, and its blocks: at usable sizes if there is a way, across holes otherwise. Where the
/// profile admits none, as one block, for which memory is the only limit.
ShareRun run_of(const ShareTimes& times, Units share);
BlockRuns blocks_of(const ShareTimes& times, Units share);

/// Seconds until a processor that may be busy is through with a share.
double share_seconds(const RecordedProblem& problem, std::size_t processor, Units share);

}  // namespace apportion
