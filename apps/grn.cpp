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
    std::string discretisation = "quantile";
    std::string criterion = "entropy";
    GrnOptions search;
};

void check(SearchOptions& options) {
    if (options.size.empty() && options.in_file.empty()) throw UserError("give --size N, or --in");
    GrnOptions& search = options.search;
    refuse_in_simulation(options.common, {{"--in", options.in_file}, {"--out", options.out_file}});
    if (kSimulated && (search.candidates > 0 || search.cardinality != 2))
        throw UserError(
            "the simulated machines' times are for all pairs of all genes; leave --candidates and --cardinality out");
    if (constexpr double kMost = 1e9; !(search.penalty >= 0 && search.penalty <= kMost))
        throw UserError("--penalty {}: give a number from 0 to {}", search.penalty, kMost);
    if (search.penalty > 0 && options.criterion != "entropy")
        throw UserError("--penalty belongs to the criterion entropy; leave it out");
    search.discretisation = options.discretisation == "quantile" ? Discretisation::quantile : Discretisation::deviation;
    search.criterion = options.criterion == "entropy" ? GrnCriterion::entropy : GrnCriterion::determination;
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

int search(SearchOptions options) {
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

    const double sets = problem->sets_per_target() * static_cast<double>(problem->target_count());
    nlohmann::ordered_json head{{"app", "grn"},
                                {"size", problem->genes.size()},
                                {"targets", problem->target_count()},
                                {"candidates", problem->parameters.candidates},
                                {"samples", problem->samples()},
                                {"levels", problem->parameters.levels},
                                {"cardinality", problem->options.cardinality},
                                {"criterion", options.criterion},
                                {"evaluations", sets}};
    return print_outcome(outcome, options.common,
                         {sets, "million evaluations/s", "million_evaluations_per_second", 1e-6}, std::move(head),
                         fmt::format("grn, {} of {} genes predicted from {} of {} candidates, {} levels, {} samples",
                                     problem->target_count(), problem->genes.size(),
                                     problem->options.cardinality == 1 ? "single ones" : "all pairs",
                                     problem->parameters.candidates, problem->parameters.levels, problem->samples()));
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
    cli.add_option("--cardinality", search.cardinality, "predictors of each target")
        ->check(CLI::IsMember({1, 2}))
        ->capture_default_str()
        ->type_name("1|2");
    cli.add_option("--levels", search.levels, "levels that expression is discretised to")
        ->check(CLI::IsMember({2, 3}))
        ->capture_default_str()
        ->type_name("2|3");
    add_choice(cli, "--discretise", options.discretisation,
               "levels of equally many samples, or split at the mean (2) or at mean +- standard deviation (3)",
               {"quantile", "deviation"});
    add_choice(cli, "--criterion", options.criterion,
               "least mean conditional entropy of the target, or largest coefficient of determination; ties: the first "
               "set in the order of the file",
               {"entropy", "determination"});
    cli.add_option(
           "--penalty", search.penalty,
           "weight of combinations of levels that no sample has: each counts as ALPHA samples that tell nothing")
        ->capture_default_str()
        ->type_name("ALPHA");
    cli.add_option("--lag", search.lag, "of time series: predict a target's sample s + LAG from sample s")
        ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1'000'000}))
        ->capture_default_str()
        ->type_name("LAG");
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
