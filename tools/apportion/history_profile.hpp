// SPDX-License-Identifier: LGPL-2.1-or-later
//
// StarPU's history models as profiles and back. A profile knows units, a history model footprints: a UnitsRule says how
// one follows from the other for the codelet in question.
//
//     footprint     the codelet's performance model has a `footprint` function that returns the number of units
//     size          one byte of the task's data is one unit
//     size:B        the task's data have B bytes per unit
//     size:B+S      and S bytes besides, common to all sizes
//     flops:F       the task says F operations per unit (import only)
//
// To be exported by a rule of `size`, the model must have a `size_base` function that returns those bytes, because then
// the footprint is a hash of them. Without either function it is a hash of the shapes of all data, which a profile does
// not tell.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "models/profile_file.hpp"
#include "tools/apportion/history_model.hpp"

namespace apportion {

class UnitsRule {
  public:
    /// Throws UserError that names the option --units-from.
    static UnitsRule parse(const std::string& text);

    /// Nothing when they are no whole number of units, at least 1.
    std::optional<std::int64_t> units(const HistoryEntry& entry) const;

    /// Footprint and bytes for a number of units; `hash` is StarPU's of a size in bytes. Throws UserError where the
    /// rule is for import only or a footprint does not hold so many units.
    HistoryEntry entry(std::int64_t units, const std::function<std::uint32_t(std::uint64_t)>& hash) const;

  private:
    enum class Source { footprint, bytes, flops };
    Source source_ = Source::footprint;
    double per_unit_ = 1;
    double besides_ = 0;
};

/// One processor per combination of devices: "CPU 0", "CUDA 1", "CPU 0 (4 cores)", joined by " + ". Of several
/// implementations the fastest counts at each size. What StarPU flushed is left out. Throws UserError with the
/// footprint when an entry has no whole number of units or two entries have the same.
Profile profile_of(const HistoryModel& model, const UnitsRule& rule);

/// The processors must be named as StarPU names workers ("CPU 0", "CUDA 0.0 (Tesla K40m 11.2 GiB)") or as above. CPU
/// cores are one architecture to StarPU: their times become one mean. StarPU trusts a mean of ten samples and more, so
/// points that were precise with fewer say ten. Throws UserError.
HistoryModel history_model_of(const Profile& profile, const UnitsRule& rule,
                              const std::function<std::uint32_t(std::uint64_t)>& hash);

}  // namespace apportion
