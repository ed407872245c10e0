// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/grn/grn.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "codelets/common/device_worker.hpp"
#include "codelets/common/handicap.hpp"
#include "codelets/common/kernel_codelet.hpp"
#include "codelets/grn/grn_buffers.hpp"

namespace apportion {

namespace {

starpu_codelet& grn_codelet() {
    std::vector<starpu_data_access_mode> modes = {STARPU_W};
    // Simulated, the expression matrix is no data: it lies on every device from the beginning.
    if (!kSimulated) modes.insert(modes.begin(), 3, STARPU_R);
    static KernelCodelet codelet("grn", "grn", APPORTION_KERNELS(grn_cpu, grn_cuda), modes);
    return codelet.get();
}

std::uint64_t targets_of(const starpu_task* task) { return starpu_vector_get_nx(task->handles[0]); }

template <class T>
TaskData vector_data(std::vector<T>& values, int mode, std::size_t first, std::size_t rows, std::size_t elements) {
    return {.mode = mode, .data = values.data() + first * elements, .rows = rows, .element_size = elements * sizeof(T)};
}

class Grn final : public Workload {
  public:
    explicit Grn(std::shared_ptr<GrnProblem> problem);
    ~Grn() override;

    starpu_codelet& codelet() override { return grn_codelet(); }
    std::vector<TaskData> data(const TaskRange& range) override;
    void* argument() override { return &problem_->parameters; }
    void spoil_result() override;
    Verification verify() override { return verify_grn(*problem_); }

  private:
    std::shared_ptr<GrnProblem> problem_;
    std::vector<starpu_data_handle_t> shared_;  ///< candidates, table; none in the simulated flavour
    DeviceWorkers keep_;
};

Grn::Grn(std::shared_ptr<GrnProblem> problem) : problem_(std::move(problem)) {
    // Per word of a bit set and of logical operation, counting and addition; and to look up the entropies.
    constexpr double kPerWord = 3;
    GrnProblem& p = *problem_;
    const double levels = p.parameters.levels;
    shape_.name = "grn";
    shape_.units = p.target_count();
    shape_.operations_per_unit =
        p.pairs_per_target() * (kPerWord * static_cast<double>(p.parameters.words()) + 2 * levels * levels * levels);
    shape_.bytes_per_unit = p.parameters.target_words() * sizeof(std::uint64_t) + sizeof(PredictorSet);
    shape_.bytes_shared = p.candidates.size() * sizeof(std::uint64_t) + p.nlogn.size() * sizeof(std::int64_t);
    if constexpr (kSimulated) {
        simulated::install(codelet(), "grn", {.n = static_cast<double>(p.genes.size())}, targets_of);
        return;
    }
    shared_.resize(2);
    starpu_vector_data_register(&shared_[0], STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(p.candidates.data()),
                                p.candidates.size(), sizeof(std::uint64_t));
    starpu_vector_data_register(&shared_[1], STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(p.nlogn.data()),
                                p.nlogn.size(), sizeof(std::int64_t));
}

Grn::~Grn() {
    for (starpu_data_handle_t handle : shared_) starpu_data_unregister(handle);
}

void Grn::spoil_result() {
    std::ranges::fill(problem_->results, PredictorSet{kNoGene, kNoGene, std::numeric_limits<double>::quiet_NaN()});
}

std::vector<TaskData> Grn::data(const TaskRange& range) {
    GrnProblem& p = *problem_;
    const TaskData results = vector_data(p.results, STARPU_W, range.first, range.units, 1);
    if (shared_.empty()) return {results};
    std::vector<TaskData> all;
    for (const starpu_data_handle_t handle : shared_) all.push_back({.shared = handle, .mode = STARPU_R});
    all.push_back(vector_data(p.targets, STARPU_R, range.first, range.units, p.parameters.target_words()));
    all.push_back(results);
    return all;
}

}  // namespace

void grn_cpu(void* buffers[], void* arg) {
    const auto& parameters = *static_cast<const GrnParameters*>(arg);
    for (int repetition = repetitions(); repetition > 0; --repetition)
        best_grn_kernels().search(grn_block(buffers, parameters), parameters);
}

void search_by_one_call(GrnProblem& p) {
    best_grn_kernels().search({p.candidates.data(),
                               p.targets.data(),
                               {p.nlogn.data(), p.parameters.samples},
                               p.target_count(),
                               p.results.data()},
                              p.parameters);
}

std::unique_ptr<Workload> make_grn(std::shared_ptr<GrnProblem> problem) {
    return std::make_unique<Grn>(std::move(problem));
}

std::unique_ptr<Workload> make_grn(const WorkloadOptions& options) {
    return make_grn(std::make_shared<GrnProblem>(generated_grn_problem(options.sizes(1).front(), {}, options.seed)));
}

}  // namespace apportion
