// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Prices European options under the scheduler that STARPU_SCHED names.
#include "codelets/blackscholes/blackscholes.hpp"

#include <fmt/format.h>
#include <starpu.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <memory>
#include <string>

#include "apps/app.hpp"
#include "apps/nodes.hpp"
#include "codelets/blackscholes/option_file.hpp"
#include "codelets/io/npy.hpp"

namespace {

using namespace apportion;

struct PriceOptions {
    AppOptions common;
    std::string size, in_file, out_file;
    std::string type = "double";
    std::string method = "monte-carlo";
    std::uint64_t paths = kDefaultPaths;

    bool monte_carlo() const { return method == "monte-carlo"; }
    BlackScholesParameters parameters() const { return {monte_carlo() ? paths : 0, common.seed}; }
    ElementType element() const { return real_type(type); }
};

void check(const PriceOptions& options) {
    if (options.size.empty() && options.in_file.empty()) throw UserError("give --size N, or --in");
    refuse_in_simulation(options.common, {{"--in", options.in_file}, {"--out", options.out_file}});
    if (kSimulated && (!options.monte_carlo() || options.paths != kDefaultPaths || options.type != "double"))
        throw UserError(
            "the simulated machines' times are for Monte Carlo in double with {} paths; leave these options out",
            kDefaultPaths);
    check_output(options.out_file);
}

BlackScholesProblem make_problem(const PriceOptions& options) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int32_t>::max() - 64;
    const BlackScholesParameters parameters = options.parameters();
    if (options.in_file.empty()) {
        const auto size = parse_size(options.size, {1}, "one number of options", kMost);
        return random_blackscholes(options.element(), size.front(), parameters);
    }
    Matrix read = read_options(options.in_file, options.element());
    const std::size_t n = read.rows();
    return {std::move(read), blackscholes_results(options.element(), n, parameters), parameters};
}

void write(const std::string& file, const BlackScholesProblem& problem) {
    if (file.ends_with(".npy"))
        write_npy(file, problem.results);
    else
        write_priced_options(file, problem);
}

std::optional<Peer> peer_of(const std::string& name, const std::shared_ptr<BlackScholesProblem>& problem) {
    if (name == "loop") return Peer{"plain loop, 1 thread", [problem] { price_by_one_call(*problem); }};
    if (name == "reference")
        return Peer{"sequential reference, 1 thread",
                    [problem] { price_by_reference(*problem, 0, problem->options.rows()); }};
    return {};
}

int price(const PriceOptions& options) {
    Nodes::here().agreed([&] { check(options); });
    struct Shape {
        ElementType type;
        std::size_t options;
    };
    const auto problem = std::make_shared<BlackScholesProblem>(
        make_on_home([&] { return make_problem(options); },
                     [](const BlackScholesProblem& p) {
                         return Shape{p.options.type(), p.options.rows()};
                     },
                     [&](const Shape& s) {
                         return BlackScholesProblem{Matrix(s.type, s.options, kOptionColumns),
                                                    blackscholes_results(s.type, s.options, options.parameters()),
                                                    options.parameters()};
                     }));
    const auto n = static_cast<double>(problem->options.rows());
    Outcome outcome;
    {
        const StarpuSession session;
        const auto workload = make_blackscholes(problem);
        outcome = run_load(*workload, options.common, peer_of(options.common.peer, problem));
    }
    if (is_to_be_written(outcome, options.out_file)) write(options.out_file, *problem);

    nlohmann::ordered_json head{
        {"app", "blackscholes"}, {"size", problem->options.rows()}, {"type", options.type}, {"method", options.method}};
    std::string method = "closed form";
    Work work{n, "million options/s", "million_options_per_second", 1e-6};
    if (options.monte_carlo()) {
        head["paths"] = options.paths;
        method = fmt::format("Monte Carlo with {} paths", options.paths);
        work = {n * static_cast<double>(options.paths), "million paths/s", "million_paths_per_second", 1e-6};
    }
    return print_outcome(
        outcome, options.common, work, std::move(head),
        fmt::format("blackscholes, {} options, {}, {}", problem->options.rows(), method, options.type));
}

}  // namespace

int main(int argc, char** argv) {
    PriceOptions options;
    CLI::App cli("Prices European options in blocks whose sizes the scheduler named by STARPU_SCHED decides",
                 "blackscholes");
    auto* size = cli.add_option("--size", options.size, "generate that many options")->type_name("N");
    cli.add_option("--in", options.in_file,
                   "read options from a CSV file with the columns spot,strike,rate,volatility,expiry,type")
        ->type_name("FILE.csv")
        ->excludes(size);
    cli.add_option("--out", options.out_file,
                   "write options and prices as CSV, or prices (and standard errors) alone into a .npy file")
        ->type_name("FILE");
    add_choice(cli, "--method", options.method, "how to price", {"monte-carlo", "closed"});
    cli.add_option("--paths", options.paths, "paths of the Monte Carlo simulation of each option")
        ->check(CLI::Range(std::uint64_t{2}, kMostPaths))
        ->capture_default_str()
        ->type_name("N");
    add_choice(cli, "--type", options.type, "arithmetic", {"float", "double"});
    add_peer(cli, options.common, "the same kernel in a plain loop on one thread, or the sequential reference,",
             {"loop", "reference"});
    add_app_options(cli, options.common);
    return run_app(cli, argc, argv, [&] { return price(options); });
}
