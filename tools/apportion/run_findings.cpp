// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/run_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "tools/apportion/seconds_text.hpp"

namespace apportion {

namespace {

using Json = nlohmann::json;

// What is worth a sentence.
constexpr double kDrift = 0.1;                ///< of a plan's end; PLB-HeC's threshold for a new one
constexpr const char* kInMainMemory = "CPU";  ///< kind of the processors that compute there
constexpr double kUsableR2 = 0.7;             ///< PLB-HeC's, of a fit
constexpr double kUnlike = 1.5;               ///< ratio of times that noise does not explain, as in learnt_times.cpp
constexpr double kMuchOfMakespan = 0.1;
constexpr double kMuchPlanning_percent = 1;
constexpr double kLittlePlanning_s = 50e-6;
constexpr double kShortBlock_s = 200e-6;  ///< ten times what a block costs the engine and StarPU

class Facts {
  public:
    Facts(const Json& report, const RunAccount& account) : report_(report), account_(account) {}

    std::vector<std::string> all() {
        error();
        losses();
        late_blocks();
        stalls();
        planning();
        drift();
        spikes();
        unlike_units();
        link();
        blocks();
        ends_apart();
        models();
        return std::move(facts_);
    }

  private:
    void say(std::string fact) { facts_.push_back(std::move(fact)); }
    Json list(const char* key) const {
        const auto found = report_.find(key);
        return found != report_.end() && found->is_array() ? *found : Json::array();
    }
    std::int64_t count(const char* key) const {
        const auto found = report_.find(key);
        return found != report_.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
    }
    double percent(double seconds) const { return account_.makespan_s > 0 ? 100 * seconds / account_.makespan_s : 0; }

    void error() {
        if (const auto found = report_.find("error"); found != report_.end() && found->is_string())
            say(fmt::format("the run failed: {}", found->get<std::string>()));
    }

    void losses() {
        for (const Json& lost : list("lost_processors"))
            say(fmt::format("{} got no more blocks from {} on: {}; others had to compute {} units of it",
                            lost.value("name", ""), seconds_text(lost.value("at_seconds", 0.0)),
                            lost.value("reason", ""), lost.value("units_given_back", std::int64_t{0})));
    }

    void late_blocks() {
        const Json late = list("late_blocks");
        if (late.empty()) return;
        const Json& first = late.front();
        say(
            fmt::format("{} block{} took so long that others computed the same units; the first was one of {} units on "
                        "{}, given up after {}",
                        late.size(), late.size() == 1 ? "" : "s", first.value("units", std::int64_t{0}),
                        first.value("name", ""), seconds_text(first.value("waited_seconds", 0.0))));
    }

    void stalls() {
        if (const auto stalls = count("policy_stalls"); stalls > 0)
            say(
                fmt::format("the policy gave no processor a block {} times although units remained: a defect of the "
                            "policy, please report it",
                            stalls));
    }

    /// Of a simulated run they are no part, unless that was asked for.
    void planning() {
        const double planning_s = report_.value("planning_seconds", 0.0);
        if (planning_s > kLittlePlanning_s && percent(planning_s) > kMuchPlanning_percent)
            say(fmt::format(
                "decisions took {}, as much as {:.2g} % of the makespan: blocks are too many or the load is "
                "too short for this policy",
                seconds_text(planning_s), percent(planning_s)));
    }

    /// The last plan's makespan and what came of it.
    void drift() {
        const Json plans = list("distributions");
        if (plans.empty() || !plans.back().contains("predicted_end_seconds")) return;
        const Json& predicted = plans.back()["predicted_end_seconds"];
        if (!predicted.is_number() || predicted.get<double>() <= 0) return;
        const double ratio = account_.makespan_s / predicted.get<double>();
        if (ratio > 1 + kDrift || ratio < 1 - kDrift)
            say(fmt::format(
                "the run took {:.2f} times what its last plan promised ({} instead of {}): the processors "
                "were not as {} as their models say",
                ratio, seconds_text(account_.makespan_s), seconds_text(predicted), ratio > 1 ? "fast" : "slow"));
    }

    void spikes() {
        if (const auto spikes = count("discarded_samples"); spikes > 0)
            say(fmt::format("{} of {} block times were judged to be spikes: something else used the machine", spikes,
                            count("blocks")));
    }

    /// Seconds that a unit of the lower and of the upper half takes, on every processor with blocks of both: their
    /// speeds do not matter then.
    void unlike_units() {
        struct Half {
            double units = 0, seconds = 0;
        };
        std::vector<std::array<Half, 2>> halves(account_.processors.size());
        const std::int64_t middle = count("units") / 2;
        for (const Json& block : list("trace")) {
            if (block.value("given_back", false)) continue;
            Half& half = halves[block.at("processor").get<std::size_t>()][block.at("first") < middle ? 0 : 1];
            half.units += block.at("units").get<double>();
            half.seconds += block.at("end").get<double>() - block.at("start").get<double>();
        }
        double least = std::numeric_limits<double>::infinity(), most = 0;
        for (const auto& [low, high] : halves) {
            if (std::min({low.seconds, high.seconds, low.units, high.units}) <= 0) continue;
            const double ratio = high.seconds / high.units / (low.seconds / low.units);
            least = std::min(least, ratio);
            most = std::max(most, ratio);
        }
        if (most <= 0 || (least < kUnlike && most > 1 / kUnlike)) return;
        const bool upper = least >= kUnlike;
        say(fmt::format(
            "on every processor a unit of the {} half of the load took at least {:.2g} times as long as one "
            "of the {} half: units are not alike, or the whole machine became {}; the measured bound, "
            "which supposes that all take as long as the shortest, is too low then",
            upper ? "upper" : "lower", upper ? least : 1 / most, upper ? "lower" : "upper",
            upper ? "slower" : "faster"));
    }

    void link() {
        const auto most = std::ranges::max_element(account_.processors, {}, &ProcessorAccount::transfer_s);
        if (percent(most->transfer_s) < 100 * kMuchOfMakespan) return;
        const char* why = "transfers are not hidden behind computation";
        if (most->kind == kInMainMemory)
            why =
                "it has no link, so other tasks or another load ran on it meanwhile, or the block's data were in use "
                "elsewhere";
        else if (most->transfer_s > most->compute_s)
            why = "its link is saturated, or its blocks are too few to overlap transfers with computation";
        say(fmt::format("{} waited {} for data, {:.0f} % of the makespan and {:.2g} times as long as it computed: {}",
                        most->name, seconds_text(most->transfer_s), percent(most->transfer_s),
                        most->compute_s > 0 ? most->transfer_s / most->compute_s : 0, why));
    }

    void blocks() {
        double compute_s = 0;
        for (const ProcessorAccount& p : account_.processors) compute_s += p.compute_s;
        const auto n = count("blocks");
        if (n < 1) return;
        const double mean_s = compute_s / static_cast<double>(n);
        if (n > static_cast<std::int64_t>(account_.processors.size()) && mean_s < kShortBlock_s)
            say(
                fmt::format("blocks compute for {} on average: they are too small beside what each costs; larger ones "
                            "(granularity, initial block, fewer blocks) would take less",
                            seconds_text(mean_s)));
        if (n < static_cast<std::int64_t>(account_.processors.size()))
            say(fmt::format("the load was cut into {} block{} for {} processors, so that some got none", n,
                            n == 1 ? "" : "s", account_.processors.size()));
    }

    void ends_apart() {
        double mean_s = 0;
        for (const ProcessorAccount& p : account_.processors)
            mean_s += p.end_s / static_cast<double>(account_.processors.size());
        if (account_.has_blocks && percent(mean_s) > 100 * kMuchOfMakespan)
            say(
                fmt::format("processors waited {} at the end on average, {:.0f} % of the makespan: shares or the last "
                            "blocks were not balanced",
                            seconds_text(mean_s), percent(mean_s)));
    }

    void models() {
        for (const Json& processor : report_.at("processors")) {
            const auto model = processor.find("model");
            if (model == processor.end() || !model->is_object() || !model->value("r2", Json()).is_number()) continue;
            if (const double r2 = model->at("r2"); r2 < kUsableR2)
                say(fmt::format("the model of {} explains only {:.0f} % of its block times' variation (R2 = {:.2g})",
                                processor.at("name").get<std::string>(), 100 * std::max(r2, 0.0), r2));
        }
    }

    const Json& report_;
    const RunAccount& account_;
    std::vector<std::string> facts_;
};

}  // namespace

std::vector<std::string> suspicious_facts(const Json& report, const RunAccount& account) {
    return Facts(report, account).all();
}

std::string why_nothing(const Json& report, std::size_t p) {
    const Json& processor = report.at("processors").at(p);
    for (const Json& lost : report.value("lost_processors", Json::array()))
        if (lost.value("processor", std::size_t{0}) == p) return "it was lost: " + lost.value("reason", "");
    const auto memory = processor.find("memory_units");
    const std::int64_t granularity = report.at("granularity"), units = report.at("units");
    if (memory != processor.end() && memory->is_number_integer() && memory->get<std::int64_t>() < granularity)
        return fmt::format("a block of {} units, the granularity, does not fit its memory", granularity);
    const auto processors = static_cast<std::int64_t>(report.at("processors").size());
    if (units < granularity * processors)
        return fmt::format("{} units in blocks of at least {} are fewer blocks than processors", units, granularity);
    for (const Json& plan : report.value("distributions", Json::array()))
        if (const auto shares = plan.find("shares"); shares != plan.end() && shares->is_array() && p < shares->size() &&
                                                     (*shares)[p].is_number() && (*shares)[p].get<double>() < 1)
            return fmt::format("the plan ({}) gave it no share: the others finish sooner without it",
                               plan.value("reason", "no reason is given"));
    if (report.at("blocks").get<std::int64_t>() < processors)
        return fmt::format("the load was cut into only {} blocks", report.at("blocks").get<std::int64_t>());
    return "when it asked or would have been asked, all units had been handed out";
}

}  // namespace apportion
