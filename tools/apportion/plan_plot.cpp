// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/plan_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "codelets/io/gnuplot.hpp"
#include "models/akima.hpp"
#include "models/fitted_curve.hpp"
#include "models/io/text.hpp"
#include "models/piecewise_linear.hpp"
#include "models/speed_trend.hpp"
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

double work_per_s(double units, double seconds, double work_power) { return std::pow(units, work_power) / seconds; }

struct SpeedAxis {
    double low = 0, high = 0;
    bool powers_of_ten = false;

    std::string script() const {
        return fmt::format("{}set yrange [{}:{}]\n", powers_of_ten ? "set logscale y\nset format y '1e%L'\n" : "", low,
                           high);
    }
};

/// All panels have the same scale, so that speeds can be compared; where they differ much, in powers of ten.
SpeedAxis speed_axis(const Profile& profile, double work_power) {
    constexpr double kMuch = 10;
    double least = std::numeric_limits<double>::infinity(), least_top = least, top = 0;
    for (const ProcessorProfile& processor : profile.processors) {
        double most = 0;
        for (const ProfilePoint& point : processor.points) {
            const double speed = work_per_s(static_cast<double>(point.units), point.seconds, work_power);
            most = std::max(most, speed);
            least = std::min(least, speed);
        }
        top = std::max(top, most);
        least_top = std::min(least_top, most);
    }
    if (top <= kMuch * least_top) return {0, 1.1 * top, false};
    return {0.8 * least, 1.25 * top, true};
}

/// The processor's shares of the plans.
std::set<Units> shares_of(std::span<const Plan> plans, std::size_t index) {
    std::set<Units> shares;
    for (const Plan& plan : plans)
        if (plan.failure.empty() && plan.shares[index] > 0) shares.insert(plan.shares[index]);
    return shares;
}

void add_panel(std::string& script, std::size_t index, const ProcessorProfile& processor, std::span<const Plan> plans,
               const SpeedAxis& axis, double work_power) {
    std::vector<BlockTime> samples, of_work;  // the second as if a unit were work
    script += fmt::format("$data{} << EOD\n", index);
    for (const ProfilePoint& point : processor.points) {
        const auto units = static_cast<double>(point.units);
        samples.push_back({units, point.seconds});
        of_work.push_back({units, point.seconds / std::pow(units, work_power - 1)});
        const auto speed = [&](double seconds) { return work_per_s(units, seconds, work_power); };
        // The interval of the time as one of the speed.
        const double high = speed(point.seconds > point.ci_s ? point.seconds - point.ci_s : point.seconds);
        script += fmt::format("{} {} {} {}\n", units, speed(point.seconds), speed(point.seconds + point.ci_s), high);
    }
    script += "EOD\n";
    const auto linear = PiecewiseLinear::through(samples, PiecewiseLinear::Shape::restricted);
    const auto akima = Akima::through(samples);
    const auto curve = FittedCurve::fit(samples);
    const auto trend = SpeedTrend::through(of_work);
    const MeasuredRange range{samples.front().units, samples.back().units};
    const auto add = [&](const char* name, const auto& seconds) {
        add_curve(script, fmt::format("{}{}", name, index), range,
                  [&](double x) { return work_per_s(x, seconds(x), work_power); });
    };
    add("linear", [&](double x) { return x / linear->speed(x); });
    add("akima", [&](double x) { return x / akima->speed(x); });
    if (curve) add("curve", [&](double x) { return curve->seconds(x); });
    if (trend) add_curve(script, fmt::format("trend{}", index), range, [&](double x) { return trend->speed(x); });
    const bool few = samples.size() <= 200;
    const std::set<Units> shares = shares_of(plans, index);
    std::string title = processor.name;
    if (plans.size() == 1)
        title += fmt::format(": {} by {}", counted(shares.empty() ? Units{0} : *shares.begin(), "unit"),
                             plans.front().algorithm);
    script += fmt::format("set title {} noenhanced\nset xrange [0:{}]\n", gnuplot_text(title), 1.02 * range.largest);
    if (!shares.empty()) {
        script += fmt::format("$shares{} << EOD\n", index);
        // From one end of the axis to the other, then a gap.
        for (const Units share : shares) script += fmt::format("{0} {1}\n{0} {2}\n\n", share, axis.low, axis.high);
        script += "EOD\n";
    }
    script += fmt::format("plot $data{0} using 1:2:3:4 with {1} title \"measured\"", index,
                          few ? "yerrorbars pt 7 ps 0.6 lc rgb \"#808080\"" : "points pt 7 ps 0.3 lc rgb \"#a0a0a0\"");
    script += fmt::format(", $akima{} with lines lw 1 lc rgb \"#66ccee\" title \"Akima\"", index);
    script +=
        fmt::format(", $linear{} with lines lw 2 lc rgb \"#aa3377\" title \"piecewise linear, restricted\"", index);
    if (curve) script += fmt::format(", $curve{} with lines lw 2 lc rgb \"#228833\" title \"least squares\"", index);
    if (trend) script += fmt::format(", $trend{} with lines lw 2 lc rgb \"#ccbb44\" title \"polynomial trend\"", index);
    if (!shares.empty())
        script += fmt::format(", $shares{} with lines dt 2 lw 1.5 lc rgb \"#202020\" title \"{}\"", index,
                              plans.size() == 1 ? "its share" : "shares of the plans");
    script += "\n";
}

}  // namespace

void plot_models(const Profile& profile, std::span<const Plan> plans, double work_power, const std::string& path) {
    constexpr int kMostPanels = 64;
    const int panels = static_cast<int>(profile.processors.size());
    if (panels > kMostPanels)
        throw UserError(
            "--plot {}: the profile has {} processors, more than the {} that one picture can show; plot a part of it",
            path, panels, kMostPanels);
    const int columns = panels < 2 ? 1 : static_cast<int>(std::ceil(std::sqrt(panels)));
    const int rows = (panels + columns - 1) / columns;
    const SpeedAxis axis = speed_axis(profile, work_power);
    std::string script = fmt::format("set xlabel \"units\"\nset ylabel \"units{} per second\"\n",
                                     work_power == 1 ? "" : fmt::format(" to the power {}", work_power)) +
                         "set grid\nset rmargin 4\n"
                         "set key outside bottom center horizontal maxrows 2 Left reverse samplen 2 font ',10'\n" +
                         axis.script();
    script += fmt::format("set multiplot layout {},{}\n", rows, columns);
    for (std::size_t i = 0; i < profile.processors.size(); ++i)
        add_panel(script, i, profile.processors[i], plans, axis, work_power);
    script += "unset multiplot\n";
    draw(path, 640 * columns, 480 * rows, script);
}

}  // namespace apportion
