// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Solves a system of linear equations by the Jacobi method, iteration after iteration, under the scheduler that
// STARPU_SCHED names.
#include "codelets/jacobi/jacobi.hpp"

#include <fmt/format.h>
#include <starpu.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>

#include "apps/app.hpp"
#include "apps/nodes.hpp"
#include "codelets/io/matrix_market.hpp"
#include "codelets/io/npy.hpp"
#include "codelets/io/progress.hpp"
#include "models/io/text.hpp"

namespace {

using namespace apportion;

constexpr int kSimulatedIterations = 20;
constexpr double kDivergence = 1e8;  ///< growth of the step since the smallest that is taken for divergence
constexpr int kStagnation = 1000;    ///< iterations without a smaller step that are taken for no convergence

struct JacobiOptions {
    AppOptions common;
    std::string size, a_file, b_file, out_file;
    std::string type = "double";
    int iterations = 0;               ///< 0: until convergence
    int limit = 10'000;               ///< of iterations until convergence
    std::optional<double> tolerance;  ///< otherwise by the type
};

Matrix read_vector(const std::string& path, ElementType type) {
    if (is_matrix_market(path)) return read_matrix_market_vector(path);
    const NpyHeader header = read_npy_rows_header(path, NpyElements::real);
    if (header.shape.size() > 2 || (header.shape.size() == 2 && header.columns != 1 && header.rows != 1))
        throw UserError("{}: is not a vector, but {} x {}", path, header.rows, header.columns);
    if (header.type != type)
        throw UserError("{}: has another element type than the matrix; use float32 or float64 for both", path);
    const Matrix read = read_npy_rows(path, NpyElements::real);
    require_finite(path, read, NpyRead::by_rows);
    Matrix vector(type, std::max(read.rows(), read.columns()), 1);
    for (std::size_t i = 0; i < vector.rows(); ++i)
        std::memcpy(vector.at(i, 0), read.rows() == 1 ? read.at(0, i) : read.at(i, 0), element_size(type));
    return vector;
}

LinearSystem read_matrix(const std::string& path) {
    if (is_matrix_market(path)) {
        auto matrix = read_matrix_market(path);
        if (auto* sparse = std::get_if<SparseMatrix>(&matrix))
            return {path, {}, std::move(*sparse), Matrix(ElementType::float64, sparse->n, 1)};
        auto& dense = std::get<Matrix>(matrix);
        const std::size_t n = dense.rows();
        return {path, std::move(dense), {}, Matrix(ElementType::float64, n, 1)};
    }
    const NpyHeader header = read_npy_rows_header(path, NpyElements::real);
    if (header.shape.size() != 2 || header.rows != header.columns)
        throw UserError("{}: the matrix must be square, and is {} x {}", path, header.rows, header.columns);
    require_free_memory(matrix_bytes(header.type, header.rows, header.columns), "the matrix and the vectors");
    return {path, read_npy_rows(path, NpyElements::real), {}, Matrix(header.type, header.rows, 1)};
}

LinearSystem read_system(const JacobiOptions& options) {
    LinearSystem system = read_matrix(options.a_file);
    if (options.b_file.empty()) {
        set_solution_of_ones(system);
        return system;
    }
    Matrix b = read_vector(options.b_file, system.type());
    if (b.rows() != system.n())
        throw UserError("{}: has {}, but {} has {}", options.b_file, counted(b.rows(), "element"), options.a_file,
                        counted(system.n(), "row"));
    return {system.name, std::move(system.dense), std::move(system.sparse), std::move(b)};
}

LinearSystem make_system(const JacobiOptions& options) {
    if (!options.a_file.empty()) {
        LinearSystem system = read_system(options);
        check_solvable(system);
        return system;
    }
    const auto size = parse_size(options.size, {1}, "one number of unknowns");
    return random_system(real_type(options.type), size.front(), options.common.seed);
}

struct SystemShape {
    ElementType type;
    std::size_t n, entries;
    bool sparse;
};

SystemShape shape_of(const LinearSystem& system) {
    const bool sparse = system.sparse.has_value();
    return {system.type(), system.n(), sparse ? system.sparse->values.size() : 0, sparse};
}

/// Room for it.
LinearSystem empty(const SystemShape& shape) {
    LinearSystem system{"the system of rank 0", {}, {}, Matrix(shape.type, shape.n, 1)};
    if (shape.sparse) {
        SparseMatrix& s = system.sparse.emplace();
        s.n = shape.n;
        s.start.resize(shape.n + 1);
        s.columns.resize(shape.entries);
        s.values.resize(shape.entries);
    } else {
        system.dense.emplace(shape.type, shape.n, shape.n);
    }
    return system;
}

/// Where rows lie all nodes must know.
void share_row_starts(LinearSystem& system) {
    if (!system.sparse) return;
    auto& start = system.sparse->start;
    Nodes::here().share(start.data(), start.size() * sizeof start[0]);
}

/// One solution from x = 0.
struct Solution {
    std::vector<double> seconds;  ///< of each iteration
    std::vector<nlohmann::ordered_json> reports;
    JacobiProgress last;
    bool converged = false;
};

/// The largest difference of the times that processors computed in an iteration, relative to the longest, in percent.
double imbalance_percent(const nlohmann::ordered_json& report) {
    double shortest = std::numeric_limits<double>::infinity(), longest = 0;
    for (const auto& processor : report.at("processors")) {
        if (processor.at("units").get<std::int64_t>() == 0) continue;
        shortest = std::min(shortest, processor.at("compute_seconds").get<double>());
        longest = std::max(longest, processor.at("compute_seconds").get<double>());
    }
    return longest > 0 ? 100 * (longest - shortest) / longest : 0;
}

/// All nodes know that it has failed, and rank 0 why: it alone has the whole matrix.
[[noreturn]] void fail(const LinearSystem& system, const std::string& what) {
    const std::string sentence = fmt::format("{}: {}", system.name, what);
    Nodes::here().agreed([&] {
        if (Nodes::here().home()) throw std::runtime_error(fmt::format("{}: {}", sentence, describe_dominance(system)));
    });
    throw std::runtime_error(sentence);
}

/// x of the next iteration where it is needed, and how much it has changed in all rows.
JacobiProgress advance(JacobiSolver& solver, NodesLoad& load) {
    const JacobiProgress here = solver.advance();
    load.exchange();
    if (kSimulated) return here;
    double largest[] = {here.step, here.size};
    load.largest(largest);
    return {largest[0], largest[1]};
}

Solution solve(JacobiSolver& solver, NodesLoad& load, const LinearSystem& system, const JacobiOptions& options,
               int limit, double tolerance) {
    Solution solution;
    double smallest_step = std::numeric_limits<double>::infinity();
    int smallest_at = 0;
    solver.restart();
    ProgressLine line("jacobi", Nodes::here().home() && limit > 1);
    line.expect(static_cast<std::size_t>(limit));
    for (int k = 1; k <= limit && !solution.converged; ++k) {
        line.begin(fmt::format("iteration {}", k));
        solver.spoil_result();
        load.run();
        JacobiProgress progress;
        const double advancing_s = seconds_of([&] { progress = advance(solver, load); });
        solution.seconds.push_back(load.seconds() + advancing_s);
        if (Nodes::here().home()) solution.reports.push_back(load.report());
        solution.last = progress;
        line.done();
        if (progress.step < smallest_step) smallest_step = progress.step, smallest_at = k;
        if (!std::isfinite(progress.step) || progress.step > kDivergence * smallest_step)
            fail(system, fmt::format("the Jacobi method diverged after {} iterations (x changed by {:.2g} in the last)",
                                     k, progress.step));
        if (options.iterations > 0 || kSimulated) continue;
        solution.converged = progress.step <= tolerance * progress.size;
        if (k - smallest_at >= kStagnation) break;
    }
    if (!solution.converged && options.iterations == 0 && !kSimulated)
        fail(system, fmt::format("the Jacobi method has not converged after {} iterations (x changed by {:.2g} in the "
                                 "last, {:.2g} is needed)",
                                 solution.seconds.size(), solution.last.step, tolerance * solution.last.size));
    load.collect();
    if (Nodes::here().home()) solution.reports.back() = load.report();
    return solution;
}

struct Solved {
    Outcome outcome;
    Solution last;
    std::vector<double> imbalance;  ///< of each iteration of the first solution, percent
};

Solved run(const std::shared_ptr<LinearSystem>& system, const JacobiOptions& options, double tolerance,
           Matrix& result) {
    const int limit = options.iterations > 0 ? options.iterations : kSimulated ? kSimulatedIterations : options.limit;
    const int repeat = options.common.repeat > 0 ? options.common.repeat : !options.common.peer.empty() ? kPeerRuns : 1;
    const StarpuSession session;
    const auto solver = make_jacobi_solver(system);
    const auto own = Nodes::here().make_load(*solver, static_cast<unsigned>(limit), true);
    NodesLoad& load = *own;
    warm_up(*solver);
    Solved all;
    Outcome& outcome = all.outcome;
    for (int r = 0; r < repeat; ++r) {
        all.last = solve(*solver, load, *system, options, limit, tolerance);
        const auto iterations = static_cast<int>(all.last.seconds.size());
        outcome.seconds.push_back(std::accumulate(all.last.seconds.begin(), all.last.seconds.end(), 0.0) / iterations);
        if (r == 0)
            for (const auto& report : all.last.reports) all.imbalance.push_back(imbalance_percent(report));
        if (options.common.peer.empty() || !Nodes::here().home()) continue;
        LibraryJacobi library(*system, std::max(1, static_cast<int>(starpu_cpu_worker_get_count())));
        outcome.peer_seconds.push_back(time_peer({library.name(), [&] { library.run(iterations); }}) / iterations);
        outcome.peer_name = library.name();
    }
    if (!Nodes::here().home()) return all;
    outcome.policy = load.policy();
    outcome.report = all.last.reports.back();
    if (options.common.verify && !kSimulated) {
        // Iterations that were counted beforehand do not promise more than the step they end with.
        const JacobiProgress& change = all.last.last;
        const double reached = all.last.converged ? tolerance : change.size > 0 ? change.step / change.size : 0;
        outcome.verification = verify_solution(*system, solver->x(), reached);
    }
    if (!kSimulated) std::memcpy(result.at(0, 0), solver->x().at(0, 0), system->n() * element_size(system->type()));
    return all;
}

void check(const JacobiOptions& options) {
    if (options.size.empty() && options.a_file.empty()) throw UserError("give --size N, or --a");
    refuse_in_simulation(options.common, {{"--a", options.a_file}, {"--out", options.out_file}});
    if (options.tolerance && !(*options.tolerance >= 1e-15 && *options.tolerance <= 1))
        throw UserError("--tolerance {}: give a number from 1e-15 to 1", *options.tolerance);
    check_output(options.out_file);
}

void print_imbalance(const std::vector<double>& imbalance) {
    constexpr std::size_t kShown = 8;
    fmt::print("  imbalance of the processors' times:");
    for (std::size_t k = 0; k < std::min(kShown, imbalance.size()); ++k) fmt::print(" {:.1f}", imbalance[k]);
    if (imbalance.size() > kShown) fmt::print(" ... {:.1f}", imbalance.back());
    fmt::print(" % in iteration 1, 2, ...\n");
}

int solve_system(const JacobiOptions& options) {
    Nodes::here().agreed([&] { check(options); });
    const auto system =
        std::make_shared<LinearSystem>(make_on_home([&] { return make_system(options); }, shape_of, empty));
    share_row_starts(*system);
    const bool single = system->type() == ElementType::float32;
    const double tolerance = options.tolerance.value_or(single ? 1e-5 : 1e-10);
    Matrix x(system->type(), system->n(), 1);
    const Solved solved = run(system, options, tolerance, x);
    const Outcome& outcome = solved.outcome;
    if (is_to_be_written(outcome, options.out_file)) write_npy_rows(options.out_file, x, {system->n()});

    const std::size_t iterations = solved.last.seconds.size(), n = system->n();
    const char* type = real_name(system->type());
    nlohmann::ordered_json head{{"app", "jacobi"},
                                {"size", n},
                                {"type", type},
                                {"sparse", system->sparse.has_value()},
                                {"iterations", iterations},
                                {"converged", solved.last.converged},
                                {"step", solved.last.last.step},
                                {"first_seconds", solved.last.seconds.front()},
                                {"imbalance_percent", solved.imbalance}};
    const std::string title =
        fmt::format("jacobi, {} x {}{}, {}, {}{}; times are those of one", n, n,
                    system->sparse ? fmt::format(" with {} entries", system->sparse->values.size()) : "", type,
                    counted(iterations, "iteration"), solved.last.converged ? " to convergence" : "");
    const int status = print_outcome(outcome, options.common, 2 * system->entries(), std::move(head), title);
    if (!options.common.json && Nodes::here().home()) print_imbalance(solved.imbalance);
    return status;
}

}  // namespace

int main(int argc, char** argv) {
    JacobiOptions options;
    CLI::App cli(
        "A x = b by the Jacobi method, in blocks of rows whose sizes the scheduler named by STARPU_SCHED decides",
        "jacobi");
    auto* size =
        cli.add_option("--size", options.size, "unknowns of a generated, diagonally dominant system")->type_name("N");
    auto* type = add_choice(cli, "--type", options.type, "element type of a generated system", {"float", "double"});
    auto* a = cli.add_option("--a", options.a_file, "read A from a Matrix Market or .npy file")
                  ->type_name("FILE")
                  ->excludes(size, type);
    cli.add_option("--b", options.b_file, "read b from such a file (default: A times a vector of ones)")
        ->type_name("FILE")
        ->needs(a);
    cli.add_option("--out", options.out_file, "write x into a .npy file")->type_name("FILE");
    cli.add_option("--iterations", options.iterations, "iterate K times instead of until convergence (simulated: 20)")
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("K");
    cli.add_option("--limit", options.limit, "give up when K iterations did not converge")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str()
        ->type_name("K");
    cli.add_option("--tolerance", options.tolerance,
                   "converged when no element of x changes by more than E times the largest (1e-10; float: 1e-5)")
        ->type_name("E");
    add_peer(cli, options.common, "the same iterations by OpenBLAS, or Eigen for sparse matrices,");
    add_app_options(cli, options.common);
    return run_app(cli, argc, argv, [&] { return solve_system(options); });
}
