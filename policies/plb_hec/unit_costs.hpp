// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What units cost by their place in the load, relative to each other, as the runs before tell: what each block took
// over what its processor takes for as many average units. Either is known only with the other: processors by
// neighbouring blocks in the first run, and by what the runs before tell of their units in every other one.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

class UnitCosts {
  public:
    /// Another load, of which nothing is known. Of an open one nothing will be.
    void reset(const LoadDescription& load);

    /// As earlier processes learnt them, for this load. Returns whether units are unlike by that.
    bool begin_as_learnt(const LearntUnitCosts& learnt);
    /// Without what processors took.
    LearntUnitCosts learnt() const;

    /// `promised_s`: what it takes at most by the blocks that its processor ran before, if units are alike; 0 or
    /// infinite: nothing is known. (What others of its kind took promises nothing: they may be faster.)
    void finished(int processor, Units first, Units units, double seconds, double promised_s);

    /// A run has ended, and tells about the next one. Returns whether units are unlike: blocks took by half more or
    /// less than their sizes say now, or more than they did before, or units were `found` to be unlike; and their
    /// places say it better, once a run before tells these. What varies by chance no run tells of another.
    /// `by_size_s`: what such a block should take; 0: unknown.
    bool conclude(bool found, const std::function<double(int processor, Units units)>& by_size_s);

    /// Its blocks, those of the last run in full.
    const BlockSums& of_processor(std::size_t processor) const { return of_processor_[processor]; }
    bool known() const { return !pieces_.empty(); }
    /// What these units cost, in average ones; as many as they are while nothing is known.
    double work(Units first, Units units) const;
    /// How many units from `first` on, or before `end`, cost so much together; at most all.
    double units_from(Units first, double work) const;
    double units_before(Units end, double work) const;

  private:
    struct BlockOfRun {
        int processor;
        Units first, units;
        double seconds, promised_s;
    };
    /// Up to the next one.
    struct Piece {
        Units first;
        double cost;         ///< of a unit
        double work_before;  ///< of all units up to here
    };
    double work_until(Units unit) const;
    double unit_at(double work) const;
    double unit_s(int processor) const;
    void learn_speeds();
    std::vector<double> told_by_neighbours(const std::vector<double>& of_blocks, double blocks) const;
    std::vector<double> speeds_by_neighbours() const;
    bool places_differ() const;
    /// `units_s`: what an average unit takes each processor.
    void learn_costs(const std::vector<double>& units_s);
    void set(std::vector<Piece> pieces);

    Units units_ = 0;
    bool open_ = false;
    std::vector<BlockOfRun> blocks_;  ///< of this run
    std::vector<int> kinds_;          ///< of processors
    std::vector<BlockSums> of_processor_;
    std::map<int, BlockSums> of_kind_;
    std::vector<Piece> pieces_;
};

}  // namespace apportion
