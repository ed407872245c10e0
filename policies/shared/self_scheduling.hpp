// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The self-scheduling family of parallel loops (gss, tss, fac2, awf-c, af): an idle processor takes the next block of
// what is left, and a law gives its size. The iterations of the law are granules; its P are the processors that are
// not lost.
//
// Read as in LB4OMP and DLS4LB, the families' libraries of today (github.com/unibas-dmi-hpc): a law that measures
// begins with a block of the smallest size that the user allows, here the initial block, on a processor without a
// measurement. No law knows memories: a block that does not fit is cut, and the rest of it is for the next processor.
#pragma once

#include <vector>

#include "policies/policy.hpp"

namespace apportion {

class SelfScheduling : public Policy {
  public:
    void begin(const LoadDescription& load) final;
    Units next_block(int processor, double now_s, const Progress& progress) final;
    void processor_lost(int processor) final { set_lost(processor, true); }
    void processor_is_back(int processor) final { set_lost(processor, false); }

  protected:
    /// A loop begins; `same_processors`: on the processors of the loop before.
    virtual void begin_loop(bool same_processors) = 0;
    /// The law: granules of the next block for the processor when so many are left. Less than 1 counts as 1.
    virtual Units chunk(int processor, Units left) = 0;

    Units processors() const { return processors_; }  ///< P; 1 when all are lost
    std::size_t all_processors() const { return lost_.size(); }
    bool lost(std::size_t processor) const { return lost_[processor]; }
    Units initial_chunk() const { return initial_chunk_; }  ///< granules
    Units granularity() const { return granularity_; }

    /// The next whole number of granules, at most `most`; 0 for what is not a positive number.
    static Units rounded_up(double granules, Units most);

  private:
    std::vector<Processor> of_load_;
    void set_lost(int processor, bool lost);

    std::vector<bool> lost_;
    Units processors_ = 1;
    Units granularity_ = 1;
    Units initial_chunk_ = 1;
};

}  // namespace apportion
