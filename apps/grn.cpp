// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches for the genes that predict each target gene best, under the scheduler that STARPU_SCHED names.
#include "codelets/grn/grn.hpp"

#include <fmt/format.h>
#include <starpu.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "apps/app.hpp"
#include "apps/nodes.hpp"
#include "codelets/grn/expression_file.hpp"

namespace {

using namespace apportion;

constexpr std::uint64_t kMostGenes = 10'000'000;

struct SearchOptions {
    AppOptions common;
    std::string size, in_file, out_file;
    GrnOptions search;
};

void check(const SearchOptions& options) {
    if (options.size.empty() && options.in_file.empty()) throw UserError("give --size N, or --in");
    refuse_in_simulation(options.common, {{"--in", options.in_file}, {"--out", options.out_file}});
    if (kSimulated && options.search.candidates > 0)
        throw UserError("the simulated machines' times are for all pairs of all genes; leave --candidates out");
    check_output(options.out_file);
}

GrnProblem make_problem(const SearchOptions& options) {
    const auto named = [](const std::string& what, auto make) {
        try {
            return make();
        } catch (const UserError& error) {
            throw UserError("{} {}", what, error.what());
        }
    };
    if (!options.in_file.empty()) {
        const Expression expression = read_expression(options.in_file);
        return named(options.in_file, [&] { return make_grn_problem(expression, options.search); });
    }
    const auto size = parse_size(options.size, {1}, "one number of genes", kMostGenes);
    return named(fmt::format("--size {}: this", options.size),
                 [&] { return generated_grn_problem(size.front(), options.search, options.common.seed); });
}

/// What another node needs to know of the problem to compute targets of it.
struct Shape {
    GrnOptions options;
    GrnParameters parameters;
    std::size_t genes, candidate_words, target_words, table, targets;
};

Shape shape_of(const GrnProblem& p) {
    return {p.options,        p.parameters,   p.genes.size(),  p.candidates.size(),
            p.targets.size(), p.nlogn.size(), p.results.size()};
}

GrnProblem empty_problem(const Shape& shape) {
    GrnProblem problem;
    problem.options = shape.options;
    problem.parameters = shape.parameters;
    problem.genes.resize(shape.genes);
    problem.candidates.resize(shape.candidate_words);
    problem.targets.resize(shape.target_words);
    problem.nlogn.resize(shape.table);
    problem.results.resize(shape.targets);
    return problem;
}

std::optional<Peer> peer_of(const std::string& name, const std::shared_ptr<GrnProblem>& problem) {
    if (name == "loop") return Peer{"plain loop, 1 thread", [problem] { search_by_one_call(*problem); }};
    if (name == "reference")
        return Peer{"sequential reference, 1 thread",
                    [problem] { search_by_reference(*problem, 0, problem->target_count()); }};
    return {};
}

int search(const SearchOptions& options) {
    Nodes::here().agreed([&] { check(options); });
    const auto problem =
        std::make_shared<GrnProblem>(make_on_home([&] { return make_problem(options); }, shape_of, empty_problem));
    Outcome outcome;
    {
        const StarpuSession session;
        const auto workload = make_grn(problem);
        outcome = run_load(*workload, options.common, peer_of(options.common.peer, problem));
    }
    if (is_to_be_written(outcome, options.out_file)) write_network(options.out_file, *problem);

    const double pairs = problem->pairs_per_target() * static_cast<double>(problem->target_count());
    nlohmann::ordered_json head{{"app", "grn"},
                                {"size", problem->genes.size()},
                                {"targets", problem->target_count()},
                                {"candidates", problem->parameters.candidates},
                                {"samples", problem->samples()},
                                {"levels", problem->parameters.levels},
                                {"evaluations", pairs}};
    return print_outcome(
        outcome, options.common, {pairs, "million evaluations/s", "million_evaluations_per_second", 1e-6},
        std::move(head),
        fmt::format("grn, {} of {} genes predicted from all pairs of {} candidates, {} levels, {} samples",
                    problem->target_count(), problem->genes.size(), problem->parameters.candidates,
                    problem->parameters.levels, problem->samples()));
}

void add_search_options(CLI::App& cli, SearchOptions& options) {
    GrnOptions& search = options.search;
    cli.add_option("--targets", search.targets,
                   "only the first K genes as targets (default: all of a file, a fiftieth of generated ones)")
        ->check(CLI::Range(std::uint64_t{1}, kMostGenes))
        ->type_name("K");
    cli.add_option("--candidates", search.candidates,
                   "only the K genes of largest variance as predictors (default: all)")
        ->check(CLI::Range(std::uint64_t{1}, kMostGenes))
        ->type_name("K");
    cli.add_option("--levels", search.levels, "levels that expression is discretised to")
        ->check(CLI::IsMember({2, 3}))
        ->capture_default_str()
        ->type_name("2|3");
}

}  // namespace

int main(int argc, char** argv) {
    SearchOptions options;
    CLI::App cli(
        "Searches for the pair of genes that predicts each target gene best, in blocks of targets whose sizes the "
        "scheduler named by STARPU_SCHED decides",
        "grn");
    auto* size =
        cli.add_option("--size", options.size, "generate expression of that many genes in 300 samples")->type_name("N");
    cli.add_option("--in", options.in_file, "read expression: a line of samples' names, then a line for each gene")
        ->type_name("FILE")
        ->excludes(size);
    cli.add_option("--out", options.out_file, "write targets, predictors, entropy and determination as TSV")
        ->type_name("FILE.tsv");
    add_search_options(cli, options);
    add_peer(
        cli, options.common,
        "the same kernel in a plain loop on one thread, or the sequential reference, which counts sample by sample,",
        {"loop", "reference"});
    add_app_options(cli, options.common);
    return run_app(cli, argc, argv, [&] { return search(options); });
}
