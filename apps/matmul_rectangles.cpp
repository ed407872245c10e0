// SPDX-License-Identifier: LGPL-2.1-or-later
#include "apps/matmul_rectangles.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/rectangles.hpp"

namespace apportion {

namespace {

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
    nlohmann::ordered_json report = report_of_rectangles(of_workers, busy_s, seconds);
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
    return report;
}

}  // namespace

Outcome run_rectangles(const std::shared_ptr<MatmulProblem>& problem, PartsOfWorkers of_workers,
                       const AppOptions& options) {
    for (std::vector<MatrixPart>& parts : of_workers) parts = cut_at_edges(parts);
    const auto workload = make_matmul(problem, of_workers);
    const std::vector<std::uint64_t> units = units_of_rectangles(of_workers);
    Outcome outcome;
    outcome.policy = "rectangles";
    run_on_workers(*workload, units);  // libraries set themselves up
    for (int run = 0; run < std::max(options.repeat, 1); ++run) {
        workload->spoil_result();
        std::vector<double> busy_s;
        outcome.seconds.push_back(seconds_of([&] { busy_s = run_on_workers(*workload, units); }));
        if (outcome.seconds.back() <= median_seconds(outcome.seconds))
            outcome.report = report_of(of_workers, busy_s, outcome.seconds.back(), *problem);
        if (!options.verify) continue;
        const Verification found = workload->verify();
        if (!outcome.verification || !found.correct) outcome.verification = found;
    }
    return outcome;
}

}  // namespace apportion
