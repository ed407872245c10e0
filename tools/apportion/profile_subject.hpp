// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What `apportion profile` measures: a kernel on a set of processors that can run different numbers of units at the
// same time. The bundled workloads and a user's library are subjects; tests use one without a clock.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

/// The units do not fit one processor: that size is left out of its profile.
class DoesNotFit : public std::runtime_error {
  public:
    DoesNotFit(std::size_t processor, const std::string& what) : std::runtime_error(what), processor_(processor) {}
    std::size_t processor() const { return processor_; }

  private:
    std::size_t processor_;
};

/// Which data a unit has, and over which links they go to the processors.
struct Transfers {
    std::size_t bytes_in = 0, bytes_out = 0;  ///< of a unit
    std::vector<unsigned> memories;           ///< of each processor the number of its memory; 0: main memory
    std::function<double(unsigned memory, std::size_t bytes)>
        one_way_s;  ///< half of what a message takes there and back
};

class ProfileSubject {
  public:
    virtual ~ProfileSubject() = default;

    const std::string& kernel() const { return kernel_; }
    const std::string& load() const { return load_; }  ///< the name under which programs look for its profile
    const std::string& unit() const { return unit_; }
    std::span<const std::string> processors() const { return processors_; }  ///< those to be measured
    Units most_units() const { return most_units_; }                         ///< that one run can have altogether
    Units granularity() const { return granularity_; }

    /// Runs units[i] units (0: none) on processor i, all beginning at the same time, and returns each one's seconds
    /// (0 where none). The sum is at most most_units(). Throws DoesNotFit, or UserError for a kernel that fails.
    virtual std::vector<double> run(std::span<const Units> units) = 0;

    /// Nothing where that is not known; `one_way_s` must not outlive the subject.
    virtual std::optional<Transfers> transfers() { return {}; }

  protected:
    std::string kernel_, load_, unit_ = "unit";
    std::vector<std::string> processors_;
    Units most_units_ = kNoLimit;
    Units granularity_ = 1;
};

}  // namespace apportion
