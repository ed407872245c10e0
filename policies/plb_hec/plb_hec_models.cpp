// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/plb_hec/plb_hec_models.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

namespace apportion {

namespace {

/// Relative deviation that counts as the same speed. The paper's 10 % (III.D) is less than what noise and the ripples
/// of libraries (a size that fits their tiles, and one that does not) do.
constexpr double kAgreement = 0.5;
constexpr double kSimilarSize = 1.25;          // blocks of up to so many times as many units are compared
constexpr std::size_t kHistory = 64;           // samples kept per processor
constexpr std::size_t kWindow = 8;             // of the latest blocks, by which noise is known
constexpr std::size_t kFewestToTellSpike = 2;  // blocks of a processor, less than which cannot tell a spike

double mean_of(const std::deque<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

bool within(const FittedCurve& curve, double units) {
    return units >= curve.smallest_measured() && units <= curve.largest_measured();
}

}  // namespace

bool PlbHecModels::begin(const LoadDescription& load) {
    if (!std::ranges::equal(entries_, load.processors, same_processor, &Entry::processor)) {
        entries_.clear();
        kinds_.clear();
        of_kind_.clear();
        for (std::size_t p = 0; p < load.processors.size(); ++p) {
            Entry entry;
            entry.processor = load.processors[p];
            if (p < load.links.size()) {
                const LoadDescription::Link& link = load.links[p];
                entry.in = entry.in_beside_staying = TransferLine(link.in.latency_s, link.in.seconds_per_unit);
                entry.out = TransferLine(link.out.latency_s, link.out.seconds_per_unit);
            }
            entries_.push_back(entry);
            of_kind_[entry.processor.kind].push_back(p);
        }
        if (load.learnt.size() == entries_.size()) restore(load.learnt);
    } else {
        tell_apart([this](const Entry& entry) { return differs_from_kind(entry); });
    }
    discarded_ = 0;
    for (Entry& entry : entries_) entry.last_start_s = 0, entry.suspected_in_run = false;
    return complete();
}

/// Each kind once.
void PlbHecModels::refit_all() {
    std::set<int> fitted;
    for (Entry& entry : entries_)
        if (!entry.samples.empty() && (!entry.pooled || fitted.insert(entry.processor.kind).second)) refit(entry);
}

bool PlbHecModels::complete() const {
    for (std::size_t p = 0; p < entries_.size(); ++p)
        if (!curve(static_cast<int>(p))) return false;
    return true;
}

bool PlbHecModels::sizes_differ(int processor) const {
    const FittedCurve* known = curve(processor);
    if (!known || !known->sizes_differ()) return false;
    const double fewest_s = known->seconds(known->smallest_measured());
    return at(processor).processor.own_memory ||
           known->seconds(known->largest_measured()) > (1 + known->relative_error()) * fewest_s;
}

bool PlbHecModels::tells_larger(int processor) const {
    if (!sizes_differ(processor)) return false;
    const FittedCurve& its = *curve(processor);
    const double units = its.largest_measured(), travels_s = (in(processor) + out(processor)).seconds(units);
    return its.derivative(units) > 0 || travels_s > its.seconds(units);
}

double PlbHecModels::at_most_s(int processor, Units units) const {
    return bounds_by(at(processor).samples, static_cast<double>(units)).most_s;
}

double PlbHecModels::suspected_s(int processor, double units) const {
    const Entry& its = at(processor);
    return its.suspect && its.suspected_in_run ? its.suspect->seconds * std::max(1.0, units / its.suspect->units) : 0;
}

double PlbHecModels::shortest_s(int processor) const {
    double shortest_s = std::numeric_limits<double>::infinity();
    for (const BlockTime& sample : at(processor).samples) shortest_s = std::min(shortest_s, sample.seconds);
    return shortest_s;
}

/// By how much a block may deviate that is no news: three standard deviations of the latest, which the median tells
/// (times 1.4826), so that neither a spike nor a change moves it soon.
double PlbHecModels::tolerance(const Entry& entry) const {
    std::vector<double> sorted;
    for (const double logarithm : entry.deviations) sorted.push_back(std::expm1(std::abs(logarithm)));
    sorted.resize(kWindow, 0);
    std::ranges::nth_element(sorted, sorted.begin() + kWindow / 2);
    return std::max(kAgreement, 3 * 1.4826 * sorted[kWindow / 2]);
}

/// Whether its latest blocks deviate from its kind's curve to one side.
bool PlbHecModels::differs_from_kind(const Entry& entry) const {
    if (!entry.pooled || entry.samples.empty() || of_kind_.at(entry.processor.kind).size() == 1) return false;
    const auto kind = kinds_.find(entry.processor.kind);
    if (kind == kinds_.end() || !kind->second.curve) return false;
    const auto latest = static_cast<std::ptrdiff_t>(std::min(kWindow, entry.samples.size()));
    double sum = 0;
    for (auto sample = entry.samples.end() - latest; sample != entry.samples.end(); ++sample)
        sum += std::log(sample->seconds / kind->second.curve->seconds(sample->units));
    return std::abs(sum / static_cast<double>(latest)) > kDifference;
}

/// Whether another one's first block was as strange as this first one: two such blocks are no spikes, but of another
/// kind than the rest, as of cores of two speeds, which StarPU does not tell apart. The other one has left its kind
/// then.
bool PlbHecModels::confirmed_by_kind(const Entry& entry, const BlockTime& sample) {
    if (!entry.samples.empty()) return false;
    const auto alike = [&](const BlockTime& other) {
        return std::max(sample.units, other.units) <= kSimilarSize * std::min(sample.units, other.units) &&
               deviation(sample.seconds / sample.units, other.seconds / other.units) <= kAgreement;
    };
    for (const std::size_t p : of_kind_.at(entry.processor.kind)) {
        Entry& other = entries_[p];
        if (&other == &entry || other.pooled) continue;
        if (!other.samples.empty() && alike(other.samples.front())) return true;
        if (!other.samples.empty() || !other.suspect || !alike(*other.suspect)) continue;
        leave_kind(other);
        other.samples.push_back(*std::exchange(other.suspect, std::nullopt));
        refit(other);
        if (discarded_ > 0) --discarded_;  // the run before may have counted it
        return true;
    }
    return false;
}

/// Its samples are its own from now on.
void PlbHecModels::leave_kind(Entry& entry) {
    if (entry.pooled) kinds_[entry.processor.kind].fitted_with = 0;  // of others alone
    entry.pooled = false;
    entry.own = {};
}

bool PlbHecModels::deviates(const Entry& entry, const FittedCurve& curve, const BlockTime& sample) const {
    return within(curve, sample.units) && deviation(sample.seconds, curve.seconds(sample.units)) >
                                              std::max(tolerance(entry), 3 * curve.relative_error());
}

/// Whether a block took as long as those of the processor itself admit.
bool PlbHecModels::is_as_before(const Entry& entry, const BlockTime& sample) const {
    const auto [least_s, most_s] = bounds_by(entry.samples, sample.units);
    return sample.seconds <= (1 + kAgreement) * most_s && (1 + kAgreement) * sample.seconds >= least_s;
}

/// Whether one of the kind needed about as long for about as many units; nothing: nobody can tell. Neither times nor
/// speeds fall with size: who took longer than most blocks of other sizes admit does not agree either. (That small
/// blocks take less than these tell is not strange: caches.)
std::optional<bool> PlbHecModels::agrees_with_kind(const Entry& entry, const BlockTime& sample) const {
    constexpr int kFewestExceeded = 2;  // one may be a spike
    int similar = 0, exceeded = 0, others = 0;
    for (const std::size_t p : of_kind_.at(entry.processor.kind)) {
        const Entry& other = entries_[p];
        if (&other == &entry || !other.pooled) continue;
        for (const BlockTime& theirs : other.samples) {
            const double ratio = sample.units / theirs.units;
            const bool slower = sample.seconds > (1 + kAgreement) * theirs.seconds * std::max(1.0, ratio);
            const bool faster = (1 + kAgreement) * sample.seconds < theirs.seconds * std::min(1.0, ratio);
            const bool is_similar = std::max(ratio, 1 / ratio) <= kSimilarSize;
            if (is_similar && !slower && !faster) return true;
            ++others, similar += is_similar, exceeded += slower;
        }
    }
    const bool too_long = exceeded >= kFewestExceeded && 2 * exceeded > others;
    return similar > 0 || too_long ? std::optional(false) : std::nullopt;
}

/// Whether a fixed cost was told by one of the kind: what others told before they knew theirs is no time of a small
/// block beside that.
bool PlbHecModels::kind_tells_fixed_costs(const Entry& entry) const {
    return std::ranges::any_of(of_kind_.at(entry.processor.kind), [&](std::size_t p) {
        const Entry& other = entries_[p];
        return (&other == &entry || (entry.pooled && other.pooled)) && other.told_fixed_s;
    });
}

/// Whether its blocks are among those of its curve.
bool PlbHecModels::counts(const Entry& entry) const {
    return !entry.samples.empty() && (entry.told_fixed_s || !kind_tells_fixed_costs(entry));
}

/// Whether a block says something else than those before it, or than those of its kind where none before it counts.
/// Where the kind cannot tell, only what confirms a suspicion is strange.
bool PlbHecModels::is_strange(const Entry& entry, const FittedCurve& curve, const BlockTime& sample) const {
    if (!counts(entry)) {
        if (const auto agrees = agrees_with_kind(entry, sample)) return !*agrees;
        return entry.suspect && deviation(sample.seconds, curve.seconds(sample.units)) > kAgreement;
    }
    return entry.samples.size() >= kFewestToTellSpike && deviates(entry, curve, sample);
}

void PlbHecModels::add_transfer(Entry& entry, const FinishedBlock& block) {
    const auto seen_s = transfer_seen_s(block.given_s, entry.last_start_s, block.previous_end_s, block.start_s);
    if (entry.processor.own_memory && seen_s)
        (block.data_there ? entry.in_beside_staying : entry.in).add(static_cast<double>(block.units), *seen_s);
    entry.last_start_s = std::max(entry.last_start_s, block.start_s);
}

/// The curve that the block contradicts, or nullptr. Notes how far off it is; who is unlike its kind leaves it first.
const FittedCurve* PlbHecModels::contradicted(int processor, const BlockTime& sample) {
    Entry& entry = at(processor);
    if (entry.deviations.size() == kWindow && differs_from_kind(entry)) {
        const double mean = mean_of(entry.deviations);
        tell_apart([&](const Entry& other) { return &other == &entry; });
        for (double& logarithm : entry.deviations) logarithm -= entry.pooled ? 0 : mean;
    }
    const FittedCurve* current = curve(processor);
    if (!current) return nullptr;
    if (entry.pooled && entry.samples.size() < kFewestToTellSpike && deviates(entry, *current, sample))
        entry.pooled = false;  // its first block was as long as theirs by chance, or by fixed costs
    const bool strange = is_strange(entry, *current, sample);
    if (!within(*current, sample.units)) return strange ? current : nullptr;
    entry.deviations.push_back(std::log(sample.seconds / current->seconds(sample.units)));
    if (entry.deviations.size() > kWindow) entry.deviations.pop_front();
    return strange ? current : nullptr;
}

SampleVerdict PlbHecModels::add(const FinishedBlock& block) {
    Entry& entry = at(block.processor);
    add_transfer(entry, block);
    const BlockTime sample{static_cast<double>(block.units), block.busy_s};
    if (!(sample.units > 0) || !(sample.seconds > 0)) return SampleVerdict::used;
    const FittedCurve* const known = contradicted(block.processor, sample);
    if (known) {
        const auto slower = [&](const BlockTime& its) { return its.seconds > known->seconds(its.units); };
        if (entry.suspect && slower(sample) == slower(*entry.suspect)) {
            change(entry, *known, sample);
        } else if (confirmed_by_kind(entry, sample)) {
            leave_kind(entry);
        } else {
            entry.suspect = sample;
            entry.suspected_in_run = true;
            ++discarded_;
            return SampleVerdict::spike;
        }
    } else if (entry.samples.empty()) {
        entry.pooled = true;
    }
    entry.suspect.reset();
    entry.unchecked = false;
    const double much = tolerance(entry);  // longer for fewer units: that was a spike, whatever the model says
    discarded_ += static_cast<int>(std::erase_if(entry.samples, [&](const BlockTime& other) {
        return other.units < sample.units && other.seconds > (1 + much) * sample.seconds;
    }));
    if (block.half_busy_s > 0) add_told_half(entry, sample, block.half_busy_s);
    entry.samples.push_back(sample);
    forget_oldest(entry);
    refit(entry);
    return known ? SampleVerdict::changed : SampleVerdict::used;
}

/// What the processor tells of half of the units replaces all that it told of fewer before.
void PlbHecModels::add_told_half(Entry& entry, const BlockTime& sample, double half_s) {
    const double fixed_s = 2 * half_s - sample.seconds;
    entry.told_fixed_s = std::min(fixed_s, entry.told_fixed_s.value_or(fixed_s));
    std::erase_if(entry.samples, [&](const BlockTime& other) { return other.units < sample.units; });
    entry.samples.push_back({sample.units / 2, half_s});
}

/// Two blocks in a row took longer, or less: the processor is another one now, by that factor, unless it was always
/// another one than its kind. Its fixed costs are not told by these two.
void PlbHecModels::change(Entry& entry, const FittedCurve& curve, const BlockTime& sample) {
    const BlockTime& first = *entry.suspect;
    const double factor =
        std::sqrt(first.seconds / curve.seconds(first.units) * sample.seconds / curve.seconds(sample.units));
    if (entry.unchecked) entry.samples.clear();  // what earlier processes learnt may be of something else
    if (!entry.pooled || !is_as_before(entry, first) || !is_as_before(entry, sample))
        for (BlockTime& before : entry.samples) before.seconds *= factor;
    entry.samples.push_back(first);
    entry.told_fixed_s.reset();
    leave_kind(entry);
    entry.deviations.resize(std::max<std::size_t>(entry.deviations.size(), 2) - 2);  // they were no noise
    if (discarded_ > 0) --discarded_;  // the run before may have counted it
}

/// The oldest, but not the shortest, which tells what fixed costs are at most.
void PlbHecModels::forget_oldest(Entry& entry) {
    while (entry.samples.size() > kHistory) {
        auto oldest = entry.samples.begin();
        if (oldest == std::ranges::min_element(entry.samples, {}, &BlockTime::seconds)) ++oldest;
        entry.samples.erase(oldest);
    }
}

/// Of what waited behind the block before it the latency may have passed meanwhile.
void PlbHecModels::add_return(const ReturnedBlock& block) {
    TransferLine& out = at(block.processor).out;
    out.add(static_cast<double>(block.units), std::min(block.seconds, block.travelled_s + out.latency_s()));
}

/// A fit costs as much as a hundred small blocks' bookkeeping: a sample that says what is known does not need one.
bool PlbHecModels::worth_a_fit(const Group& group, std::size_t samples, const BlockTime& latest) const {
    constexpr std::size_t kFew = 8;
    constexpr double kAsPredicted = 0.02;
    if (!group.curve || samples <= kFew || samples >= 2 * group.fitted_with) return true;
    if (latest.units < group.curve->smallest_measured() || latest.units > group.curve->largest_measured()) return true;
    return deviation(latest.seconds, group.curve->seconds(latest.units)) >
           std::max(kAsPredicted, 2 * group.curve->relative_error());
}

/// The one sample without which the others agree: a spike that came before there was a model to tell it by.
std::optional<std::size_t> PlbHecModels::spike_among(const std::vector<BlockTime>& samples, const FittedCurve& curve,
                                                     double tolerance) const {
    constexpr std::size_t kFewestForFit = 4;  // three others, so that a line through them means something
    constexpr double kMuchBetter = 3;
    if (samples.size() < kFewestForFit) return std::nullopt;
    const auto worst = std::max_element(samples.begin(), samples.end(), [&](const BlockTime& a, const BlockTime& b) {
        return deviation(a.seconds, curve.seconds(a.units)) < deviation(b.seconds, curve.seconds(b.units));
    });
    if (deviation(worst->seconds, curve.seconds(worst->units)) <= tolerance) return std::nullopt;
    std::vector<BlockTime> others(samples.begin(), worst);
    others.insert(others.end(), worst + 1, samples.end());
    const auto without = FittedCurve::fit(others);
    if (!without || without->relative_error() * kMuchBetter > curve.relative_error() ||
        deviation(worst->seconds, without->seconds(worst->units)) <= tolerance)
        return std::nullopt;
    return static_cast<std::size_t>(worst - samples.begin());
}

void PlbHecModels::refit(Entry& entry) {
    std::vector<Entry*> members;
    for (const std::size_t p : of_kind_.at(entry.processor.kind))
        if (Entry& other = entries_[p]; &other == &entry || (entry.pooled && other.pooled)) members.push_back(&other);
    if (kind_tells_fixed_costs(entry))
        std::erase_if(members, [](const Entry* member) { return !member->told_fixed_s; });
    std::vector<BlockTime> samples;
    for (const Entry* member : members) samples.insert(samples.end(), member->samples.begin(), member->samples.end());
    Group& group = entry.pooled ? kinds_[entry.processor.kind] : entry.own;
    if (!worth_a_fit(group, samples.size(), entry.samples.back())) return;
    auto curve = FittedCurve::fit(samples);
    if (!curve) return;
    if (const auto spike = spike_among(samples, *curve, tolerance(entry))) {
        std::size_t position = *spike;
        for (Entry* member : members) {
            if (position < member->samples.size()) {
                member->samples.erase(member->samples.begin() + static_cast<std::ptrdiff_t>(position));
                break;
            }
            position -= member->samples.size();
        }
        ++discarded_;
        samples.erase(samples.begin() + static_cast<std::ptrdiff_t>(*spike));
        curve = FittedCurve::fit(samples);
    }
    group.curve = curve;
    group.fitted_with = samples.size();
}

const FittedCurve* PlbHecModels::curve(int processor) const {
    const Entry& entry = at(processor);
    const Group* group = &entry.own;
    if (entry.pooled || entry.samples.empty()) {
        const auto kind = kinds_.find(entry.processor.kind);
        if (kind == kinds_.end()) return nullptr;
        group = &kind->second;
    }
    return group->curve ? &*group->curve : nullptr;
}

const FittedCurve* PlbHecModels::curve_of_kind(int processor) const {
    for (const std::size_t p : of_kind_.at(at(processor).processor.kind)) {
        const int other = static_cast<int>(p);
        if (other != processor && sizes_differ(other)) return curve(other);
    }
    return nullptr;
}

void PlbHecModels::report(PolicyReport& report) const {
    report.discarded_samples = discarded_;
    for (std::size_t p = 0; p < entries_.size(); ++p) {
        PolicyReport::Model model;
        if (const FittedCurve* f = curve(static_cast<int>(p))) {
            model.formula = f->formula();
            model.r2 = f->r2();
            model.samples = f->samples();
        }
        if (entries_[p].processor.own_memory) model.transfer = (entries_[p].in + entries_[p].out).formula();
        report.models.push_back(model);
    }
}

}  // namespace apportion
