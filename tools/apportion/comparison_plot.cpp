// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "codelets/io/gnuplot.hpp"
#include "models/io/text.hpp"
#include "tools/apportion/processor_groups.hpp"

namespace apportion {

namespace {

constexpr int kWidth = 1600;
constexpr int kTitle = 60, kHeading = 70, kAxis = 60;  ///< heights in pixels
constexpr int kBarRow = 30, kTimeRow = 22, kKeyRow = 18;
constexpr int kLongestTimeline = 6000;
/// Of the width: names of policies and processors stand in front of kLeft.
constexpr double kLeft = 0.18, kShareLeft = 0.63, kShareRight = 0.84, kTimeRight = 0.98;

constexpr const char* kBarColour = "#4477aa";
constexpr const char* kDefaultColour = "#bbbbbb";
constexpr const char* kBoundColour = "#aa3377";
constexpr const char* kTravelColour = "#dddddd";

/// Of processors, in the order of their groups. Paul Tol's "muted", safe for all kinds of colour blindness.
constexpr std::array kColours = {0x332288, 0x88ccee, 0x44aa99, 0x117733, 0x999933,
                                 0xddcc77, 0xcc6677, 0x882255, 0xaa4499, 0xbbbbbb};

/// Colours of the groups: each its own. Where there are more, cores, which come first, have shades from dark to light,
/// and devices the colours.
std::vector<int> colours_of(const std::vector<ProcessorGroup>& groups) {
    constexpr std::array kDark = {0x22, 0x33, 0x55}, kLight = {0xcc, 0xdd, 0xee};
    const auto is_core = [](const ProcessorGroup& group) { return group.name.starts_with("CPU "); };
    const auto cores = static_cast<std::size_t>(std::ranges::count_if(groups, is_core));
    std::vector<int> colours;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        if (groups.size() <= kColours.size() || g >= cores) {
            const std::size_t before = groups.size() <= kColours.size() ? 0 : cores;
            colours.push_back(kColours[(g - before) % kColours.size()]);
            continue;
        }
        const double part = cores > 1 ? static_cast<double>(g) / static_cast<double>(cores - 1) : 0;
        int shade = 0;
        for (std::size_t k = 0; k < kDark.size(); ++k)
            shade = 256 * shade + static_cast<int>(std::lround(kDark[k] + part * (kLight[k] - kDark[k])));
        colours.push_back(shade);
    }
    return colours;
}

/// Where a box ends that is drawn with a gap behind it: an edge would be all there is of a box that is narrower.
double drawn_end(double begin, double end, double pixel) { return end - std::min(pixel, (end - begin) / 4); }

/// A picture that grows downwards, panel by panel; places are pixels from its top.
class Picture {
  public:
    explicit Picture(const Comparison& comparison)
        : comparison_(comparison),
          ranked_(ranked_policies(comparison, comparison.order())),
          groups_(processor_groups(comparison.best_reports())),
          colours_(colours_of(groups_)) {}

    void draw_into(const std::string& file, const std::string& timeline) {
        std::vector<std::string> drawn{ranked_.front()};
        if (timeline == "all")
            drawn = ranked_;
        else if (!timeline.empty())
            drawn = {timeline};
        // The title of the bars, then a line for each thing that is drawn of them.
        const int heading = kHeading - kKeyRow + kKeyRow * static_cast<int>(drawn_of_makespans());
        const int bars = heading + kBarRow * static_cast<int>(ranked_.size()) + kAxis;
        int rows = 0;
        for (const std::string& policy : drawn) rows = std::max(rows, rows_of(comparison_.best_of(policy)));
        int time_row = kTimeRow;
        const int timelines = static_cast<int>(drawn.size());
        while (time_row > 4 && timelines * (kHeading + time_row * rows + kAxis) > kLongestTimeline) --time_row;
        height_ = kTitle + bars + timelines * (kHeading + time_row * rows + kAxis);
        const std::string title = gnuplot_text(comparison_title(comparison_));
        script_ =
            fmt::format("set multiplot\nset label 1 {} at screen 0.5,{} center font ',16'\n", title, y(kTitle / 2));
        const int top = kTitle + heading, bottom = top + kBarRow * static_cast<int>(ranked_.size());
        makespans(top, bottom, heading);
        shares(top, bottom, heading);
        int at = bottom + kAxis;
        // All on one axis, so that they can be compared.
        for (const std::string& policy : drawn)
            longest_s_ = std::max(longest_s_, comparison_.best_of(policy).median_run().report.makespan_s);
        for (const std::string& policy : drawn) {
            timeline_of_policy(policy, at + kHeading, at + kHeading + time_row * rows);
            at += kHeading + time_row * rows + kAxis;
        }
        script_ += "unset multiplot\n";
        draw(file, kWidth, height_, script_);
    }

  private:
    double y(int pixels) const { return 1 - static_cast<double>(pixels) / height_; }

    /// `heading`: pixels above `top` for its title and its key.
    void begin_panel(double left, double right, int top, int bottom, int heading, const std::string& title) {
        script_ += fmt::format(
            "{}set lmargin at screen {}\nset rmargin at screen {}\nset tmargin at screen {}\nset bmargin at screen {}\n"
            "set border 1 lc rgb '#606060'\nset tics nomirror out scale 0.5 textcolor rgb '#202020'\n"
            "set label 2 {} at screen {},{} left font ',14'\nset style fill solid noborder\n"
            "set grid xtics lc rgb '#e4e4e4' lt 1\n",
            first_panel_ ? "" : "reset\nset encoding utf8\n", left, right, y(top), y(bottom), gnuplot_text(title), left,
            y(top - heading + 18));
        first_panel_ = false;
        script_ += fmt::format(
            "set key at screen {},{} left center horizontal maxrows 1 Left reverse samplen 1.5 width 1 font ',10'\n",
            left, y(top - 18));
    }

    bool bounded() const { return std::isfinite(comparison_.lower_bound_s); }
    bool any_default() const {
        return std::ranges::any_of(ranked_, [this](const std::string& policy) {
            return &comparison_.default_of(policy) != &comparison_.best_of(policy);
        });
    }
    bool has_intervals() const { return comparison_.rounds > 1; }
    std::size_t drawn_of_makespans() const {
        return std::size_t{1} + (any_default() ? 1 : 0) + (has_intervals() ? 1 : 0) + (bounded() ? 1 : 0);
    }

    void makespans(int top, int bottom, int heading) {
        begin_panel(kLeft, 0.6, top, bottom, heading, "Makespan");
        script_ += fmt::format(
            "set key at screen {},{} left top vertical maxcols 1 maxrows {} Left reverse samplen 1.5 font ',10'\n",
            kLeft, y(top - heading + kHeading / 2), drawn_of_makespans());
        std::string bars, tics;
        double longest = 0;
        for (std::size_t i = 0; i < ranked_.size(); ++i) {
            const Configuration& best = comparison_.best_of(ranked_[i]);
            const Configuration& first = comparison_.default_of(ranked_[i]);
            const Interval interval = median_interval(best.seconds());
            const bool has_default = &first != &best;
            longest = std::max({longest, interval.high, has_default ? first.median_s() : 0.0});
            bars += fmt::format("{} {} {} {} {} \"{}\"\n", i, best.median_s(), interval.low, interval.high,
                                has_default ? fmt::format("{}", first.median_s()) : "NaN",
                                bounded() ? fmt::format("{:.2f}", best.median_s() / comparison_.lower_bound_s)
                                          : fmt::format("{:.3g} s", best.median_s()));
            tics += fmt::format("{}{} {}", i ? ", " : "",
                                gnuplot_text(fmt::format("{}, {}", ranked_[i], counted(best.blocks(), "block"))), i);
        }
        const double last = static_cast<double>(ranked_.size()) - 0.5;
        script_ += fmt::format("$bound << EOD\n{0} -0.5\n{0} {1}\nEOD\n", comparison_.lower_bound_s, last);
        script_ += fmt::format(
            "$bars << EOD\n{}EOD\nset ytics ({}) scale 0\nset yrange [{}:-0.5]\nset xrange [0:{}]\n"
            "set xlabel 'seconds'\n",
            bars, tics, last, longest * 1.1);
        if (any_default())
            script_ += fmt::format(
                "plot $bars using ($5/2):1:(0):5:($1-0.4):($1+0.4) with boxxyerror fc rgb '{}' title "
                "'default number of equal blocks', ",
                kDefaultColour);
        else
            script_ += "plot ";
        script_ += fmt::format("$bars using ($2/2):1:(0):2:($1-{0}):($1+{0}) with boxxyerror fc rgb '{1}' title '{2}'",
                               any_default() ? 0.22 : 0.36, kBarColour,
                               any_default() ? "best number, or own blocks" : "median");
        if (has_intervals())
            script_ +=
                ", $bars using 2:1:3:4 with xerrorbars pt 0 lw 1.5 lc rgb '#202020' title 'interval of the median'";
        script_ += ", $bars using 4:1:6 with labels left offset 0.7,0 font ',10' notitle";
        if (bounded())
            script_ += fmt::format(
                ", $bound using 1:2 with lines dt 2 lw 2 lc rgb '{}' title '{} lower bound, bars in multiples of it'",
                kBoundColour, comparison_.bound_is_measured ? "measured" : "exact");
        script_ += "\n";
    }

    void shares(int top, int bottom, int heading) {
        begin_panel(kShareLeft, kShareRight, top, bottom, heading,
                    has_several_loads(comparison_) ? "Share of the work" : "Share of the units");
        constexpr double kPixel = 100 / ((kShareRight - kShareLeft) * kWidth);
        std::string boxes;
        for (std::size_t i = 0; i < ranked_.size(); ++i) {
            const RunReport& report = comparison_.best_of(ranked_[i]).median_run().report;
            double below = 0;
            for (std::size_t g = 0; g < groups_.size(); ++g) {
                const double share = share_percent(report, groups_[g]).value_or(0);
                boxes += fmt::format("{} {} {} {}\n", i, below, drawn_end(below, below + share, kPixel), colours_[g]);
                below += share;
            }
        }
        script_ += fmt::format(
            "$shares << EOD\n{}EOD\nunset ytics\nset yrange [{}:-0.5]\nset xrange [0:100]\nset xlabel 'percent'\n"
            "set key at screen 0.85,{} left top vertical maxrows 30 Left reverse samplen 1.5 spacing 0.9 font ',9'\n",
            boxes, static_cast<double>(ranked_.size()) - 0.5, y(top - heading + 40));
        script_ += "plot $shares using ($2+$3)/2:1:2:3:($1-0.36):($1+0.36):4 with boxxyerror fc rgb variable notitle";
        for (std::size_t g = 0; g < groups_.size(); ++g)
            script_ +=
                fmt::format(", NaN with boxes fc rgb '#{:06x}' title {}", colours_[g], gnuplot_text(groups_[g].name));
        script_ += "\n";
    }

    int rows_of(const Configuration& c) const { return static_cast<int>(c.median_run().report.processors.size()); }

    void timeline_of_policy(const std::string& policy, int top, int bottom) {
        const Configuration& c = comparison_.best_of(policy);
        const RunReport& report = c.median_run().report;
        const auto& processors = report.processors;
        std::vector<int> row_of(processors.size(), 0), colour_of(processors.size(), colours_.front());
        std::string tics;
        int rows = 0;
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            if (processor_names(report) != groups_[g].beside) continue;
            for (const std::string& full_name : groups_[g].processors) {
                const auto its = std::ranges::find(processors, full_name, &ReportedProcessor::name);
                const auto p = static_cast<std::size_t>(its - processors.begin());
                row_of[p] = rows;
                colour_of[p] = colours_[g];
                const std::string name = groups_[g].processors.size() > 1 ? full_name : groups_[g].name;
                tics += fmt::format("{}{} {}", rows ? ", " : "", gnuplot_text(name), rows);
                ++rows;
            }
        }
        const std::vector<RunReport>& loads = c.median_run().largest_reports;
        const bool all =
            std::ranges::all_of(c.median_run().loads, [](const LoadTimes& load) { return load.runs == 1; });
        begin_panel(kLeft, kTimeRight, top, bottom, kHeading,
                    fmt::format("{} over time{}: {}{}, {:.1f} % idle", policy, all ? "" : ", last run",
                                counted(report.blocks, "block"),
                                loads.size() > 1 ? fmt::format(" of {} loads, with lines between", loads.size()) : "",
                                report.idle_percent));
        double end_s = 0;
        for (std::size_t load = 0; load + 1 < loads.size(); ++load) {
            end_s += loads[load].makespan_s;
            script_ += fmt::format("set arrow from {0},graph 0 to {0},graph 1 nohead front lc rgb '#202020'\n", end_s);
        }
        const double most_s = longest_s_ * 1.01, pixel_s = most_s / ((kTimeRight - kLeft) * kWidth);
        std::string blocks;
        for (const ReportedBlock& block : report.trace)
            if (!block.given_back)
                blocks += fmt::format("{} {} {} {} {} {}\n", row_of[block.processor], block.given_s, block.start_s,
                                      drawn_end(block.start_s, block.end_s, pixel_s), block.home_s,
                                      colour_of[block.processor]);
        script_ += fmt::format(
            "$blocks << EOD\n{}EOD\nset ytics ({}) scale 0\nset yrange [{}:-0.5]\nset xrange [0:{}]\n"
            "set xlabel 'seconds'\n",
            blocks, tics, rows - 0.5, most_s);
        script_ += fmt::format(
            "plot $blocks using ($2+$5)/2:1:2:5:($1-0.1):($1+0.1) with boxxyerror fc rgb '{}' fs solid "
            "noborder notitle",
            kTravelColour);
        script_ += ", $blocks using ($3+$4)/2:1:3:4:($1-0.4):($1+0.4):6 with boxxyerror fc rgb variable notitle";
        script_ += fmt::format(
            ", NaN with boxes fc rgb '{}' title 'computes (colours as above)', NaN with lines lw 4 lc "
            "rgb '{}' title 'handed out, or results on the way'\n",
            kBarColour, kTravelColour);
    }

    const Comparison& comparison_;
    std::vector<std::string> ranked_;
    std::vector<ProcessorGroup> groups_;
    std::vector<int> colours_;  ///< of the groups
    std::string script_;
    int height_ = 0;
    double longest_s_ = 0;     ///< of the runs that are drawn over time
    bool first_panel_ = true;  ///< which has the picture's title, too
};

}  // namespace

void plot_comparison(const Comparison& comparison, const std::string& file, const std::string& timeline) {
    Picture(comparison).draw_into(file, timeline);
}

}  // namespace apportion
