// SPDX-License-Identifier: LGPL-2.1-or-later
#include "apps/matmul_rectangles.hpp"

#include <fmt/format.h>
#include <starpu.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "models/io/input_file.hpp"
#include "models/io/shown.hpp"

namespace apportion {

namespace {

std::string worker_name(std::size_t worker) {
    char name[128] = "";
    starpu_worker_get_name(static_cast<int>(worker), name, sizeof name);
    return name;
}

std::size_t worker_of(const std::string& processor, const std::string& file) {
    for (std::size_t w = 0; w < starpu_worker_get_count(); ++w)
        if (worker_name(w) == processor) return w;
    throw UsageError(fmt::format("--rectangles {}: StarPU has no worker {} here; plan with a profile of this machine",
                                 file, in_quotes(processor)));
}

/// Of C of that size what the part is of a matrix of `side` x `side` blocks.
MatrixPart scaled(const MatrixPart& blocks, std::size_t side, std::size_t rows, std::size_t columns) {
    const std::size_t row = blocks.row * rows / side, below = (blocks.row + blocks.rows) * rows / side;
    const std::size_t column = blocks.column * columns / side,
                      behind = (blocks.column + blocks.columns) * columns / side;
    return {row, below - row, column, behind - column};
}

bool overlap(const MatrixPart& a, const MatrixPart& b) {
    return a.row < b.row + b.rows && b.row < a.row + a.rows && a.column < b.column + b.columns &&
           b.column < a.column + a.columns;
}

/// The same parts, cut at the edges of all of them.
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

nlohmann::ordered_json report_of(const PartsOfWorkers& of_workers, std::span<const double> busy_s, double seconds,
                                 const MatmulProblem& problem) {
    nlohmann::ordered_json report{{"policy", "rectangles"}, {"makespan_seconds", seconds}};
    const std::size_t m = problem.a.rows(), k = problem.a.columns();
    std::size_t read = 0, count = 0;
    for (std::size_t w = 0; w < of_workers.size(); ++w) {
        std::map<std::size_t, std::size_t> rows, columns;  // that it reads: how many from which on
        std::size_t units = 0;
        auto rectangles = nlohmann::ordered_json::array();
        for (const MatrixPart& p : of_workers[w]) {
            rows[p.row] = p.rows;
            columns[p.column] = p.columns;
            units += p.rows * p.columns;
            rectangles.push_back({p.row, p.column, p.rows, p.columns});
        }
        for (const auto& strips : {rows, columns})
            for (const auto& [first, strip] : strips) read += strip * k;
        count += units > 0 ? 1 : 0;
        report["processors"].push_back({{"name", worker_name(w)},
                                        {"units", units},
                                        {"blocks", of_workers[w].size()},
                                        {"idle_percent", 100 * std::max(0.0, 1 - busy_s[w] / seconds)},
                                        {"compute_seconds", busy_s[w]},
                                        {"rectangles", std::move(rectangles)}});
    }
    report["elements_read"] = read;
    report["elements_read_in_whole_columns"] = (count * m + problem.b.columns()) * k;
    return report;
}

}  // namespace

PartsOfWorkers read_rectangles(const std::string& file, std::size_t rows, std::size_t columns) {
    const std::string advice = "; make it by apportion plan --profiles FILE.csv --matrix N --json";
    PartsOfWorkers of_workers(starpu_worker_get_count());
    std::vector<MatrixPart> all;  // in blocks
    try {
        const auto plan = nlohmann::json::parse(read_whole_file(file));
        const auto blocks = plan.at("units").get<std::size_t>();
        const auto side = static_cast<std::size_t>(std::llround(std::sqrt(static_cast<double>(blocks))));
        std::size_t area = 0;
        for (const auto& share : plan.at("shares")) {
            if (share.at("rectangles").empty()) continue;
            std::vector<MatrixPart>& parts = of_workers[worker_of(share.at("processor"), file)];
            for (const auto& rectangle : share["rectangles"]) {
                const MatrixPart r{.row = rectangle.at("first_row"),
                                   .rows = rectangle.at("rows"),
                                   .column = rectangle.at("first_column"),
                                   .columns = rectangle.at("columns")};
                if (r.row > side || r.column > side || r.rows > side - r.row || r.columns > side - r.column)
                    throw UsageError(fmt::format("--rectangles {}: a rectangle is not within the matrix", file));
                if (r.rows * r.columns == 0) continue;
                if (std::ranges::any_of(all, [&](const MatrixPart& other) { return overlap(other, r); }))
                    throw UsageError(fmt::format("--rectangles {}: two rectangles overlap", file));
                all.push_back(r);
                area += r.rows * r.columns;
                parts.push_back(scaled(r, side, rows, columns));
                if (parts.back().rows * parts.back().columns == 0)
                    throw UsageError(
                        fmt::format("--rectangles {}: C of {} x {} is smaller than its blocks", file, rows, columns));
            }
        }
        if (side == 0 || area != side * side || area != blocks)
            throw UsageError(fmt::format("--rectangles {}: the rectangles are not the whole matrix{}", file, advice));
    } catch (const nlohmann::json::exception&) {
        throw UsageError(fmt::format("--rectangles {}: is no plan of a matrix{}", file, advice));
    }
    for (std::vector<MatrixPart>& parts : of_workers) parts = cut_at_edges(parts);
    return of_workers;
}

Outcome run_rectangles(const std::shared_ptr<MatmulProblem>& problem, const PartsOfWorkers& of_workers,
                       const AppOptions& options) {
    const auto workload = make_matmul(problem, of_workers);
    std::vector<std::uint64_t> units;
    for (const std::vector<MatrixPart>& parts : of_workers) units.push_back(parts.empty() ? 0 : 1);
    Outcome outcome;
    outcome.policy = "rectangles";
    run_on_workers(*workload, units);  // libraries set themselves up
    for (int run = 0; run < std::max(options.repeat, 1); ++run) {
        workload->spoil_result();
        std::vector<double> busy_s;
        outcome.seconds.push_back(seconds_of([&] { busy_s = run_on_workers(*workload, units); }));
        if (outcome.seconds.back() <= median(outcome.seconds))
            outcome.report = report_of(of_workers, busy_s, outcome.seconds.back(), *problem);
        if (!options.verify) continue;
        const Verification found = workload->verify();
        if (!outcome.verification || !found.correct) outcome.verification = found;
    }
    return outcome;
}

}  // namespace apportion
