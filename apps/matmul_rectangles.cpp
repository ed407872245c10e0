// SPDX-License-Identifier: LGPL-2.1-or-later
#include "apps/matmul_rectangles.hpp"

#include <fmt/format.h>
#include <starpu.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

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

/// Where block `block` of `side` begins among that many rows or columns.
std::size_t scaled(std::size_t block, std::size_t side, std::size_t size) { return block * size / side; }

nlohmann::ordered_json report_of(const std::vector<MatrixPart>& of_workers, std::span<const double> busy_s,
                                 double seconds, const MatmulProblem& problem) {
    nlohmann::ordered_json report{{"policy", "rectangles"}, {"makespan_seconds", seconds}};
    const std::size_t m = problem.a.rows(), k = problem.a.columns();
    std::size_t read = 0, count = 0;
    for (std::size_t w = 0; w < of_workers.size(); ++w) {
        const auto& [row, rows, column, columns] = of_workers[w];
        read += (rows + columns) * k;
        count += rows > 0 ? 1 : 0;
        report["processors"].push_back({{"name", worker_name(w)},
                                        {"units", rows * columns},
                                        {"blocks", rows > 0 ? 1 : 0},
                                        {"idle_percent", 100 * std::max(0.0, 1 - busy_s[w] / seconds)},
                                        {"compute_seconds", busy_s[w]},
                                        {"rectangle", {row, column, rows, columns}}});
    }
    report["elements_read"] = read;
    report["elements_read_in_columns"] = (count * m + problem.b.columns()) * k;
    return report;
}

}  // namespace

std::vector<MatrixPart> read_rectangles(const std::string& file, std::size_t rows, std::size_t columns) {
    const std::string advice = "; make it by apportion plan --profiles FILE.csv --matrix N --json";
    std::vector<MatrixPart> of_workers(starpu_worker_get_count());
    try {
        const auto plan = nlohmann::json::parse(read_whole_file(file));
        const auto blocks = plan.at("units").get<std::size_t>();
        const auto side = static_cast<std::size_t>(std::llround(std::sqrt(static_cast<double>(blocks))));
        std::size_t area = 0;
        for (const auto& share : plan.at("shares")) {
            const std::size_t row = share.at("first_row"), column = share.at("first_column"), high = share.at("rows"),
                              wide = share.at("columns");
            if (side == 0 || row > side || column > side || high > side - row || wide > side - column)
                throw UsageError(fmt::format("--rectangles {}: a rectangle is not within the matrix", file));
            if (high * wide == 0) continue;
            area += high * wide;
            MatrixPart& part = of_workers[worker_of(share.at("processor"), file)];
            part.row = scaled(row, side, rows);
            part.column = scaled(column, side, columns);
            part.rows = scaled(row + high, side, rows) - part.row;
            part.columns = scaled(column + wide, side, columns) - part.column;
            if (part.rows * part.columns == 0)
                throw UsageError(
                    fmt::format("--rectangles {}: C of {} x {} is smaller than its blocks", file, rows, columns));
        }
        if (area != side * side || area != blocks)
            throw UsageError(fmt::format("--rectangles {}: the rectangles are not the whole matrix{}", file, advice));
    } catch (const nlohmann::json::exception&) {
        throw UsageError(fmt::format("--rectangles {}: is no plan of a matrix{}", file, advice));
    }
    return of_workers;
}

Outcome run_rectangles(const std::shared_ptr<MatmulProblem>& problem, const std::vector<MatrixPart>& of_workers,
                       const AppOptions& options) {
    const auto workload = make_matmul(problem, of_workers);
    std::vector<std::uint64_t> units;
    for (const MatrixPart& part : of_workers) units.push_back(part.rows > 0 ? 1 : 0);
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
