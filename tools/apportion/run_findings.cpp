// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "models/io/text.hpp"
#include "tools/apportion/text_table.hpp"

namespace apportion {

namespace {

// What is worth a sentence.
constexpr double kDrift = 0.1;          ///< of a plan's end; PLB-HeC's threshold for a new one
constexpr double kUsableR2 = 0.7;       ///< PLB-HeC's, of a fit
constexpr double kBlockCost_s = 20e-6;  ///< what a block costs the engine and StarPU
constexpr double kShortBlock_s = 10 * kBlockCost_s;
constexpr double kMuchOfMakespan_percent = 10;
constexpr double kMuchPlanning_percent = 1;
constexpr double kLittlePlanning_s = 50e-6;

class Findings {
  public:
    Findings(const RunReport& report, const RunAccount& account) : report_(report), account_(account) {
        for (std::size_t p = 0; p < account.processors.size(); ++p) weights_.push_back(speed_or_kinds(p));
        for (const double speed : weights_) sum_of_weights_ += speed;
        if (sum_of_weights_ > 0) return;
        weights_.assign(account.processors.size(), 1);
        sum_of_weights_ = static_cast<double>(account.processors.size());
    }

    std::vector<Finding> all() {
        error();
        losses();
        late_blocks();
        stalls();
        planning();
        drift();
        spikes();
        unlike();
        link();
        memory();
        waiting();
        blocks();
        models();
        std::ranges::stable_sort(findings_, std::greater{}, &Finding::cost_s);
        return std::move(findings_);
    }

  private:
    void say(std::string sentence, double cost_s = 0) { findings_.push_back({std::move(sentence), cost_s}); }
    double percent(double seconds) const { return account_.makespan_s > 0 ? 100 * seconds / account_.makespan_s : 0; }

    static double speed(const ProcessorAccount& p) {
        return p.compute_s > 0 ? static_cast<double>(p.units) / p.compute_s : 0;
    }
    /// One that computed nothing is taken to be as fast as the fastest of its kind; 0: that is not known.
    double speed_or_kinds(std::size_t p) const {
        const ProcessorAccount& own = account_.processors[p];
        double found = speed(own);
        if (own.units == 0)
            for (const ProcessorAccount& other : account_.processors)
                if (other.kind == own.kind) found = std::max(found, speed(other));
        return found;
    }

    /// Of the makespan, where it is seconds of processor p alone.
    double spread(std::size_t p, double seconds) const { return seconds * weights_[p] / sum_of_weights_; }
    double mean(double ProcessorAccount::*entry) const {
        double sum_s = 0;
        for (std::size_t p = 0; p < weights_.size(); ++p) sum_s += spread(p, account_.processors[p].*entry);
        return sum_s;
    }

    void error() {
        if (report_.error)
            say(fmt::format("the run failed: {}", *report_.error), std::numeric_limits<double>::infinity());
    }

    void losses() {
        for (const ReportedLoss& lost : report_.losses)
            say(fmt::format("{} got no more blocks from {} on: {}; others had to compute {} of it", lost.name,
                            seconds_text(lost.at_s), lost.reason, counted(lost.units_given_back, "unit")),
                spread(lost.processor, std::max(0.0, account_.makespan_s - lost.at_s)));
    }

    void late_blocks() {
        const auto& late = report_.late_blocks;
        if (late.empty()) return;
        double waited_s = 0;
        for (const ReportedLateBlock& block : late)
            for (std::size_t p = 0; p < weights_.size(); ++p)
                if (account_.processors[p].name == block.name) waited_s += spread(p, block.waited_s);
        say(fmt::format("{} took so long that others computed the same units; the first was one of {} on "
                        "{}, given up after {}",
                        counted(late.size(), "block"), counted(late.front().units, "unit"), late.front().name,
                        seconds_text(late.front().waited_s)),
            account_.has_blocks ? mean(&ProcessorAccount::copies_s) : waited_s);
    }

    void stalls() {
        if (report_.policy_stalls > 0)
            say(fmt::format("the policy gave no processor a block {} although units remained: a defect of the "
                            "policy, please report it",
                            counted(report_.policy_stalls, "time")),
                mean(&ProcessorAccount::policy_s));
    }

    /// They cost what somebody waited for them. Of a simulated run they are no part, and nobody does.
    void planning() {
        double waited_s = 0;
        for (const ProcessorAccount& p : account_.processors)
            waited_s = std::max(waited_s, account_.has_blocks ? p.models_s + p.policy_s : p.end_s);
        waited_s = std::min(waited_s, report_.planning_s);
        if (waited_s > kLittlePlanning_s && percent(waited_s) > kMuchPlanning_percent)
            say(fmt::format("decisions took {}, for which a processor waited up to {} of the makespan: blocks are too "
                            "many or the load is too short for this policy",
                            seconds_text(report_.planning_s), percent_text(percent(waited_s))),
                waited_s);
    }

    /// The last plan's makespan and what came of it.
    void drift() {
        if (report_.distributions.empty()) return;
        const double predicted_s = report_.distributions.back().predicted_end_s.value_or(0);
        if (predicted_s <= 0) return;
        const double ratio = account_.makespan_s / predicted_s;
        if (ratio > 1 + kDrift || ratio < 1 - kDrift)
            say(fmt::format("the run took {:.2f} times what its last plan promised ({} instead of {}): processors "
                            "or links were not as {} as it supposed",
                            ratio, seconds_text(account_.makespan_s), seconds_text(predicted_s),
                            ratio > 1 ? "fast" : "slow"),
                std::max(0.0, account_.makespan_s - std::max(predicted_s, perfect_s())));
    }

    /// No other shares of the work can take less at the speeds of this run.
    double perfect_s() const {
        double units_per_s = 0, units = 0;
        for (const ProcessorAccount& p : account_.processors) {
            units += static_cast<double>(p.units);
            units_per_s += speed(p);
        }
        return units_per_s > 0 ? units / units_per_s : 0;
    }

    void spikes() {
        if (report_.discarded_samples > 0)
            say(fmt::format("{} of {} block times were judged to be spikes: {}something else used the machine",
                            report_.discarded_samples, report_.blocks,
                            unlike_units(report_).empty() ? "" : "units are not alike, or "));
    }

    void unlike() {
        for (const std::string& sentence : {unlike_units(report_), unlike_cores(report_)})
            if (!sentence.empty()) say(sentence);
    }

    void link() {
        const auto most = std::ranges::max_element(account_.processors, {}, &ProcessorAccount::transfer_s);
        if (percent(most->transfer_s) < kMuchOfMakespan_percent) return;
        const char* why = "transfers are not hidden behind computation";
        if (most->kind == kInMainMemory)
            why =
                "it has no link, so other tasks, another load or another program ran on it meanwhile, or the block's "
                "data were in use elsewhere";
        else if (most->transfer_s > most->compute_s)
            why = "its link is saturated, or its blocks are too few to overlap transfers with computation";
        say(fmt::format("{} waited {} for data, {:.0f} % of the makespan and {:.2g} times as long as it computed: {}",
                        most->name, seconds_text(most->transfer_s), percent(most->transfer_s),
                        most->compute_s > 0 ? most->transfer_s / most->compute_s : 0, why),
            mean(&ProcessorAccount::transfer_s));
    }

    void memory() {
        for (std::size_t p = 0; p < report_.processors.size(); ++p) {
            const ReportedProcessor& own = report_.processors[p];
            if (!own.memory_units || own.units <= *own.memory_units || *own.memory_units == 0) continue;
            say(fmt::format("the memory of {} has room for {}, less than the {} that it computed: they had to "
                            "come in {} parts at least",
                            own.name, counted(*own.memory_units, "unit"), own.units,
                            quotient_up(own.units, *own.memory_units)),
                spread(p, account_.processors[p].transfer_s));
        }
    }

    /// What the columns of the account are in all, where that is much: at most what other shares could have saved.
    void waiting() {
        if (!account_.has_blocks) return;
        const double most_s = std::max(0.0, account_.makespan_s - perfect_s());
        constexpr std::array<std::pair<double ProcessorAccount::*, const char*>, 4> kEntries{
            {{&ProcessorAccount::models_s,
              "until there were models of all: what earlier runs learn, or a profile, would tell beforehand"},
             {&ProcessorAccount::policy_s,
              "for a block in the middle of the run: for slower ones of their round, or for decisions"},
             {&ProcessorAccount::home_s, "for their last results to come home: links bound the end"},
             {&ProcessorAccount::end_s, "at the end: shares or the last blocks were not balanced"}}};
        for (const auto& [entry, what] : kEntries)
            if (const double cost_s = std::min(mean(entry), most_s); percent(cost_s) > kMuchOfMakespan_percent)
                say(fmt::format("processors waited {}", what), cost_s);
    }

    void blocks() {
        double compute_s = 0, without_s = 0;
        for (std::size_t p = 0; p < weights_.size(); ++p) {
            compute_s += account_.processors[p].compute_s;
            if (account_.processors[p].units == 0) without_s += spread(p, account_.makespan_s);
        }
        const std::int64_t n = report_.blocks;
        if (n < 1) return;
        const auto processors = static_cast<std::int64_t>(account_.processors.size());
        const double mean_s = compute_s / static_cast<double>(n);
        if (n > processors && mean_s < kShortBlock_s)
            say(fmt::format("blocks compute for {} on average: they are too small beside what each costs; larger ones "
                            "(granularity, initial block, fewer blocks) would take less",
                            seconds_text(mean_s)),
                std::min(account_.makespan_s, kBlockCost_s * static_cast<double>(n) / static_cast<double>(processors)));
        if (n < processors)
            say(fmt::format("the load was cut into {} for {} processors, so that some got none", counted(n, "block"),
                            processors),
                without_s);
    }

    void models() {
        for (const ReportedProcessor& processor : report_.processors)
            if (const double r2 = processor.model_r2.value_or(1); r2 < kUsableR2)
                say(fmt::format("the model of {} explains only {:.0f} % of its block times' variation (R2 = {:.2g})",
                                processor.name, 100 * std::max(r2, 0.0), r2));
    }

    const RunReport& report_;
    const RunAccount& account_;
    std::vector<double> weights_;  ///< of processors, by their speeds
    double sum_of_weights_ = 0;
    std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> findings(const RunReport& report, const RunAccount& account) {
    return Findings(report, account).all();
}

std::string why_nothing(const RunReport& report, std::size_t p) {
    if (report.blocks == 0 && report.error) return "the run failed before its first block was done";
    for (const ReportedLoss& lost : report.losses)
        if (lost.processor == p) return "it was lost: " + lost.reason;
    if (std::ranges::any_of(report.trace, [p](const auto& block) { return block.processor == p && block.given_back; }))
        return "others were done first with what it computed";
    if (report.processors[p].memory_units.value_or(report.granularity) < report.granularity)
        return fmt::format("a block of {}, the granularity, does not fit its memory",
                           counted(report.granularity, "unit"));
    const auto processors = static_cast<std::int64_t>(report.processors.size());
    if (report.units / report.granularity < processors)
        return fmt::format("{} in blocks of at least {} {} fewer blocks than processors", counted(report.units, "unit"),
                           report.granularity, is_or_are(report.units));
    for (const ReportedDistribution& plan : report.distributions)
        if (p < plan.shares.size() && plan.shares[p].value_or(1) < 1)
            return fmt::format("the plan ({}) gave it no share: the others finish sooner without it",
                               plan.reason.empty() ? "no reason is given" : plan.reason);
    if (report.blocks < processors) return "the load was cut into only " + counted(report.blocks, "block");
    return "when it asked or would have been asked, all units had been handed out";
}

}  // namespace apportion
