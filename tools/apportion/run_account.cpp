// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/run_account.hpp"

#include <algorithm>

namespace apportion {

namespace {

using Json = nlohmann::json;

ProcessorAccount totals_of(const Json& processor, double makespan_s) {
    ProcessorAccount account;
    account.name = processor.at("name");
    account.kind = processor.at("kind");
    account.units = processor.at("units");
    account.blocks = processor.at("blocks");
    account.compute_s = processor.at("compute_seconds");
    account.transfer_s = processor.at("transfer_wait_seconds");
    account.end_s = std::max(0.0, makespan_s - account.compute_s - account.transfer_s);
    account.last_s = account.units > 0 ? account.compute_s + account.transfer_s : 0;
    return account;
}

/// Goes through a processor's blocks in time.
void follow_blocks(ProcessorAccount& account, const std::vector<const Json*>& blocks, double makespan_s,
                   double probing_s) {
    account.compute_s = account.transfer_s = account.last_s = 0;
    double now_s = 0;
    const auto until = [&](double moment_s, double& entry) {
        moment_s = std::min(moment_s, makespan_s);
        if (moment_s <= now_s) return;
        entry += moment_s - now_s;
        now_s = moment_s;
    };
    for (const Json* block : blocks) {
        const double given_s = block->at("given"), start_s = block->at("start"), end_s = block->at("end");
        until(std::min(given_s, probing_s), account.models_s);
        until(given_s, account.policy_s);
        until(start_s, account.transfer_s);
        until(end_s, block->value("given_back", false) ? account.copies_s : account.compute_s);
        if (!block->value("given_back", false))
            account.last_s = std::max(account.last_s, std::min(block->at("home").get<double>(), makespan_s));
    }
    if (account.last_s > 0) until(account.last_s, account.home_s);
    account.end_s = 0;
    until(makespan_s, account.end_s);
}

}  // namespace

RunAccount account_of(const Json& report) {
    RunAccount account;
    account.makespan_s = report.at("makespan_seconds");
    for (const Json& processor : report.at("processors"))
        account.processors.push_back(totals_of(processor, account.makespan_s));
    const Json trace = report.value("trace", Json::array());
    account.has_blocks = !trace.empty();
    if (account.has_blocks) {
        const double probing_s = report.value("probing_seconds", 0.0);
        std::vector<std::vector<const Json*>> blocks(account.processors.size());
        for (const Json& block : trace) blocks[block.at("processor").get<std::size_t>()].push_back(&block);
        for (std::size_t p = 0; p < blocks.size(); ++p) {
            std::ranges::stable_sort(blocks[p], {}, [](const Json* block) { return block->at("start").get<double>(); });
            follow_blocks(account.processors[p], blocks[p], account.makespan_s, probing_s);
        }
    }
    const auto last = std::ranges::max_element(account.processors, {}, &ProcessorAccount::last_s);
    account.binding = static_cast<std::size_t>(last - account.processors.begin());
    return account;
}

}  // namespace apportion
