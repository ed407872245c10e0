// SPDX-License-Identifier: LGPL-2.1-or-later
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "models/io/text.hpp"
#include "tools/apportion/comparison.hpp"
#include "tools/apportion/machine_load.hpp"
#include "tools/apportion/run_report.hpp"

namespace apportion {

namespace {

std::string and_list(const std::vector<std::string>& names) {
    if (names.size() < 2) return fmt::format("{}", fmt::join(names, ""));
    return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

class Conclusions {
  public:
    explicit Conclusions(const Comparison& comparison)
        : comparison_(comparison),
          order_(comparison.order()),
          policies_(comparison.policies()),
          ranked_(ranked_policies(comparison, order_)) {}

    std::vector<std::string> all() {
        if (std::ranges::none_of(policies_, [&](const std::string& policy) { return ends(policy); }))
            say("No policy finishes: there are blocks that no device ever ends.");
        else if (policies_.size() > 1)
            who_is_best();
        tell_ending();
        tell_load();
        if (!comparison_.unlike.empty()) say(comparison_.unlike + ".");
        tell_choice_of_auto();
        tell_losses();
        for (const std::string& note : comparison_.notes) say(note);
        return sentences_;
    }

  private:
    void say(std::string sentence) { sentences_.push_back(std::move(sentence)); }
    template <class First, class... Others>
    void say(fmt::format_string<First, Others...> sentence, First&& first, Others&&... others) {
        say(fmt::format(sentence, std::forward<First>(first), std::forward<Others>(others)...));
    }
    std::size_t index(const std::string& policy) const {
        return static_cast<std::size_t>(std::ranges::find(policies_, policy) - policies_.begin());
    }

    bool ends(const std::string& policy) const { return comparison_.best_of(policy).ends(); }

    void who_is_best() {
        std::vector<std::string> first, others;
        for (const std::string& policy : ranked_) (order_.rank(index(policy)) == 1 ? first : others).push_back(policy);
        const bool alike = comparison_.plan.exact;
        if (first.size() > 1)
            say("{} {}: they share rank 1.", and_list(first),
                alike ? "take equally long" : "cannot be told apart by these runs");
        if (others.empty()) return;
        for (const std::string& slow : others)
            for (const std::string& fast : ranked_)
                if (order_.faster(index(fast), index(slow))) return say_by_how_much(fast, slow);
    }

    /// In three digits, or in as many as it takes to tell the ratio from 1.
    static std::string times(double ratio) {
        int digits = 3;
        while (digits < 9 && ratio != 1 && fmt::format("{:.{}g}", ratio, digits) == "1") ++digits;
        return fmt::format("{:.{}g}", ratio, digits);
    }

    void say_by_how_much(const std::string& fast, const std::string& slow) {
        if (!ends(slow)) return say("{} finishes, and {} never does.", fast, slow);
        const double ratio = order_.median_ratio(index(slow), index(fast));
        const Interval interval = order_.ratio(index(slow), index(fast));
        if (comparison_.plan.exact || comparison_.rounds < 2)
            say("{} is {} times as fast as {}.", fast, times(ratio), slow);
        else
            say("{} is {} times as fast as {} ({} to {} times, at {:.0f} % confidence).", fast, times(ratio), slow,
                times(interval.low), times(interval.high), 100 * interval.confidence);
    }

    void tell_ending() {
        if (comparison_.plan.exact) return;
        const ComparisonPlan& plan = comparison_.plan;
        std::string why;
        if (comparison_.ending == Ending::settled) why = "the order is settled";
        if (comparison_.ending == Ending::time)
            why = fmt::format("--max-seconds {:g} are used up, the order is not settled", plan.limit_s);
        if (comparison_.ending == Ending::signal) why = "a signal ended it";
        if (comparison_.ending == Ending::rounds)
            why = plan.all_rounds    ? "that many were asked for"
                  : order_.settled() ? "the order is settled"
                                     : "more are not made, the order is not settled";
        say("{} in random order (seed {}), {:.3g} s: {}. With at least {:g} % confidence no order shown is due to "
            "chance.",
            counted(comparison_.rounds, "round"), plan.seed, comparison_.seconds, why, 100 * (1 - kOrderError));
    }

    void tell_load() {
        if (!comparison_.platform.empty()) return;
        if (const std::string disturbed = disturbance(comparison_.cpus_of_others); !disturbed.empty())
            say(disturbed + ".");
    }

    void tell_choice_of_auto() {
        if (std::ranges::find(policies_, "auto") == policies_.end()) return;
        if (const std::string text = describe_choice(comparison_.best_of("auto").median_run().report); !text.empty())
            say(text + ".");
    }

    /// A line for every policy whose (first) median run went on without a processor: the first one, and how many more.
    void tell_losses() {
        for (const std::string& policy : policies_) {
            const std::vector<ReportedLoss>& all = comparison_.default_of(policy).median_run().report.losses;
            if (all.empty()) continue;
            const ReportedLoss& lost = all.front();
            std::string text = fmt::format("{} lost {} at {:.4g} s: {}; {} given back", policy, lost.name, lost.at_s,
                                           lost.reason, counted(lost.units_given_back, "unit"));
            if (all.size() > 1) text += fmt::format("; then {} more of its processors", all.size() - 1);
            say(text);
        }
    }

    const Comparison& comparison_;
    Order order_;
    std::vector<std::string> policies_, ranked_, sentences_;
};

}  // namespace

std::vector<std::string> conclusions(const Comparison& comparison) { return Conclusions(comparison).all(); }

}  // namespace apportion
