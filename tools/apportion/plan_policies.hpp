// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `apportion plan --policies`: how long the load would take under each policy, which gives the same blocks as in
// earnest, with what each costs and with the transfers that the profile has.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "policies/policy.hpp"

namespace apportion {

/// The load of the profile's processors. Those with transfers have a memory of their own; those with the same times are
/// of one kind. `maximum_units`: of the processors' memories, or empty.
LoadDescription load_of_profile(const Profile& profile, Units units, Units granularity,
                                const std::vector<Units>& maximum_units);

/// Seconds by policies' names, of those that can run it with these recorded times.
std::map<std::string, double> policy_makespans(const LoadDescription& load);

/// The policies that are named, "all" for all. Throws UserError: there is no such policy, or none of them can run it.
std::string policies_table(const LoadDescription& load, const std::vector<std::string>& names);
std::string policies_json(const LoadDescription& load, const std::vector<std::string>& names);

}  // namespace apportion
