// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Dynamic data partitioning (FuPerMod, section 4): a balanced distribution without a full profile. Every processor runs
// its share of a distribution, n / p at first; the times refine partial models, with which the geometrical algorithm
// makes the next distribution, until the times are close. What was measured is a profile of a few points around it.
//
// Beyond the paper: points that are known already count, so that the search goes on where one was interrupted; it ends
// where a distribution comes again, because whole units come no nearer, and after 20 of them; a share that does not fit
// a processor bounds its later ones.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "tools/apportion/profile_measure.hpp"

namespace apportion {

using PartialTimes = std::map<Units, double>;  ///< of one processor: seconds of the sizes that are known

struct Balance {
    std::vector<Units> shares;  ///< of the distribution whose largest time is the smallest one
    double difference = 1;      ///< of its largest and smallest time, in parts of the largest; 1: none could be run
    int distributions = 0;      ///< that were run
    bool complete = true;       ///< false: stopped
};

/// `units` <= subject.most_units(); `within`: the difference that is close enough; `known`: per processor. The
/// watcher's `known` is not asked. Throws UserError where a processor cannot run its first share, or no distribution is
/// left.
Balance balance_profile(ProfileSubject& subject, Units units, double within, const MeasureOptions& options,
                        const MeasureWatcher& watcher, std::vector<PartialTimes> known);

}  // namespace apportion
