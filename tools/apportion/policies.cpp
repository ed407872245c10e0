// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `apportion policies`: what STARPU_SCHED can be, and what each policy needs; for scripts, which name no policies of
// their own, as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "codelets/io/terminal.hpp"
#include "policies/policy.hpp"
#include "tools/apportion/command.hpp"

namespace apportion {

namespace {

const char* name_of(ProfileUse use) {
    return use == ProfileUse::none ? "none" : use == ProfileUse::optional ? "optional" : "required";
}

void print_json() {
    nlohmann::ordered_json policies = nlohmann::ordered_json::array();
    for (const PolicyEntry& entry : registered_policies())
        policies.push_back({{"name", entry.name},
                            {"description", entry.description},
                            {"profile", name_of(entry.profile)},
                            {"identical_processors", entry.identical_processors},
                            {"fixed_blocks", entry.fixed_blocks}});
    std::cout << nlohmann::ordered_json{{"policies", policies}, {"schedulers", compared_schedulers()}}.dump() << '\n';
}

void print_table() {
    const auto line = [](const std::string& text) { std::cout << output_line(text); };
    line(fmt::format("{:<21}  {:<8}  {}", "policy", "profile", "description"));
    for (const PolicyEntry& entry : registered_policies())
        line(fmt::format("{:<21}  {:<8}  {}", entry.name,
                         entry.profile == ProfileUse::none ? "" : name_of(entry.profile), entry.description));
    line(fmt::format("StarPU's schedulers to compare with: {}", fmt::join(compared_schedulers(), ", ")));
}

}  // namespace

void add_policies(CLI::App& app, std::function<int()>& run) {
    CLI::App* sub = app.add_subcommand("policies", "List the policies, and which of them plan from a profile");
    auto json = std::make_shared<bool>(false);
    sub->add_flag("--json", *json, "print all that is known of them as one JSON object");
    sub->callback([json, &run] {
        run = [json] {
            *json ? print_json() : print_table();
            return 0;
        };
    });
}

}  // namespace apportion
