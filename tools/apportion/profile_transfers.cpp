// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <set>

#include "policies/policy.hpp"
#include "tools/apportion/profile_measure.hpp"

namespace apportion {

namespace {

constexpr int kRepetitions = 5;
constexpr std::size_t kMessage = std::size_t{4} << 20;  // bytes, of which latencies are a small part

/// Medians of journeys that begin together, of each of the memories.
std::vector<double> median_journeys(const Transfers& transfers, std::span<const unsigned> memories, std::size_t in,
                                    std::size_t out) {
    const std::vector<std::vector<double>> times = transfers.journeys_s(memories, in, out, kRepetitions);
    std::vector<double> medians;
    for (std::size_t m = 0; m < memories.size(); ++m) {
        std::vector<double> seconds;
        for (const std::vector<double>& all : times) seconds.push_back(all[m]);
        medians.push_back(median(std::move(seconds)));
    }
    return medians;
}

}  // namespace

std::map<unsigned, TransferTimes> measure_transfers(const Transfers& transfers, const std::function<bool()>& stop) {
    std::map<unsigned, TransferTimes> times;
    std::set<unsigned> all(transfers.memories.begin(), transfers.memories.end());
    all.erase(0);
    const std::vector<unsigned> memories(all.begin(), all.end());
    const std::size_t in = transfers.bytes_in, out = transfers.bytes_out;
    if (in + out == 0 || memories.empty()) return times;
    const std::size_t many = std::max<std::size_t>(quotient_up(kMessage, static_cast<Units>(std::max(in, out))), 2);
    for (const std::size_t units : {std::size_t{1}, many}) {
        if (stop()) return {};
        const auto add = [&](TransferLine TransferTimes::*line, std::size_t bytes_in, std::size_t bytes_out) {
            if (bytes_in + bytes_out == 0) return;
            const std::vector<double> seconds = median_journeys(transfers, memories, bytes_in, bytes_out);
            for (std::size_t m = 0; m < memories.size(); ++m)
                (times[memories[m]].*line).add(static_cast<double>(units), seconds[m]);
        };
        add(&TransferTimes::in, units * in, 0);
        add(&TransferTimes::out, 0, units * out);
        add(&TransferTimes::both, units * in, units * out);
    }
    return times;
}

void TransferTimes::add_to(ProfilePoint& point) const {
    const auto seconds = [&](const TransferLine& line) {
        return line.samples() > 0 ? line.seconds(static_cast<double>(point.units)) : 0;
    };
    point.in_s = seconds(in), point.out_s = seconds(out), point.both_s = seconds(both);
}

}  // namespace apportion
