// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The measured times of a processor for blocks of one kernel: what a profile file (profile_file.hpp) has of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace apportion {

struct ProfilePoint {
    static constexpr std::int64_t kMostUnits = std::int64_t{1} << 50;  ///< beyond it a number is a mistake

    std::int64_t units = 0;        ///< > 0
    double seconds = 0;            ///< > 0
    double ci_s = 0;               ///< half width of the confidence interval; 0: not known
    std::int64_t repetitions = 0;  ///< 0: not known
    /// Of its data's way to the processor, of its results' way back, and of both at once, while the data of all other
    /// devices travel in the same way; 0: not known.
    double in_s = 0, out_s = 0, both_s = 0;

    bool operator==(const ProfilePoint&) const = default;
};

struct ProcessorProfile {
    std::string name;
    std::vector<ProfilePoint> points;  ///< by ascending units, no two alike

    bool operator==(const ProcessorProfile&) const = default;
};

/// Those of several processors. They are long: copies share them.
class Profiles {
  public:
    Profiles() : Profiles(std::vector<ProcessorProfile>{}) {}
    Profiles(std::vector<ProcessorProfile> profiles)
        : shared_(std::make_shared<const std::vector<ProcessorProfile>>(std::move(profiles))) {}

    operator const std::vector<ProcessorProfile>&() const { return *shared_; }
    const ProcessorProfile& operator[](std::size_t index) const { return (*shared_)[index]; }
    std::size_t size() const { return shared_->size(); }
    bool empty() const { return shared_->empty(); }
    auto begin() const { return shared_->begin(); }
    auto end() const { return shared_->end(); }
    bool operator==(const Profiles& other) const { return shared_ == other.shared_ || *shared_ == *other.shared_; }

  private:
    std::shared_ptr<const std::vector<ProcessorProfile>> shared_;
};

}  // namespace apportion
