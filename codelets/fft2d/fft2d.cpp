// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/fft2d/fft2d.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "codelets/common/device_worker.hpp"
#include "codelets/common/handicap.hpp"
#include "codelets/common/kernel_codelet.hpp"
#include "codelets/fft2d/fft2d_kernels.hpp"
#include "codelets/fft2d/fft_rows.hpp"

namespace apportion {

namespace {

constexpr std::size_t kLine_bytes = 64;

/// One codelet per pass, because simulated costs of the two differ.
starpu_codelet& codelet_of(Fft2dPass pass) {
    static const Kernels kernels = APPORTION_KERNELS(fft2d_cpu, fft2d_cuda);
    static KernelCodelet codelets[2] = {{"fft2d", "fft2d", kernels, {STARPU_R, STARPU_W}},
                                        {"fft2d", "fft2d", kernels, {STARPU_R, STARPU_W}}};
    return codelets[static_cast<int>(pass)].get();
}

std::uint64_t rows_of(const starpu_task* task) { return starpu_matrix_get_ny(task->handles[0]); }

class Pass final : public Workload {
  public:
    Pass(std::shared_ptr<Fft2dProblem> problem, Fft2dPass pass, FftPlanning planning);

    starpu_codelet& codelet() override { return codelet_of(pass_); }
    std::vector<TaskData> data(const TaskRange& range) override;
    void* argument() override { return &parameters_; }
    void spoil_result() override { fill_nan(to()); }
    Verification verify() override {
        return pass_ == Fft2dPass::rows ? verify_fft2d_rows(*problem_) : verify_fft2d(*problem_);
    }

  private:
    Matrix& from() { return pass_ == Fft2dPass::rows ? problem_->input : problem_->middle; }
    Matrix& to() { return pass_ == Fft2dPass::rows ? problem_->middle : problem_->output; }

    std::shared_ptr<Fft2dProblem> problem_;
    Fft2dPass pass_;
    PinnedMatrix pinned_[2];
    std::unique_ptr<FftRows> cpu_;
    Fft2dParameters parameters_;
    DeviceWorkers keep_;
};

Pass::Pass(std::shared_ptr<Fft2dProblem> problem, Fft2dPass pass, FftPlanning planning)
    : problem_(std::move(problem)), pass_(pass), pinned_{from().pin(), to().pin()} {
    const std::size_t length = from().rows(), element = element_size(from().type());
    shape_.name = "fft2d";
    shape_.units = from().columns();
    // Blocks that begin and end at cache lines of the result, where there are that many rows.
    shape_.granularity = std::min<std::uint64_t>(kLine_bytes / element, shape_.units);
    const double n = static_cast<double>(length);
    shape_.operations_per_unit = 5 * n * std::max(std::log2(n), 1.0);
    shape_.bytes_per_unit = fft2d_device_bytes_per_row(length, element);
    shape_.bytes_shared = fft2d_device_bytes(length, element);
    if constexpr (kSimulated)
        simulated::install(codelet(), "fft2d", {.m = static_cast<double>(shape_.units), .n = n, .k = n}, rows_of);
    else
        cpu_ = make_fft_rows({.type = from().type(),
                              .length = length,
                              .in_ld = from().ld(),
                              .inverse = problem_->inverse,
                              .planning = planning,
                              .workers = starpu_worker_get_count()});
    parameters_ = {cpu_.get(), problem_->inverse};
}

std::vector<TaskData> Pass::data(const TaskRange& range) {
    return {part_of(from(), STARPU_R, {0, from().rows(), range.first, range.units}),
            part_of(to(), STARPU_W, {range.first, range.units, 0, to().columns()})};
}

}  // namespace

void fft2d_cpu(void* buffers[], void* arg) {
    FftRows& rows = *static_cast<const Fft2dParameters*>(arg)->cpu;
    void* const in = buffers[0];
    void* const out = buffers[1];
    for (int repetition = repetitions(); repetition > 0; --repetition)
        rows.run(starpu_worker_get_id(), reinterpret_cast<const void*>(STARPU_MATRIX_GET_PTR(in)),
                 STARPU_MATRIX_GET_LD(in), reinterpret_cast<void*>(STARPU_MATRIX_GET_PTR(out)),
                 STARPU_MATRIX_GET_LD(out), STARPU_MATRIX_GET_NY(in));
}

double Fft2dProblem::operations() const {
    const double elements = static_cast<double>(rows()) * static_cast<double>(columns());
    return 5 * elements * std::max(std::log2(elements), 1.0);
}

Fft2dProblem fft2d_problem(Matrix input, bool inverse) {
    const ElementType type = input.type();
    const std::size_t m = input.columns(), n = input.rows();
    // The reference of the verification is one more.
    require_free_memory(matrix_bytes(type, m, n) + 2 * matrix_bytes(type, n, m), "the transform's matrices");
    Matrix middle(type, m, n), output(type, n, m);
    return {std::move(input), std::move(middle), std::move(output), inverse};
}

Fft2dProblem random_fft2d(ElementType type, std::size_t rows, std::size_t columns, std::uint64_t seed) {
    require_free_memory(matrix_bytes(type, columns, rows), "the transform's matrices");
    Fft2dProblem problem = fft2d_problem(Matrix(type, columns, rows));
    fill_random(problem.input, seed);
    return problem;
}

std::unique_ptr<Workload> make_fft2d_pass(std::shared_ptr<Fft2dProblem> problem, Fft2dPass pass, FftPlanning planning) {
    return std::make_unique<Pass>(std::move(problem), pass, planning);
}

std::unique_ptr<Workload> make_fft2d(const WorkloadOptions& options) {
    const std::vector<std::uint64_t> size = options.sizes(2);
    return make_fft2d_pass(
        std::make_shared<Fft2dProblem>(random_fft2d(ElementType::complex128, size[0], size[1], options.seed)),
        Fft2dPass::rows);
}

}  // namespace apportion
