// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Solves many systems of linear equations by the Jacobi method under the scheduler that STARPU_SCHED names.
#include "codelets/jacobi_batch/jacobi_batch.hpp"

#include <fmt/format.h>
#include <starpu.h>

#include <CLI/CLI.hpp>
#include <string>

#include "apps/app.hpp"
#include "apps/nodes.hpp"
#include "codelets/io/npy.hpp"
#include "models/io/text.hpp"

namespace {

using namespace apportion;

struct BatchOptions {
    AppOptions common;
    std::string size, a_file, b_file, out_file;
    std::string type = "double";
    std::uint64_t iterations = kPaperIterations;
};

JacobiBatch read_batch(const BatchOptions& options) {
    const NpyHeader a = read_npy_rows_header(options.a_file, NpyElements::real);
    const NpyHeader b = read_npy_rows_header(options.b_file, NpyElements::real);
    if (a.shape.size() != 3 || a.shape[1] != a.shape[2])
        throw UserError("{}: must have 3 dimensions, systems x unknowns x unknowns, and has {} of {}", options.a_file,
                        counted(a.rows, "row"), counted(a.columns, "element"));
    if (b.shape.size() != 2 || b.shape[0] != a.shape[0] || b.shape[1] != a.shape[1])
        throw UserError("{}: must be a matrix of {} x {}, systems x unknowns, and is {} x {}", options.b_file,
                        a.shape[0], a.shape[1], b.rows, b.columns);
    if (a.type != b.type)
        throw UserError("{} and {} have different element types; use float32 or float64 for both", options.a_file,
                        options.b_file);
    require_free_memory(matrix_bytes(a.type, a.columns, a.rows), "the matrices");
    Matrix x(a.type, a.shape[1], a.shape[0]);
    JacobiBatch batch{options.a_file, read_npy_rows(options.a_file, NpyElements::real),
                      read_npy_rows(options.b_file, NpyElements::real), std::move(x), options.iterations};
    require_finite(options.b_file, batch.b, NpyRead::by_rows);
    check_solvable(batch);
    return batch;
}

JacobiBatch make_batch(const BatchOptions& options) {
    if (!options.a_file.empty()) return read_batch(options);
    const auto size = parse_size(options.size, {1, 2}, "unknowns N, or systems and unknowns S,N");
    return random_jacobi_batch(real_type(options.type), size.size() == 2 ? size.front() : kDefaultSystems, size.back(),
                               options.iterations, options.common.seed);
}

void check(const BatchOptions& options) {
    if (options.size.empty() && options.a_file.empty()) throw UserError("give --size [S,]N, or --a and --b");
    refuse_in_simulation(options.common, {{"--a", options.a_file}, {"--out", options.out_file}});
    check_output(options.out_file);
}

int solve(const BatchOptions& options) {
    Nodes::here().agreed([&] { check(options); });
    struct Shape {
        ElementType type;
        std::size_t systems, n;
    };
    const auto batch = std::make_shared<JacobiBatch>(make_on_home(
        [&] { return make_batch(options); },
        [](const JacobiBatch& b) {
            return Shape{b.a.type(), b.systems(), b.n()};
        },
        [&](const Shape& s) {
            return JacobiBatch{"a part of the batch", Matrix(s.type, s.n, s.n * s.systems),
                               Matrix(s.type, s.n, s.systems), Matrix(s.type, s.n, s.systems), options.iterations};
        }));
    Outcome outcome;
    {
        const StarpuSession session;
        const auto workload = make_jacobi_batch(batch);
        std::optional<Peer> peer;
        if (!options.common.peer.empty())
            peer = Peer{"OpenBLAS gemv and a loop, 1 thread", [&batch] { jacobi_batch_by_blas(*batch); }};
        outcome = run_load(*workload, options.common, peer);
    }
    const BatchProgress progress = kSimulated || !Nodes::here().home() ? BatchProgress{} : batch_progress(*batch);
    if (!progress.failure.empty()) throw std::runtime_error(progress.failure);
    if (is_to_be_written(outcome, options.out_file))
        write_npy_rows(options.out_file, batch->x, {batch->systems(), batch->n()});
    const char* type = real_name(batch->a.type());
    nlohmann::ordered_json head{
        {"app", "jacobi_batch"}, {"size", {batch->systems(), batch->n(), batch->iterations}}, {"type", type}};
    std::string title = fmt::format("jacobi_batch, {} of {}, {}, {}", counted(batch->systems(), "system"),
                                    counted(batch->n(), "unknown"), counted(batch->iterations, "iteration"), type);
    if (!kSimulated) {
        head["residual"] = progress.residual;
        title += fmt::format("\n  residuals are at most {:.2g} of those that x = 0 leaves", progress.residual);
    }
    return print_outcome(outcome, options.common, batch->operations(), std::move(head), title);
}

}  // namespace

int main(int argc, char** argv) {
    BatchOptions options;
    CLI::App cli("Many systems by the Jacobi method, in blocks whose sizes the scheduler named by STARPU_SCHED decides",
                 "jacobi_batch");
    auto* size =
        cli.add_option("--size", options.size, "S generated, diagonally dominant systems (default: 64) of N unknowns")
            ->type_name("[S,]N");
    auto* type = add_choice(cli, "--type", options.type, "element type of generated systems", {"float", "double"});
    auto* a = cli.add_option("--a", options.a_file, "read the matrices from a .npy file of shape S, N, N")
                  ->type_name("FILE")
                  ->excludes(size, type);
    auto* b = cli.add_option("--b", options.b_file, "read the right-hand sides from a .npy file of shape S, N")
                  ->type_name("FILE")
                  ->needs(a);
    a->needs(b);
    cli.add_option("--out", options.out_file, "write the solutions into a .npy file of shape S, N")->type_name("FILE");
    cli.add_option("--iterations", options.iterations, "for each system, from x = 0")
        ->check(CLI::Range(1, 100'000'000))
        ->capture_default_str()
        ->type_name("K");
    add_peer(cli, options.common, "OpenBLAS on one thread");
    add_app_options(cli, options.common);
    return run_app(cli, argc, argv, [&] { return solve(options); });
}
