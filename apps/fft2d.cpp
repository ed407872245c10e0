// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The two-dimensional discrete Fourier transform of a complex matrix under the scheduler that STARPU_SCHED names.
#include "codelets/fft2d/fft2d.hpp"

#include <fmt/format.h>
#include <starpu.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>

#include "apps/app.hpp"
#include "apps/nodes.hpp"
#include "codelets/io/npy.hpp"
#include "models/io/text.hpp"

namespace {

using namespace apportion;

struct Fft2dOptions {
    AppOptions common;
    std::string size, in_file, out_file;
    std::string type = "double";
    bool inverse = false;
};

Fft2dProblem read_problem(const std::string& path, bool inverse) {
    const NpyHeader header = read_npy_rows_header(path, NpyElements::complex);
    if (header.shape.size() != 2)
        throw UserError("{}: a matrix with 2 dimensions is needed, and it has {}", path, header.shape.size());
    require_free_memory(matrix_bytes(header.type, header.columns, header.rows), "the transform's matrices");
    if (kSimulated) return fft2d_problem(Matrix(header.type, header.columns, header.rows), inverse);
    Matrix input = read_npy_rows(path, NpyElements::complex);
    require_finite(path, input, NpyRead::by_rows);
    return fft2d_problem(std::move(input), inverse);
}

Fft2dProblem make_problem(const Fft2dOptions& options) {
    if (!options.in_file.empty()) return read_problem(options.in_file, options.inverse);
    const auto size = parse_size(options.size, {1, 2}, "one size or M,N");
    Fft2dProblem problem = random_fft2d(options.type == "float" ? ElementType::complex64 : ElementType::complex128,
                                        size.front(), size.back(), options.common.seed);
    problem.inverse = options.inverse;
    return problem;
}

void check(const Fft2dOptions& options) {
    if (options.size.empty() && options.in_file.empty()) throw UserError("give --size M[,N], or --in");
    refuse_in_simulation(options.common, {{"--out", options.out_file}});
    check_output(options.out_file);
}

Outcome run(const std::shared_ptr<Fft2dProblem>& problem, const Fft2dOptions& options) {
    const StarpuSession session;
    std::optional<Peer> peer;
    if (!options.common.peer.empty()) {
        const int threads = std::max(1, static_cast<int>(starpu_cpu_worker_get_count()));
        peer = Peer{"FFTW, one plan, " + counted(threads, "thread"), fft2d_by_one_call(problem, threads)};
    }
    const auto rows = make_fft2d_pass(problem, Fft2dPass::rows);
    const auto columns = make_fft2d_pass(problem, Fft2dPass::columns);
    Workload* const passes[] = {rows.get(), columns.get()};
    return run_loads(passes, options.common, peer);
}

int transform(const Fft2dOptions& options) {
    Nodes::here().agreed([&] { check(options); });
    struct Shape {
        ElementType type;
        std::size_t rows, columns;
    };
    const auto problem = std::make_shared<Fft2dProblem>(make_on_home(
        [&] { return make_problem(options); },
        [](const Fft2dProblem& p) {
            return Shape{p.input.type(), p.rows(), p.columns()};
        },
        [&](const Shape& s) { return fft2d_problem(Matrix(s.type, s.columns, s.rows), options.inverse); }));
    const Outcome outcome = run(problem, options);
    const std::size_t m = problem->rows(), n = problem->columns();
    if (is_to_be_written(outcome, options.out_file)) write_npy_rows(options.out_file, problem->output, {m, n});

    const char* type = problem->input.type() == ElementType::complex64 ? "complex64" : "complex128";
    return print_outcome(outcome, options.common, problem->operations(),
                         {{"app", "fft2d"}, {"size", {m, n}}, {"type", type}, {"inverse", problem->inverse}},
                         fmt::format("fft2d, {}{} x {}, {}", problem->inverse ? "inverse of " : "", m, n, type));
}

}  // namespace

int main(int argc, char** argv) {
    Fft2dOptions options;
    CLI::App cli(
        "The 2-D discrete Fourier transform in blocks of rows whose sizes the scheduler named by STARPU_SCHED decides",
        "fft2d");
    auto* size = cli.add_option("--size", options.size, "M x N random elements; one number: both")->type_name("M[,N]");
    auto* type = add_choice(cli, "--type", options.type, "of the two parts of generated elements", {"float", "double"});
    cli.add_option("--in", options.in_file, "read the matrix from a .npy file, complex64 or complex128")
        ->type_name("FILE")
        ->excludes(size, type);
    cli.add_option("--out", options.out_file, "write the transform into a .npy file")->type_name("FILE");
    cli.add_flag("--inverse", options.inverse, "the inverse transform, divided by MN");
    add_peer(cli, options.common, "one multi-threaded FFTW plan for the whole matrix");
    add_app_options(cli, options.common);
    return run_app(cli, argc, argv, [&] { return transform(options); });
}
