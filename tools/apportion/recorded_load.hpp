// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The load of a report as planners see it, and what a recorded profile says about it.
#pragma once

#include <map>
#include <string>

#include "policies/policy.hpp"
#include "policies/starpu/machine.hpp"
#include "policies/starpu/profile_store.hpp"
#include "tools/apportion/run_report.hpp"

namespace apportion {

/// What the load of that report would look for. Processors of one model are of one kind.
ProfileRequest profile_request(const RunReport& report);

/// Makespans that the policies are predicted to have for the load of the report, from the profile that it was planned
/// from, or else the one recorded for it on this machine. Links are thought to cost nothing. Empty without a profile.
std::map<std::string, double> predicted_makespans(const RunReport& report);

}  // namespace apportion
