// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What earlier processes learnt, as models of this one; and which processors, by what they and others learnt, are
// unlike their kind.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "policies/plb_hec/plb_hec_models.hpp"

namespace apportion {

/// By how much its kind's curve is off one of its own, at a size that it ran. Its times do not tell: a curve through
/// large blocks of one and small ones of another fits most of both.
double PlbHecModels::off_its_kind(const Entry& entry, const std::optional<FittedCurve>& own) const {
    if (!own || !entry.pooled || entry.samples.size() < kEnough) return 0;
    const FittedCurve& of_kind = *kinds_.at(entry.processor.kind).curve;
    double most = 0;
    for (const BlockTime& sample : entry.samples)
        most = std::max(most, deviation(of_kind.seconds(sample.units), own->seconds(sample.units)));
    return most;
}

/// As if the processors had run these blocks, those that agree fitted together.
void PlbHecModels::restore(const std::vector<ProcessorProfile>& learnt) {
    for (std::size_t p = 0; p < entries_.size(); ++p) {
        Entry& entry = entries_[p];
        for (const ProfilePoint& point : learnt[p].points) {
            const auto units = static_cast<double>(point.units);
            entry.samples.push_back({units, point.seconds});
            if (point.in_s > 0) entry.in.add(units, point.in_s);
            if (point.out_s > 0) entry.out.add(units, point.out_s);
        }
        if (entry.samples.empty()) continue;
        entry.pooled = std::ranges::all_of(
            entry.samples, [&](const BlockTime& sample) { return agrees_with_kind(entry, sample).value_or(true); });
        if (!entry.pooled && entry.samples.size() == 1) {
            entry.suspect = entry.samples.front();
            entry.samples.clear();
        }
    }
    refit_all();
    tell_apart([](const Entry&) { return true; });
    for (Entry& entry : entries_) entry.unchecked = true;
}

/// Of those that are suspected, the one leaves its kind first that is farthest off.
void PlbHecModels::tell_apart(const std::function<bool(const Entry&)>& suspected) {
    std::vector<std::optional<FittedCurve>> own(entries_.size());
    std::map<int, double> scatter;  // of few blocks it may be little by chance, but not of all of a kind
    for (;;) {
        for (std::size_t p = 0; p < entries_.size(); ++p) {
            const Entry& entry = entries_[p];
            if (!entry.pooled || own[p] || !suspected(entry)) continue;
            own[p] = FittedCurve::fit(std::vector<BlockTime>(entry.samples.begin(), entry.samples.end()));
            double& of_kind = scatter[entry.processor.kind];
            if (own[p]) of_kind = std::max(of_kind, own[p]->relative_error());
        }
        double most = 0;
        Entry* other = nullptr;
        for (std::size_t p = 0; p < entries_.size(); ++p) {
            const double its = off_its_kind(entries_[p], own[p]);
            if (its > std::max({most, kDifference, kSurely * scatter[entries_[p].processor.kind]}))
                most = its, other = &entries_[p];
        }
        if (!other) break;
        leave_kind(*other);
        refit(*other);
        for (const std::size_t p : of_kind_.at(other->processor.kind)) {
            if (!entries_[p].pooled || entries_[p].samples.empty()) continue;
            refit(entries_[p]);
            break;
        }
    }
}

}  // namespace apportion
