// SPDX-License-Identifier: LGPL-2.1-or-later
// The search for predictors against its reference, for every instruction set that this processor has, without StarPU.
#include "codelets/grn/grn.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "test/catch.hpp"
#include "test/codelets/isas.hpp"

using namespace apportion;

namespace {

/// Independent normal values, some of them equal.
Expression noise(std::size_t genes, std::size_t samples, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    Expression e;
    e.samples = samples;
    for (std::size_t g = 0; g < genes; ++g) e.genes.push_back("g" + std::to_string(g));
    for (std::size_t i = 0; i < genes * samples; ++i) e.values.push_back(std::round(8 * normal(generator)) / 8);
    return e;
}

std::vector<PredictorSet> search(Isa isa, GrnProblem& p) {
    const ScoreRule rule{p.nlogn.data(), p.parameters.samples};
    best_grn_kernels(isa).search({p.candidates.data(), p.targets.data(), rule, p.target_count(), p.results.data()},
                                 p.parameters);
    return p.results;
}

/// Kernel and reference agree on how good the best set is, and on the set unless there is a tie.
void check_search(const Expression& expression, const GrnOptions& options) {
    GrnProblem reference = make_grn_problem(expression, options);
    search_by_reference(reference, 0, reference.target_count());
    for (Isa isa : isas()) {
        GrnProblem p = make_grn_problem(expression, options);
        search(isa, p);
        REQUIRE(verify_grn(p).correct);
        for (std::size_t t = 0; t < p.target_count(); ++t) {
            INFO("target " << t << ", samples " << p.samples() << ", levels " << p.parameters.levels);
            const Prediction kernel = predict(p, t, p.results[t]), best = predict(p, t, reference.results[t]);
            CHECK(kernel.entropy == Approx(best.entropy).margin(1e-6));
        }
    }
}

Expression table(std::size_t samples, const std::vector<std::vector<double>>& rows) {
    Expression e;
    e.samples = samples;
    for (std::size_t g = 0; g < rows.size(); ++g) {
        e.genes.push_back("g" + std::to_string(g));
        e.values.insert(e.values.end(), rows[g].begin(), rows[g].end());
    }
    return e;
}

}  // namespace

TEST_CASE("the search finds what the reference finds") {
    for (std::uint32_t levels : {2u, 3u})
        for (std::size_t samples : {2, 37, 64, 65, 130, 293, 448, 600}) {
            GrnOptions options;
            options.levels = levels;
            check_search(noise(12, samples, 3), options);
        }
}

TEST_CASE("planted pairs are found") {
    for (std::uint32_t levels : {2u, 3u}) {
        constexpr std::size_t kGenes = 60, kTargets = 10;
        GrnOptions options;
        options.levels = levels;
        options.targets = kTargets;
        GrnProblem p = make_grn_problem(random_expression(kGenes, kGeneratedSamples, kTargets, levels, 8), options);
        search_by_one_call(p);
        CHECK(verify_grn(p).correct);
        for (std::size_t t = 0; t < kTargets; ++t) {
            const auto planted = planted_predictors(kGenes, kTargets, t, 8);
            REQUIRE(planted.size() == 2);
            CHECK(p.candidate_genes[p.results[t].first] == planted[0]);
            CHECK(p.candidate_genes[p.results[t].second] == planted[1]);
        }
    }
}

TEST_CASE("a result does not depend on the block it is computed in") {
    GrnOptions options;
    options.levels = 3;
    GrnProblem p = make_grn_problem(noise(30, 90, 9), options);
    const auto whole = search(best_isa(), p);
    const ScoreRule rule{p.nlogn.data(), p.parameters.samples};
    for (std::size_t begin = 0, size = 1; begin < 30; begin += size, size += 4) {
        const std::size_t n = std::min<std::size_t>(size, 30 - begin);
        std::vector<PredictorSet> part(n);
        best_grn_kernels().search(
            {p.candidates.data(), p.targets.data() + begin * p.parameters.target_words(), rule, n, part.data()},
            p.parameters);
        for (std::size_t i = 0; i < n; ++i) {
            CHECK(part[i].first == whole[begin + i].first);
            CHECK(part[i].second == whole[begin + i].second);
            CHECK(part[i].score == whole[begin + i].score);
        }
    }
}

TEST_CASE("of equally good pairs the first wins, and no gene predicts itself") {
    // Genes 1, 2 and 3 are alike; each predicts 0 perfectly.
    const std::vector<double> row{0, 0, 1, 1, 0, 1}, other{0, 1, 0, 1, 0, 1};
    GrnProblem pair = make_grn_problem(table(6, {row, row, row, row, other}), {});
    search_by_one_call(pair);
    CHECK(pair.results[0].first == 1);
    CHECK(pair.results[0].second == 2);
    CHECK(pair.results[1].first == 0);
    CHECK(pair.results[1].second == 2);
}

TEST_CASE("predictions are measured as the definitions say") {
    // Of 8 samples predictor level 0 has targets 0 0 0 1, level 1 has 1 1 1 0: H = 0.811278 bits, 2 of 4 errors go.
    const std::vector<double> target{0, 0, 0, 1, 1, 1, 1, 0}, predictor{0, 0, 0, 0, 1, 1, 1, 1};
    GrnProblem p = make_grn_problem(table(8, {target, predictor, predictor}), {});
    const Prediction prediction = predict(p, 0, {1, 2, 0});
    CHECK(prediction.entropy == Approx(0.8112781244591328));
    CHECK(prediction.determination == Approx(0.5));
    search_by_one_call(p);
    CHECK(std::ldexp(p.results[0].score, -kFractionBits) / 8 == Approx(0.8112781244591328).margin(1e-6));
}

TEST_CASE("a gene of one level is predicted by the first pair, and explains nothing") {
    GrnProblem p = make_grn_problem(table(4, {{1, 1, 1, 1}, {0, 1, 2, 3}, {3, 0, 1, 2}}), {});
    search_by_one_call(p);
    CHECK(p.results[0].first == 1);
    CHECK(predict(p, 0, p.results[0]).entropy == 0);
    CHECK(predict(p, 0, p.results[0]).determination == 0);
    CHECK(verify_grn(p).correct);
}

TEST_CASE("levels are of equally many samples") {
    using Levels = std::vector<std::uint8_t>;
    const std::vector<double> values{5, 1, 3, 2, 4, 6}, constant(4, 7.5);
    CHECK(discretise(values.data(), 6, 2) == Levels{1, 0, 0, 0, 1, 1});
    CHECK(discretise(values.data(), 6, 3) == Levels{2, 0, 1, 0, 1, 2});
    CHECK(discretise(constant.data(), 4, 3) == Levels(4, 0));
}

TEST_CASE("candidates are the most variable genes, in the order of the file") {
    GrnOptions options;
    options.candidates = 3;
    options.targets = 2;
    const GrnProblem p =
        make_grn_problem(table(3, {{0, 0, 9}, {1, 1, 2}, {5, 5, 5}, {0, 4, 8}, {0, 1, 0}, {-9, 0, 9}}), options);
    CHECK(p.candidate_genes == std::vector<std::uint32_t>{0, 3, 5});
    CHECK(p.target_count() == 2);
    CHECK(p.targets[0] == 0);
    CHECK(p.targets[p.parameters.target_words()] == kNoGene);
}

TEST_CASE("data that do not suffice are refused") {
    const auto refusal = [](std::size_t genes, std::size_t samples, const GrnOptions& options) {
        return thrown<std::runtime_error>([&] { make_grn_problem(noise(genes, samples, 1), options); });
    };
    CHECK(refusal(1, 5, {}) == "has 1 gene; at least 3 are needed");
    CHECK(refusal(4, 1, {}) == "has 1 sample; at least 2 are needed");
    CHECK(refusal(4, 5, {.targets = 5}) == "has 4 genes, but 5 targets are wanted");
    CHECK(refusal(4, 5, {.candidates = 5}) == "has 4 genes, but 5 candidates are wanted");
    CHECK(refusal(4, 5, {.candidates = 2}) == "is to be searched with 2 candidates; at least 3 are needed");
    CHECK(refusal(3, 65536, {}) == "has 65536 samples; at most 65535 can be counted");
}

TEST_CASE("verification sees missing, forbidden and second-best results") {
    GrnProblem p = make_grn_problem(noise(20, 60, 2), {});
    search_by_one_call(p);
    REQUIRE(verify_grn(p).correct);
    for (const PredictorSet& wrong :
         {PredictorSet{kNoGene, kNoGene, std::nan("")}, PredictorSet{0, 5, p.results[0].score},
          PredictorSet{p.results[0].first, p.results[0].second, p.results[0].score + (1 << 20)},
          PredictorSet{p.results[0].first == 1 ? 2u : 1u, 19, p.results[0].score}}) {
        GrnProblem spoilt = p;
        spoilt.results[0] = wrong;
        CHECK_FALSE(verify_grn(spoilt).correct);
    }
    // A consistent score of a set that is not the best.
    GrnProblem worse = p;
    GrnProblem few = p;
    few.parameters.candidates = 4;
    search_by_one_call(few);
    worse.results[0] = few.results[0];
    if (few.results[0].score > p.results[0].score) CHECK_FALSE(verify_grn(worse).correct);
}
