// SPDX-License-Identifier: LGPL-2.1-or-later
#include "apps/rectangles.hpp"

#include <fmt/format.h>
#include <starpu.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "models/io/files.hpp"
#include "models/io/shown.hpp"
#include "models/io/text.hpp"

namespace apportion {

namespace {

std::optional<std::size_t> worker_named(const std::string& name) {
    for (std::size_t w = 0; w < starpu_worker_get_count(); ++w)
        if (worker_name(w) == name) return w;
    return {};
}

/// The names of "CPU 4-6", which are "CPU 4", "CPU 5" and "CPU 6", and of "CPU 0+CPU 2"; of anything else itself.
std::vector<std::string> names_of_team(const std::string& processor) {
    if (const std::size_t plus = processor.find('+'); plus != processor.npos) {
        std::vector<std::string> names = names_of_team(processor.substr(0, plus));
        for (std::string& name : names_of_team(processor.substr(plus + 1))) names.push_back(std::move(name));
        return names;
    }
    const std::size_t blank = processor.rfind(' ') + 1, dash = processor.find('-', blank);
    if (dash == processor.npos) return {processor};
    const std::string_view name = processor;
    const auto first = parse_number<std::size_t>(name.substr(blank, dash - blank));
    const auto last = parse_number<std::size_t>(name.substr(dash + 1));
    if (!first || !last || *first >= *last || *last > starpu_worker_get_count()) return {processor};
    std::vector<std::string> names;
    for (std::size_t k = *first; k <= *last; ++k) names.push_back(fmt::format("{}{}", name.substr(0, blank), k));
    return names;
}

std::vector<std::size_t> workers_of(const std::string& processor, const std::string& file) {
    std::vector<std::size_t> workers;
    for (const std::string& name : names_of_team(processor)) {
        const auto worker = worker_named(name);
        if (!worker)
            throw UserError("--rectangles {}: StarPU has no worker {} here; plan with a profile of this machine", file,
                            in_quotes(name));
        workers.push_back(*worker);
    }
    return workers;
}

bool overlap(const MatrixPart& a, const MatrixPart& b) {
    return a.row < b.row + b.rows && b.row < a.row + a.rows && a.column < b.column + b.columns &&
           b.column < a.column + a.columns;
}

/// Throws json::exception where it is anything else.
std::size_t whole_number(const nlohmann::json& of, const char* key) {
    return of.at(key).get_ref<const nlohmann::json::number_unsigned_t&>();
}

struct Share {
    MatrixPart part;  ///< in blocks of the plan
    std::string processor;
};

/// Those that are not empty.
std::vector<Share> read_shares(const nlohmann::json& plan, std::size_t side, const std::string& file) {
    std::vector<Share> shares;
    for (const auto& share : plan.at("shares"))
        for (const auto& rectangle : share.at("rectangles")) {
            const MatrixPart part{whole_number(rectangle, "first_row"), whole_number(rectangle, "rows"),
                                  whole_number(rectangle, "first_column"), whole_number(rectangle, "columns")};
            if (part.row > side || part.column > side || part.rows > side - part.row ||
                part.columns > side - part.column)
                throw UserError("--rectangles {}: a rectangle is not within the matrix", file);
            if (part.rows * part.columns == 0) continue;
            if (std::ranges::any_of(shares, [&](const Share& other) { return overlap(other.part, part); }))
                throw UserError("--rectangles {}: two rectangles overlap", file);
            shares.push_back({part, share.at("processor")});
        }
    return shares;
}

/// Where block `block` of `side` begins among that many rows or columns.
std::size_t scaled(std::size_t block, std::size_t side, std::size_t size) { return block * size / side; }

MatrixPart scaled(const MatrixPart& part, std::size_t side, std::size_t rows, std::size_t columns) {
    const std::size_t row = scaled(part.row, side, rows), column = scaled(part.column, side, columns);
    return {row, scaled(part.row + part.rows, side, rows) - row, column,
            scaled(part.column + part.columns, side, columns) - column};
}

/// What the workers did in so many seconds.
nlohmann::ordered_json report_of(const PartsOfWorkers& of_workers, std::span<const double> busy_s, double seconds) {
    nlohmann::ordered_json report{{"policy", "rectangles"}, {"makespan_seconds", seconds}};
    for (std::size_t w = 0; w < of_workers.size(); ++w) {
        std::size_t units = 0;
        auto rectangles = nlohmann::ordered_json::array();
        for (const MatrixPart& p : of_workers[w]) {
            units += p.rows * p.columns;
            rectangles.push_back({p.row, p.column, p.rows, p.columns});
        }
        report["processors"].push_back({{"name", worker_name(w)},
                                        {"units", units},
                                        {"blocks", of_workers[w].size()},
                                        {"idle_percent", 100 * std::max(0.0, 1 - busy_s[w] / seconds)},
                                        {"compute_seconds", busy_s[w]},
                                        {"rectangles", std::move(rectangles)}});
    }
    return report;
}

}  // namespace

Rectangles read_rectangles(const std::string& file, std::size_t rows, std::size_t columns) {
    const std::string advice = "; make it by apportion plan --profiles FILE.csv --matrix N --json";
    Rectangles found{0, PartsOfWorkers(starpu_worker_get_count())};
    try {
        const auto plan = nlohmann::json::parse(read_whole_file(file));
        const std::size_t blocks = whole_number(plan, "units");
        const auto side = static_cast<std::size_t>(std::llround(std::sqrt(static_cast<double>(blocks))));
        std::size_t area = 0;
        for (const auto& [blocks_of_it, processor] : read_shares(plan, side, file)) {
            area += blocks_of_it.rows * blocks_of_it.columns;
            const MatrixPart whole = scaled(blocks_of_it, side, rows, columns);
            if (whole.rows * whole.columns == 0)
                throw UserError("--rectangles {}: a matrix of {} x {} is smaller than its blocks", file, rows, columns);
            const std::vector<std::size_t> workers = workers_of(processor, file);
            for (std::size_t i = 0; i < workers.size(); ++i) {
                const std::size_t first = scaled(i, workers.size(), whole.columns);
                const std::size_t end = scaled(i + 1, workers.size(), whole.columns);
                if (first < end)
                    found.of_workers[workers[i]].push_back({whole.row, whole.rows, whole.column + first, end - first});
            }
        }
        if (blocks == 0 || area != blocks || area != side * side)
            throw UserError("--rectangles {}: the rectangles are not the whole matrix{}", file, advice);
        found.side = side;
    } catch (const nlohmann::json::exception&) {
        throw UserError("--rectangles {}: is no plan of a matrix{}", file, advice);
    }
    return found;
}

Outcome run_rectangles(Workload& workload, const PartsOfWorkers& of_workers, int runs,
                       const std::function<void(int run, Outcome& outcome)>& after) {
    std::vector<std::uint64_t> units;
    for (const std::vector<MatrixPart>& parts : of_workers) units.push_back(parts.empty() ? 0 : 1);
    Outcome outcome;
    outcome.policy = "rectangles";
    for (int run = 1; run <= runs; ++run) {
        if (!kSimulated) workload.spoil_result();
        std::vector<double> busy_s;
        outcome.seconds.push_back(seconds_of([&] { busy_s = run_on_workers(workload, units); }));
        if (outcome.seconds.back() <= median_seconds(outcome.seconds))
            outcome.report = report_of(of_workers, busy_s, outcome.seconds.back());
        after(run, outcome);
    }
    return outcome;
}

}  // namespace apportion
