// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/plan_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "codelets/io/gnuplot.hpp"
#include "models/akima.hpp"
#include "models/fitted_curve.hpp"
#include "models/piecewise_linear.hpp"
#include "tools/apportion/command.hpp"

namespace apportion {

namespace {

constexpr int kCurvePoints = 800;

/// `speed` at points between the smallest and the largest measured size, as a data block of gnuplot.
template <typename Speed>
void add_curve(std::string& script, const std::string& block, MeasuredRange range, Speed speed) {
    script += "$" + block + " << EOD\n";
    for (int k = 0; k <= kCurvePoints; ++k) {
        const double x = range.smallest + (range.largest - range.smallest) * k / kCurvePoints;
        if (x > 0) script += fmt::format("{} {}\n", x, speed(x));
    }
    script += "EOD\n";
}

void add_panel(std::string& script, std::size_t index, const ProcessorProfile& processor) {
    std::vector<BlockTime> samples;
    script += fmt::format("$data{} << EOD\n", index);
    for (const ProfilePoint& point : processor.points) {
        const auto units = static_cast<double>(point.units);
        samples.push_back({units, point.seconds});
        // The interval of the time as one of the speed.
        const double low = units / (point.seconds + point.ci_s);
        const double high = point.seconds > point.ci_s ? units / (point.seconds - point.ci_s) : units / point.seconds;
        script += fmt::format("{} {} {} {}\n", units, units / point.seconds, low, high);
    }
    script += "EOD\n";
    const auto linear = PiecewiseLinear::through(samples, PiecewiseLinear::Shape::restricted);
    const auto akima = Akima::through(samples);
    const auto curve = FittedCurve::fit(samples);
    const MeasuredRange range = akima->range();
    add_curve(script, fmt::format("linear{}", index), range, [&](double x) { return linear->speed(x); });
    add_curve(script, fmt::format("akima{}", index), range, [&](double x) { return akima->speed(x); });
    if (curve) add_curve(script, fmt::format("curve{}", index), range, [&](double x) { return x / curve->seconds(x); });
    const bool few = samples.size() <= 200;
    script += fmt::format("set title {} noenhanced\n", gnuplot_text(processor.name));
    script += fmt::format("plot $data{0} using 1:2:3:4 with {1} title \"measured\"", index,
                          few ? "yerrorbars pt 7 ps 0.6 lc rgb \"#606060\"" : "points pt 7 ps 0.3 lc rgb \"#909090\"");
    script += fmt::format(", $akima{} with lines lw 1 lc rgb \"#1f77b4\" title \"Akima\"", index);
    script +=
        fmt::format(", $linear{} with lines lw 2 lc rgb \"#d62728\" title \"piecewise linear, restricted\"", index);
    if (curve) script += fmt::format(", $curve{} with lines lw 2 lc rgb \"#2ca02c\" title \"least squares\"", index);
    script += "\n";
}

}  // namespace

void plot_models(const Profile& profile, const std::string& path) {
    constexpr int kMostPanels = 64;
    const int panels = static_cast<int>(profile.processors.size());
    if (panels > kMostPanels)
        throw UserError(
            fmt::format("--plot {}: the profile has {} processors, more than the {} that one picture can show; "
                        "plot a part of it",
                        path, panels, kMostPanels));
    const int columns = panels < 2 ? 1 : static_cast<int>(std::ceil(std::sqrt(panels)));
    const int rows = (panels + columns - 1) / columns;
    std::string script =
        "set xlabel \"units\"\nset ylabel \"units per second\"\nset yrange [0:*]\nset grid\nset rmargin 4\n"
        "set key bottom right\n";
    script += fmt::format("set multiplot layout {},{}\n", rows, columns);
    for (std::size_t i = 0; i < profile.processors.size(); ++i) add_panel(script, i, profile.processors[i]);
    script += "unset multiplot\n";
    draw(path, 640 * columns, 420 * rows, script);
}

}  // namespace apportion
