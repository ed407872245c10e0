// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Multiplies two matrices under the scheduler that STARPU_SCHED names.
#include "codelets/matmul/matmul.hpp"

#include <fmt/format.h>
#include <starpu.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "apps/app.hpp"
#include "apps/nodes.hpp"
#include "apps/rectangles.hpp"
#include "codelets/io/npy.hpp"
#include "models/io/text.hpp"

namespace {

using namespace apportion;

struct MatmulOptions {
    AppOptions common;
    std::string size, a_file, b_file, out_file, rectangles;
    std::string type = "float";
};

struct Sizes {
    std::size_t m = 0, n = 0, k = 0;
};

Sizes parse_sizes(const std::string& text) {
    const std::vector<std::uint64_t> sizes = parse_size(text, {1, 2, 3}, "one size or M,N,K");
    if (sizes.size() == 2) throw UserError("--size {}: two sizes do not define a product; give one or M,N,K", text);
    if (sizes.size() == 1) return {sizes[0], sizes[0], sizes[0]};
    return {sizes[0], sizes[1], sizes[2]};
}

MatmulProblem read_problem(const std::string& a_file, const std::string& b_file) {
    const NpyHeader a = read_npy_header(a_file);
    const NpyHeader b = read_npy_header(b_file);
    if (a.type != b.type)
        throw UserError("{} and {} have different element types; use float32 or float64 for both", a_file, b_file);
    if (a.columns != b.rows)
        throw UserError("{} is {} x {} and {} is {} x {}: the columns of A must be as many as the rows of B", a_file,
                        a.rows, a.columns, b_file, b.rows, b.columns);
    require_free_memory(matrix_bytes(a.type, a.rows, a.columns) + matrix_bytes(b.type, b.rows, b.columns) +
                            matrix_bytes(a.type, a.rows, b.columns),
                        "the matrices");
    if (kSimulated)
        return {Matrix(a.type, a.rows, a.columns), Matrix(b.type, b.rows, b.columns),
                Matrix(a.type, a.rows, b.columns)};
    MatmulProblem problem{read_npy(a_file), read_npy(b_file), Matrix(a.type, a.rows, b.columns)};
    require_finite(a_file, problem.a, NpyRead::whole);
    require_finite(b_file, problem.b, NpyRead::whole);
    return problem;
}

MatmulProblem make_problem(const MatmulOptions& options) {
    if (!options.a_file.empty()) return read_problem(options.a_file, options.b_file);
    const Sizes sizes = parse_sizes(options.size);
    return random_matmul(real_type(options.type), sizes.m, sizes.n, sizes.k, options.common.seed);
}

void check(const MatmulOptions& options) {
    if (options.size.empty() && options.a_file.empty()) throw UserError("give --size M[,N,K], or --a and --b");
    refuse_in_simulation(options.common, {{"--out", options.out_file}});
    if (!options.rectangles.empty() && (kSimulated || Nodes::here().over_nodes()))
        throw UserError("--rectangles: rectangles run on one real machine; leave it out here");
    check_output(options.out_file);
}

/// The same parts, cut at the edges of all of them: a worker reads a row or column once, whatever its part's shape.
std::vector<MatrixPart> cut_at_edges(const std::vector<MatrixPart>& parts) {
    std::set<std::size_t> rows, columns;
    for (const MatrixPart& p : parts) {
        rows.insert({p.row, p.row + p.rows});
        columns.insert({p.column, p.column + p.columns});
    }
    std::vector<MatrixPart> cut;
    for (const MatrixPart& p : parts)
        for (auto row = rows.find(p.row); *row < p.row + p.rows; ++row)
            for (auto column = columns.find(p.column); *column < p.column + p.columns; ++column)
                cut.push_back({*row, *std::next(row) - *row, *column, *std::next(column) - *column});
    return cut;
}

/// What processors read of A and B, and what they would of whole columns of C of the same areas.
void tell_reading(const PartsOfWorkers& of_workers, const MatmulProblem& problem, nlohmann::ordered_json& report) {
    const std::size_t m = problem.a.rows(), k = problem.a.columns();
    std::size_t read = 0, count = 0;
    for (const std::vector<MatrixPart>& parts : of_workers) {
        std::map<std::size_t, std::size_t> rows, columns;  // that it reads: how many from which on
        for (const MatrixPart& p : parts) {
            rows[p.row] = p.rows;
            columns[p.column] = p.columns;
        }
        for (const auto& strips : {rows, columns})
            for (const auto& [first, strip] : strips) read += strip * k;
        count += parts.empty() ? 0 : 1;
    }
    report["elements_read"] = read;
    report["elements_read_in_whole_columns"] = (count * m + problem.b.columns()) * k;
}

/// C in one or several rectangles for each processor (FuPerMod's column-based partition, SummaGen's shapes), which
/// reads its rows of A and columns of B only.
Outcome run_in_rectangles(const MatmulOptions& options, const std::shared_ptr<MatmulProblem>& problem) {
    PartsOfWorkers of_workers = read_rectangles(options.rectangles, problem->c.rows(), problem->c.columns()).of_workers;
    for (std::vector<MatrixPart>& parts : of_workers) parts = cut_at_edges(parts);
    const auto workload = make_matmul(problem, of_workers);
    run_rectangles(*workload, of_workers, 1, [](int, Outcome&) {});  // libraries set themselves up
    Outcome outcome = run_rectangles(*workload, of_workers, std::max(options.common.repeat, 1), [&](int, Outcome& its) {
        if (!options.common.verify) return;
        const Verification found = workload->verify();
        if (!its.verification || !found.correct) its.verification = found;
    });
    tell_reading(of_workers, *problem, outcome.report);
    return outcome;
}

Outcome run(const MatmulOptions& options, const std::shared_ptr<MatmulProblem>& problem) {
    const StarpuSession session;
    if (!options.rectangles.empty()) return run_in_rectangles(options, problem);
    const auto workload = make_matmul(problem);
    std::optional<Peer> peer;
    if (!options.common.peer.empty()) {
        const int threads = std::max(1, static_cast<int>(starpu_cpu_worker_get_count()));
        peer = Peer{"OpenBLAS, " + counted(threads, "thread"),
                    [&problem, threads] { matmul_by_one_call(*problem, threads); }};
    }
    return run_load(*workload, options.common, peer);
}

int multiply(const MatmulOptions& options) {
    Nodes::here().agreed([&] { check(options); });
    struct Shape {
        ElementType type;
        std::size_t m, n, k;
    };
    const auto shared = std::make_shared<MatmulProblem>(make_on_home(
        [&] { return make_problem(options); },
        [](const MatmulProblem& p) {
            return Shape{p.c.type(), p.c.rows(), p.c.columns(), p.b.rows()};
        },
        [](const Shape& s) {
            return MatmulProblem{Matrix(s.type, s.m, s.k), Matrix(s.type, s.k, s.n), Matrix(s.type, s.m, s.n)};
        }));
    MatmulProblem& problem = *shared;
    const std::size_t m = problem.c.rows(), n = problem.c.columns(), k = problem.b.rows();
    const double operations = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);

    const Outcome outcome = run(options, shared);
    if (is_to_be_written(outcome, options.out_file)) write_npy(options.out_file, problem.c);

    const char* type = real_name(problem.c.type());
    const int status =
        print_outcome(outcome, options.common, operations, {{"app", "matmul"}, {"size", {m, n, k}}, {"type", type}},
                      fmt::format("matmul, {} x {} times {} x {}, {}", m, k, k, n, type));
    if (!options.rectangles.empty() && !options.common.json)
        fmt::print("  processors read {} elements of A and B; in whole columns of C they would read {}\n",
                   outcome.report.at("elements_read").get<std::size_t>(),
                   outcome.report.at("elements_read_in_whole_columns").get<std::size_t>());
    return status;
}

}  // namespace

int main(int argc, char** argv) {
    MatmulOptions options;
    CLI::App cli("C = A B in blocks of columns whose sizes the scheduler named by STARPU_SCHED decides", "matmul");
    auto* size =
        cli.add_option("--size", options.size, "A is M x K, B is K x N; one number: all three")->type_name("M[,N,K]");
    auto* type = add_choice(cli, "--type", options.type, "element type of generated matrices", {"float", "double"});
    auto* a = cli.add_option("--a", options.a_file, "read A from a .npy file")->type_name("FILE")->excludes(size, type);
    auto* b = cli.add_option("--b", options.b_file, "read B from a .npy file")->type_name("FILE")->needs(a);
    a->needs(b);
    cli.add_option("--out", options.out_file, "write C into a .npy file")->type_name("FILE");
    add_peer(cli, options.common, "one multi-threaded OpenBLAS call");
    cli.add_option("--rectangles", options.rectangles,
                   "instead of blocks: rectangles for each processor, from apportion plan --matrix N --json")
        ->type_name("FILE")
        ->excludes("--peer");
    add_app_options(cli, options.common);
    return run_app(cli, argc, argv, [&] { return multiply(options); });
}
