// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Any text as a data assignment instance: it is refused with a FileError, or the planners assign over it exactly, and
// none finishes before the bound or before the optimum.
#include <cstdint>
#include <cstdlib>
#include <sstream>

#include "policies/planners/assignment/data_assignment.hpp"
#include "policies/planners/assignment/instance_file.hpp"

using namespace apportion;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

void check_plan(const DataAssignment& problem, const Plan& plan) {
    if (!plan.failure.empty()) {
        require(plan.failure == why_impossible(problem));
        return;
    }
    Units sum = 0;
    for (const Units share : plan.shares) {
        require(share >= 0);
        sum += share;
    }
    require(sum == problem.packets);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
    try {
        DataAssignment problem = read_instance(in, "fuzz");
        for (const Network network : {Network::serial, Network::parallel})
            for (const Units packets : {0, 1, 37, 1000}) {
                problem.network = network;
                problem.packets = packets;
                const Plan optimal = plan_ilp(problem);
                check_plan(problem, optimal);
                for (const Plan& plan :
                     {plan_min_min_v1(problem), plan_min_min_v2(problem), plan_proportional(problem)}) {
                    check_plan(problem, plan);
                    require(plan.makespan_s >= optimal.makespan_s * (1 - 1e-9));
                }
                if (optimal.failure.empty()) require(relaxed_bound(problem) <= optimal.makespan_s * (1 + 1e-9));
            }
    } catch (const FileError& error) {
        require(std::string(error.what()).starts_with("fuzz:"));
    }
    return 0;
}
