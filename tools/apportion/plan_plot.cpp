// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/plan_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "models/akima.hpp"
#include "models/fitted_curve.hpp"
#include "models/piecewise_linear.hpp"

namespace apportion {

namespace {

constexpr int kCurvePoints = 800;

/// gnuplot's double-quoted strings, and its enhanced text, give some characters a meaning.
std::string text(const std::string& name) {
    std::string out;
    for (char c : name) {
        if (c == '"' || c == '\\') out += '\\';
        if (static_cast<unsigned char>(c) >= ' ') out += c;
    }
    return out;
}

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

std::string terminal(const std::string& path, int columns, int rows) {
    const int width = 640 * columns, height = 420 * rows;
    if (path.ends_with(".svg")) return fmt::format("set terminal svg size {},{} noenhanced\n", width, height);
    if (path.ends_with(".pdf"))
        return fmt::format("set terminal pdfcairo size {}in,{}in noenhanced\n", 6.4 * columns, 4.2 * rows);
    return fmt::format("set terminal pngcairo size {},{} noenhanced\n", width, height);
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
    const auto linear = PiecewiseLinear::through(samples, PiecewiseLinear::Shape::kRestricted);
    const auto akima = Akima::through(samples);
    const auto curve = FittedCurve::fit(samples);
    const MeasuredRange range = akima->range();
    add_curve(script, fmt::format("linear{}", index), range, [&](double x) { return linear->speed(x); });
    add_curve(script, fmt::format("akima{}", index), range, [&](double x) { return akima->speed(x); });
    if (curve) add_curve(script, fmt::format("curve{}", index), range, [&](double x) { return x / curve->seconds(x); });
    const bool few = samples.size() <= 200;
    script += fmt::format("set title \"{}\"\n", text(processor.name));
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
    const int panels = static_cast<int>(profile.processors.size());
    const int columns = panels < 2 ? 1 : static_cast<int>(std::ceil(std::sqrt(panels)));
    const int rows = (panels + columns - 1) / columns;
    const std::string beside = path + ".part";
    std::string script = terminal(path, columns, rows);
    script += fmt::format("set output \"{}\"\n", text(beside));
    script +=
        "set xlabel \"units\"\nset ylabel \"units per second\"\nset yrange [0:*]\nset grid\nset rmargin 4\nset key "
        "bottom right\n";
    script += fmt::format("set multiplot layout {},{}\n", rows, columns);
    for (std::size_t i = 0; i < profile.processors.size(); ++i) add_panel(script, i, profile.processors[i]);
    script += "unset multiplot\nset output\n";

    const auto previous = std::signal(SIGPIPE, SIG_IGN);  // a gnuplot that ends early is an error, not the end
    errno = 0;
    std::FILE* gnuplot = popen("gnuplot", "w");
    if (gnuplot == nullptr)
        throw FileError(fmt::format("{}: gnuplot cannot be started: {}; install it", path, std::strerror(errno)));
    const bool written = std::fwrite(script.data(), 1, script.size(), gnuplot) == script.size();
    const bool drawn = pclose(gnuplot) == 0;
    std::signal(SIGPIPE, previous);
    if (!drawn || !written) {
        std::remove(beside.c_str());
        throw FileError(
            fmt::format("{}: gnuplot could not draw the models; install gnuplot, and check that the path can "
                        "be written",
                        path));
    }
    if (std::rename(beside.c_str(), path.c_str()) != 0)
        throw FileError(fmt::format("{}: cannot be written: {}; check the path", path, std::strerror(errno)));
}

}  // namespace apportion
