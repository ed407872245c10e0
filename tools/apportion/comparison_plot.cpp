// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/comparison_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "codelets/io/gnuplot.hpp"
#include "policies/policy.hpp"
#include "tools/apportion/comparison_output.hpp"

namespace apportion {

namespace {

constexpr int kWidth = 1600;
constexpr int kHeight = 1200;

constexpr const char* kOwnColour = "#1b6ca8";
constexpr const char* kDefaultColour = "#c9ccd1";
constexpr const char* kBestColour = "#7d8590";
constexpr const char* kBoundColour = "#c0392b";

/// Of processors, in the order of their groups; then again.
constexpr std::array kColours = {0x4e79a7, 0xf28e2b, 0x59a14f, 0xe15759, 0x76b7b2, 0xedc948, 0xb07aa1, 0xff9da7,
                                 0x9c755f, 0x2f4b7c, 0xbab0ac, 0x8cd17d, 0xd37295, 0xb6992d, 0x499894, 0xd4a6c8};

int colour(std::size_t group) { return kColours[group % kColours.size()]; }

/// Part of the picture that a panel's axes enclose, in fractions of it.
struct Box {
    double left, right, bottom, top;
};

std::string panel(const Box& box, const std::string& title) {
    return fmt::format(
        "reset\nset encoding utf8\n"
        "set lmargin at screen {}\nset rmargin at screen {}\nset bmargin at screen {}\nset tmargin at "
        "screen {}\n"
        "set border 3 lc rgb '#606060'\nset tics nomirror out scale 0.6 textcolor rgb '#202020'\n"
        "set grid ytics lc rgb '#e4e4e4' lt 1\n"
        "set label 1 {} at screen {},{} left font ',14'\n",
        box.left, box.right, box.bottom, box.top, gnuplot_text(title), box.left, box.top + 0.065);
}

/// The legend between title and axes.
std::string key_above(const Box& box, int rows) {
    return fmt::format(
        "set key at screen {},{} left center horizontal maxrows {} Left reverse samplen 1.5 width 1 font ',10'\n",
        box.left, box.top + 0.032, rows);
}

/// One bar of the first panel.
struct Bar {
    const Configuration* configuration;
    double x, width;
    int kind;  ///< 0: sizes its blocks itself, 1: default, 2: best
};

std::vector<Bar> makespan_bars(const Comparison& comparison) {
    std::vector<Bar> bars;
    const auto policies = comparison.policies();
    for (std::size_t i = 0; i < policies.size(); ++i) {
        const Configuration& first = comparison.default_of(policies[i]);
        const auto x = static_cast<double>(i);
        if (first.choice == Choice::only) {
            bars.push_back({&first, x, 0.5, find_policy(policies[i]) ? 0 : 1});
        } else {
            bars.push_back({&first, x - 0.2, 0.38, 1});
            bars.push_back({&comparison.best_of(policies[i]), x + 0.2, 0.38, 2});
        }
    }
    return bars;
}

std::string makespans_panel(const Comparison& comparison, const Box& box) {
    const std::vector<Bar> bars = makespan_bars(comparison);
    const auto policies = comparison.policies();
    const bool bounded = std::isfinite(comparison.lower_bound_s);
    double longest = 0;
    for (const Bar& bar : bars) longest = std::max(longest, bar.configuration->max_s());
    std::string script = panel(box, "Makespan");
    script += "$bars << EOD\n";
    for (const Bar& bar : bars) {
        const Configuration& c = *bar.configuration;
        const double ratio = c.median_s() / comparison.lower_bound_s;
        script += fmt::format("{} {} {} {} {} {} \"{}\"\n", bar.x, c.median_s(), bar.width, bar.kind, c.min_s(),
                              c.max_s(), bounded ? fmt::format("{:.2f}", ratio) : fmt::format("{:.3g}", c.median_s()));
    }
    script += "EOD\n";
    std::string tics;
    for (std::size_t i = 0; i < policies.size(); ++i)
        tics += fmt::format(
            "{}{} {}", i ? ", " : "",
            gnuplot_text(fmt::format("{}\n{} blocks", policies[i], comparison.best_of(policies[i]).blocks())), i);
    script += fmt::format(
        "set xtics ({}) scale 0\nset xrange [-0.6:{}]\nset yrange [0:{}]\nset ylabel 'seconds'\n"
        "set style fill solid noborder\n",
        tics, static_cast<double>(policies.size()) - 0.4, longest * 1.12);
    script += key_above(box, 2);
    const auto boxes = [&](int kind, const char* colour_name, const char* title) {
        return fmt::format("$bars using 1:($4=={0} ? $2 : NaN):3 with boxes fc rgb '{1}' title '{2}'", kind,
                           colour_name, title);
    };
    script += "plot " + boxes(0, kOwnColour, "sizes its blocks itself");
    script += ", " + boxes(1, kDefaultColour, "equal blocks, default number");
    script += ", " + boxes(2, kBestColour, "equal blocks, best number");
    if (comparison.configurations.front().runs.size() > 1)
        script += ", $bars using 1:2:5:6 with yerrorbars pt 0 lc rgb '#202020' notitle";
    script += ", $bars using 1:6:7 with labels offset 0,0.7 font ',10' notitle";
    if (bounded)
        script +=
            fmt::format(", {} with lines dt 2 lw 2 lc rgb '{}' title 'lower bound{} (bars: multiples of it)'",
                        comparison.lower_bound_s, kBoundColour, comparison.bound_is_estimated ? ", estimated" : "");
    return script + "\n";
}

std::string shares_panel(const Comparison& comparison, const std::vector<ProcessorGroup>& groups, const Box& box) {
    const auto policies = comparison.policies();
    std::string script = panel(box, "Share of the units");
    script += "$shares << EOD\n";
    std::string tics;
    for (std::size_t i = 0; i < policies.size(); ++i) {
        const auto& processors = comparison.best_of(policies[i]).median_run().report.at("processors");
        tics += fmt::format("{}{} {}", i ? ", " : "", gnuplot_text(policies[i]), i);
        double below = 0;
        for (std::size_t g = 0; g < groups.size(); ++g) {
            double units = 0;
            for (const std::size_t p : groups[g].processors)
                if (p < processors.size()) units += processors[p].at("units").get<double>();
            const double share = 100 * units / static_cast<double>(std::max<std::int64_t>(comparison.units, 1));
            script += fmt::format("{} {} {} {}\n", i, below, below + share, colour(g));
            below += share;
        }
    }
    script += "EOD\n";
    script += fmt::format(
        "set xtics ({}) scale 0\nset xrange [-0.6:{}]\nset yrange [0:100]\nset ylabel 'percent'\n"
        "set style fill solid border rgb 'white'\n"
        "set key outside right center vertical Left reverse invert samplen 1 spacing 1.3 font ',10'\n",
        tics, static_cast<double>(policies.size()) - 0.4);
    script += "plot $shares using 1:($2+$3)/2:($1-0.3):($1+0.3):2:3:4 with boxxyerror fc rgb variable notitle";
    for (std::size_t g = 0; g < groups.size(); ++g)
        script += fmt::format(", NaN with boxes fc rgb '#{:06x}' title {}", colour(g), gnuplot_text(groups[g].name));
    return script + "\n";
}

/// The policy whose blocks are drawn: plb-hec, or else the first of Apportion's, or else the first.
const Configuration& policy_to_draw(const Comparison& comparison) {
    const auto policies = comparison.policies();
    auto chosen = std::ranges::find(policies, "plb-hec");
    if (chosen == policies.end())
        chosen = std::ranges::find_if(policies, [](const std::string& p) { return find_policy(p) != nullptr; });
    return comparison.best_of(chosen == policies.end() ? policies.front() : *chosen);
}

std::string gantt_panel(const Comparison& comparison, const std::vector<ProcessorGroup>& groups, const Box& box) {
    const Configuration& c = policy_to_draw(comparison);
    const RunResult& run = c.median_run();
    std::vector<int> row_of(run.report.at("processors").size(), 0), colour_of(row_of.size(), 0);
    std::string tics;
    int rows = 0;
    for (std::size_t g = 0; g < groups.size(); ++g)
        for (std::size_t k = 0; k < groups[g].processors.size(); ++k) {
            const std::size_t p = groups[g].processors[k];
            if (p >= row_of.size()) continue;
            row_of[p] = rows;
            colour_of[p] = colour(g);
            const std::string name = groups[g].processors.size() > 1
                                         ? run.report.at("processors")[p].at("name").get<std::string>()
                                         : groups[g].name;
            tics += fmt::format("{}{} {}", rows ? ", " : "", gnuplot_text(name), rows);
            ++rows;
        }
    std::string script =
        panel(box, fmt::format("{} over time: {} blocks, {:.1f} % idle", c.policy, c.blocks(), c.idle_percent()));
    script += "$blocks << EOD\n";
    for (const auto& block : run.report.at("trace")) {
        if (block.value("given_back", false)) continue;
        const std::size_t p =
            block.at("processor").is_number_unsigned() ? block.at("processor").get<std::size_t>() : row_of.size();
        if (p >= row_of.size()) continue;
        script += fmt::format("{} {} {} {} {} {}\n", row_of[p], block.at("given").get<double>(),
                              block.at("start").get<double>(), block.at("end").get<double>(),
                              block.at("home").get<double>(), colour_of[p]);
    }
    script += "EOD\n";
    script += fmt::format(
        "set ytics ({}) scale 0\nset yrange [{}:-0.7]\nset xrange [0:{}]\nset xlabel 'seconds'\n"
        "unset grid\nset grid xtics lc rgb '#e4e4e4' lt 1\nset style fill solid border rgb 'white'\n",
        tics, rows - 0.3, run.makespan_s * 1.01);
    script += key_above(box, 1);
    script +=
        "plot $blocks using ($2+$5)/2:1:2:5:($1-0.07):($1+0.07) with boxxyerror fc rgb '#d0d0d0' fs solid "
        "noborder notitle";
    script += ", $blocks using ($3+$4)/2:1:3:4:($1-0.38):($1+0.38):6 with boxxyerror fc rgb variable notitle";
    script += ", NaN with boxes fc rgb '#4e79a7' title 'computes (colours as above)'";
    script += ", NaN with lines lw 3 lc rgb '#d0d0d0' title 'from handed out to result at home'";
    if (std::isfinite(comparison.lower_bound_s) && comparison.lower_bound_s < run.makespan_s)
        script += fmt::format(", $bound using 1:2 with lines dt 2 lw 2 lc rgb '{}' title 'lower bound'", kBoundColour);
    const std::string bound =
        fmt::format("$bound << EOD\n{0} -0.7\n{0} {1}\nEOD\n", comparison.lower_bound_s, rows - 0.3);
    return bound + script + "\n";
}

}  // namespace

void plot_comparison(const Comparison& comparison, const std::string& file) {
    const auto groups = processor_groups(comparison.configurations.front().median_run().report);
    std::string script = fmt::format("set multiplot title {} font ',16'\n", gnuplot_text(comparison_title(comparison)));
    script += makespans_panel(comparison, {0.05, 0.50, 0.55, 0.85});
    script += shares_panel(comparison, groups, {0.57, 0.85, 0.55, 0.85});
    script += gantt_panel(comparison, groups, {0.105, 0.98, 0.055, 0.415});
    script += "unset multiplot\n";
    draw(file, kWidth, kHeight, script);
}

}  // namespace apportion
