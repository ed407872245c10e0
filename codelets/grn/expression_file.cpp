// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/grn/expression_file.hpp"

#include <fmt/format.h>

#include <unordered_map>

#include "models/io/files.hpp"
#include "models/io/text.hpp"
#include "models/io/text_file.hpp"

namespace apportion {

Expression read_expression(const std::string& path) {
    TextFile file(path);
    if (!file.next() || file.line().empty())
        file.fail("a line with the samples' names is needed, then one line for each gene");
    const char separator = file.line().find('\t') != std::string::npos ? '\t' : ' ';
    const std::size_t titles = file.fields(separator).size();
    Expression e;
    std::unordered_map<std::string, std::size_t> lines;
    while (file.next()) {
        const auto fields = file.fields(separator);
        if (e.genes.empty()) {
            e.samples = fields.size() - 1;
            if (titles != e.samples && titles != fields.size())
                file.fail("this gene has {}, but line 1 names {}", counted(e.samples, "value"),
                          counted(titles, "sample"));
            if (e.samples == 0) file.fail("this gene has no values");
        }
        if (fields.size() != e.samples + 1)
            file.fail("this gene has {} value{} instead of {}", fields.size() - 1, fields.size() == 2 ? "" : "s",
                      e.samples);
        if (fields[0].empty()) file.fail("the gene's name is missing");
        const auto [known, is_new] = lines.emplace(fields[0], file.number());
        if (!is_new) file.fail("gene {} is on line {} already", fields[0], known->second);
        e.genes.emplace_back(fields[0]);
        for (std::size_t s = 1; s < fields.size(); ++s)
            e.values.push_back(file.value(fields[s], fmt::format("value {} of gene {}", s, fields[0])));
    }
    if (e.genes.empty()) file.fail("there is no gene below the samples' names");
    return e;
}

void write_network(const std::string& path, const GrnProblem& problem) {
    NewFile file(path);
    fmt::print(file.stream(), "target\tpredictor_1\tpredictor_2\tentropy\tdetermination\n");
    for (std::size_t t = 0; t < problem.target_count(); ++t) {
        const PredictorSet& pair = problem.results[t];
        const Prediction prediction = predict(problem, t, pair);
        fmt::print(file.stream(), "{}\t{}\t{}\t{:.6f}\t{:.6f}\n", problem.genes[t],
                   problem.genes[problem.candidate_genes[pair.first]],
                   problem.genes[problem.candidate_genes[pair.second]], prediction.entropy, prediction.determination);
    }
    file.finish();
}

}  // namespace apportion
