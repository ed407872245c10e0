// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Advects a rotating body by MPDATA, time step after time step, under the scheduler that STARPU_SCHED names.
#include "codelets/mpdata/mpdata.hpp"

#include <fmt/format.h>
#include <starpu.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>

#include "apps/app.hpp"
#include "apps/nodes.hpp"
#include "apps/rectangles.hpp"
#include "codelets/io/gnuplot.hpp"
#include "models/io/text.hpp"

namespace {

using namespace apportion;

struct MpdataOptions {
    AppOptions common;
    std::string size, picture, rectangles;
    std::string body = "cone";
    double courant = 0.9;
    int steps = 10;
    int at_once = 1;
};

struct Sizes {
    int nx = 0, ny = 0, nz = 0;
};

Sizes parse_sizes(const std::string& text) {
    constexpr std::uint64_t kMost = 1U << 20;
    const std::vector<std::uint64_t> sizes = parse_size(text, {1, 3}, "one size or NX,NY,NZ", kMost);
    const auto at = [&](std::size_t i) { return static_cast<int>(sizes[sizes.size() == 1 ? 0 : i]); };
    return {at(0), at(1), at(2)};
}

void check(const MpdataOptions& options) {
    if (options.common.repeat > 0) throw UserError("--repeat: time steps are repeated already; give --steps");
    if (!(options.courant > 0 && options.courant <= 1))
        throw UserError("--courant {}: the scheme is unstable above 1, and nothing moves at 0; give a number between",
                        options.courant);
    if (options.steps % options.at_once != 0)
        throw UserError("--steps {}: it must be a multiple of --steps-at-once {}", options.steps, options.at_once);
    if (!options.rectangles.empty() && Nodes::here().over_nodes())
        throw UserError("--rectangles: rectangles run on one machine; leave it out here");
    refuse_in_simulation(options.common, {{"--plot", options.picture}});
}

/// What must hold for any flow without divergence.
struct Invariants {
    double sum = 0, smallest = 0, largest = 0;

    explicit Invariants(const MpdataField& field)
        : sum(field.sum()), smallest(field.smallest()), largest(field.largest()) {}
};

/// One sentence when the field lost mass, became negative or left its bounds beyond rounding; or nothing.
std::string broken(const Invariants& before, const Invariants& now, const MpdataField& field, int steps) {
    const double cells = static_cast<double>(field.nx()) * field.grid().ny * field.grid().nz;
    const double rounding = 1e-15 * steps * std::sqrt(cells);
    if (std::abs(now.sum - before.sum) > rounding * before.sum)
        return fmt::format("mass changed from {:.17g} to {:.17g}", before.sum, now.sum);
    if (now.smallest < 0) return fmt::format("the field became negative: {:.3g}", now.smallest);
    if (now.largest > before.largest * (1 + rounding))
        return fmt::format("the field's largest value grew from {:.17g} to {:.17g}", before.largest, now.largest);
    return "";
}

/// Viridis (van der Walt and Smith): as much lighter as larger, also in grey and for the colour-blind.
constexpr const char* kPalette =
    "0 '#440154', 1 '#472c7a', 2 '#3b518b', 3 '#2c718e', 4 '#21908d', 5 '#27ad81', 6 '#5cc863', 7 '#aadc32', 8 "
    "'#fde725'";

/// Draws the largest value along x over y and z, after so many steps, as a file that appears only when it is whole.
void draw_field(const std::string& file, const MpdataField& field, int steps) {
    std::string script = "$field << EOD\n";
    for (int y = 0; y < field.grid().ny; ++y) {
        for (int z = 0; z < field.grid().nz; ++z) {
            double most = 0;
            for (int x = 0; x < field.nx(); ++x) most = std::max(most, field.psi(x, y, z));
            script += fmt::format("{:g} ", most);
        }
        script += '\n';
    }
    script += fmt::format(
        "EOD\nset title 'largest psi along x after {}'\nset xlabel 'z'\nset ylabel 'y'\nset cblabel 'psi'\n"
        "set size ratio {}\nset xrange [-0.5:{}]\nset yrange [-0.5:{}]\nset cbrange [0:*]\n"
        "set palette defined ({})\nplot $field matrix with image notitle\n",
        counted(steps, "step"), static_cast<double>(field.grid().ny) / field.grid().nz, field.grid().nz - 0.5,
        field.grid().ny - 0.5, kPalette);
    draw(file, 800, 700, script);
}

/// In the domain's columns: as planned, or enlarged by whole numbers, so that shares are those of the plan.
PartsOfWorkers rectangles_of(const MpdataField& field, const std::string& file) {
    const auto rows = static_cast<std::size_t>(field.grid().ny), planes = static_cast<std::size_t>(field.nx());
    const auto [side, of_workers] = read_rectangles(file, rows, planes);
    if (rows % side != 0 || planes % side != 0)
        throw UserError(
            "--rectangles {}: is of {} x {} blocks, which the domain's {} x {} columns cannot be divided into", file,
            side, side, planes, rows);
    return of_workers;
}

/// Teams of cores in two dimensions, as in the paper on load imbalancing (section 5.4, Fig. 8): each computes its
/// rectangles of the domain's columns in every time step. A matrix's column is a plane of the field.
Outcome run_in_rectangles(const std::shared_ptr<MpdataField>& field, const std::string& file,
                          const AppOptions& options) {
    const PartsOfWorkers of_workers = rectangles_of(*field, file);
    const auto workload = make_mpdata(field, of_workers);
    for (unsigned w = 0; w < of_workers.size(); ++w)
        if (!of_workers[w].empty() && !can_run(w, workload->codelet()))
            throw UserError("--rectangles {}: {} is no CPU core, and only these compute rectangles; plan without it",
                            file, worker_name(w));
    if (starpu_memory_nodes_get_numa_count() > 1)  // rectangles write rows of planes, in the field itself
        throw UserError("--rectangles computes in one memory: run without STARPU_USE_NUMA");
    return run_rectangles(*workload, of_workers, options.repeat, [&](int step, Outcome& outcome) {
        if (kSimulated) return;
        if (options.verify && step == options.repeat) outcome.verification = workload->verify();
        field->advance();
    });
}

int advect(MpdataOptions options) {
    Nodes& nodes = Nodes::here();
    const bool has_content = nodes.home() && !kSimulated;  // the others have room for it
    Sizes sizes;
    std::shared_ptr<MpdataField> field;
    nodes.agreed([&] {
        check(options);
        sizes = parse_sizes(options.size);
        field = std::make_shared<MpdataField>(sizes.nx, MpdataGrid{sizes.ny, sizes.nz, options.at_once});
        if (!options.picture.empty()) check_plot(options.picture);
        if (has_content)
            rotating_body(*field, options.body == "cone" ? MpdataBody::cone : MpdataBody::sphere, options.courant);
    });
    const auto before = has_content ? std::make_unique<Invariants>(*field) : nullptr;

    Outcome outcome;
    double operations = 0;
    {
        const StarpuSession session;
        const auto workload = make_mpdata(field);
        operations = workload->shape().task_operations(workload->shape().units);
        options.common.repeat = options.steps / options.at_once;
        std::optional<Peer> peer;
        if (!options.common.peer.empty()) {
            const MpdataGrid grid = field->grid();
            peer = Peer{"a loop without tasks, 1 thread", [field, grid] {
                            mpdata_advance(grid, field->plane(-grid.halo()), field->courant_planes(-grid.halo()),
                                           field->result_plane(0), field->nx());
                        }};
        }
        outcome = options.rectangles.empty() ? run_load(*workload, options.common, peer, [field] { field->advance(); })
                                             : run_in_rectangles(field, options.rectangles, options.common);
    }
    nlohmann::ordered_json head{
        {"app", "mpdata"},
        {"size", {sizes.nx, sizes.ny, sizes.nz}},
        {"steps", options.steps},
        {"steps_at_once", options.at_once},
        {"total_seconds", std::accumulate(outcome.seconds.begin(), outcome.seconds.end(), 0.0)}};
    std::string title = fmt::format("mpdata, {} x {} x {} cells, {} time steps, {} at once", sizes.nx, sizes.ny,
                                    sizes.nz, options.steps, options.at_once);
    if (before) {
        const Invariants now(*field);
        const double mass_change = before->sum > 0 ? now.sum / before->sum - 1 : now.sum;
        head["mass_change"] = mass_change;
        head["smallest"] = now.smallest;
        head["largest"] = now.largest;
        title +=
            fmt::format("\n  mass changed by {:.1e} of it; values from {:.3g} to {:.3g} (at first: {:.3g} to {:.3g})",
                        mass_change, now.smallest, now.largest, before->smallest, before->largest);
        if (const std::string problem = broken(*before, now, *field, options.steps); !problem.empty())
            throw std::runtime_error(problem);
        if (!options.picture.empty()) draw_field(options.picture, *field, options.steps);
    }
    return print_outcome(outcome, options.common, operations, std::move(head), title);
}

}  // namespace

int main(int argc, char** argv) {
    MpdataOptions options;
    CLI::App cli(
        "Advects a rotating body by MPDATA, in blocks of planes whose sizes the scheduler named by STARPU_SCHED "
        "decides",
        "mpdata");
    cli.add_option("--size", options.size, "cells; one number: all three")->required()->type_name("NX[,NY,NZ]");
    cli.add_option("--steps", options.steps, "time steps")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str()
        ->type_name("N");
    cli.add_option("--steps-at-once", options.at_once,
                   "time steps of one submission: more save halo exchanges and cost redundant planes")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str()
        ->type_name("T");
    add_choice(cli, "--body", options.body, "what rotates: a cone or a sphere of constant density", {"cone", "sphere"});
    cli.add_option("--courant", options.courant, "largest sum of Courant numbers out of a cell, at most 1")
        ->capture_default_str()
        ->type_name("C");
    cli.add_option("--plot", options.picture,
                   "draw the field across the axis of rotation into this .png, .svg or .pdf file")
        ->type_name("FILE.png");
    add_peer(cli, options.common, "a plain loop over all planes");
    cli.add_option("--rectangles", options.rectangles,
                   "instead of blocks: rectangles of columns for each processor, from apportion plan --matrix N --json")
        ->type_name("FILE")
        ->excludes("--peer", "--steps-at-once");
    add_app_options(cli, options.common);
    cli.get_option("--repeat")->group("");  // it is refused: not in the help
    return run_app(cli, argc, argv, [&] { return advect(options); });
}
