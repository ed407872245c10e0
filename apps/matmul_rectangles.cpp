// SPDX-License-Identifier: LGPL-2.1-or-later
#include "apps/matmul_rectangles.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/rectangles.hpp"

namespace apportion {

namespace {

nlohmann::ordered_json report_of(const std::vector<MatrixPart>& of_workers, std::span<const double> busy_s,
                                 double seconds, const MatmulProblem& problem) {
    nlohmann::ordered_json report = report_of_rectangles(of_workers, busy_s, seconds);
    const std::size_t m = problem.a.rows(), k = problem.a.columns();
    std::size_t read = 0, count = 0;
    for (const MatrixPart& part : of_workers) {
        read += (part.rows + part.columns) * k;
        count += part.rows > 0 ? 1 : 0;
    }
    report["elements_read"] = read;
    report["elements_read_in_columns"] = (count * m + problem.b.columns()) * k;
    return report;
}

}  // namespace

Outcome run_rectangles(const std::shared_ptr<MatmulProblem>& problem, const std::vector<MatrixPart>& of_workers,
                       const AppOptions& options) {
    const auto workload = make_matmul(problem, of_workers);
    const std::vector<std::uint64_t> units = units_of_rectangles(of_workers);
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
