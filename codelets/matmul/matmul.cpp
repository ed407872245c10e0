// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/matmul/matmul.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "codelets/common/device_worker.hpp"
#include "codelets/common/kernel_codelet.hpp"
#include "codelets/matmul/matmul_kernels.hpp"

namespace apportion {

namespace {

constexpr std::uint64_t kResidentFraction = 4;  ///< A stays whole on a device where it takes at most 1/4 of the memory
constexpr std::uint64_t kPanelFraction = 8;     ///< otherwise a panel takes at most 1/8, and two are there at a time
constexpr unsigned kStreamedPanels = 2;

/// One codelet for all matmul loads: StarPU keeps references to codelets and models beyond a load's life.
starpu_codelet& matmul_codelet() {
    std::vector<starpu_data_access_mode> modes = {STARPU_R, STARPU_W};
    // Simulated, A's panels are no data: the platform's times contain what they cost.
    if (!kSimulated) modes.insert(modes.begin(), STARPU_R);
    static KernelCodelet codelet("matmul", "matmul", APPORTION_KERNELS(matmul_cpu, matmul_cuda), modes);
    return codelet.get();
}

std::uint64_t columns_of(const starpu_task* task) { return starpu_matrix_get_ny(task->handles[0]); }

/// 0 when every worker that can run the codelet works in main memory.
std::uint64_t smallest_device_memory(starpu_codelet& codelet) {
    std::uint64_t smallest = 0;
    for (unsigned w = 0; w < starpu_worker_get_count(); ++w) {
        const unsigned node = starpu_worker_get_memory_node(w);
        if (!can_run(w, codelet) || starpu_node_get_kind(node) == STARPU_CPU_RAM) continue;
        const starpu_ssize_t total = starpu_memory_get_total(node);
        if (total > 0 && (smallest == 0 || static_cast<std::uint64_t>(total) < smallest)) smallest = total;
    }
    return smallest;
}

class Matmul final : public Workload {
  public:
    Matmul(std::shared_ptr<MatmulProblem> problem, unsigned panels, PartsOfWorkers of_workers = {});
    ~Matmul() override;

    starpu_codelet& codelet() override { return matmul_codelet(); }
    unsigned parts_on(int worker) override {
        return of_workers_.empty() ? shape_.parts : static_cast<unsigned>(of_workers_[worker].size());
    }
    std::vector<TaskData> data(const TaskRange& range) override;
    void spoil_result() override { fill_nan(problem_->c); }
    Verification verify() override { return verify_matmul(*problem_); }

  private:
    std::size_t first_row(unsigned panel) const { return problem_->a.rows() * panel / shape_.parts; }
    unsigned panel_of(const TaskRange& range);

    std::shared_ptr<MatmulProblem> problem_;
    PinnedMatrix pinned_[3];
    std::vector<starpu_data_handle_t> panels_;  ///< of A; none in the simulated flavour
    std::vector<bool> backwards_;               ///< per worker: the direction of its current block
    PartsOfWorkers of_workers_;                 ///< in rectangles; empty: in columns
    DeviceWorkers keep_;
};

Matmul::Matmul(std::shared_ptr<MatmulProblem> problem, unsigned panels, PartsOfWorkers of_workers)
    : problem_(std::move(problem)),
      pinned_{problem_->a.pin(), problem_->b.pin(), problem_->c.pin()},
      backwards_(starpu_worker_get_count()),
      of_workers_(std::move(of_workers)) {
    Matrix& a = problem_->a;
    const std::size_t m = a.rows(), k = a.columns();
    const std::uint64_t element = element_size(a.type());
    const std::uint64_t a_bytes = element * m * k;
    shape_.name = "matmul";
    shape_.units = problem_->b.columns();
    // What a column costs depends on A. `apportion profile` records single precision.
    if (m == k && a.type() == ElementType::float32)
        name_profile(m);
    else
        shape_.profile = fmt::format("matmul-{}-{}x{}", real_name(a.type()), m, k);
    if (m != k && a.type() == ElementType::float32)
        shape_.profile_command = fmt::format("apportion profile --app matmul --size {},{},{}", m, shape_.units, k);
    shape_.operations_per_unit = 2.0 * static_cast<double>(m) * static_cast<double>(k);
    shape_.bytes_per_unit = element * (m + k);
    shape_.bytes_shared = a_bytes;
    shape_.results_stay = matmul_stores_once(k);
    if constexpr (kSimulated) {
        const auto size = [](std::size_t n) { return static_cast<double>(n); };
        simulated::install(codelet(), "matmul", {.m = size(m), .n = size(shape_.units), .k = size(k)}, columns_of);
        return;
    }
    if (of_workers_.empty())
        shape_.parts = panels > 0 ? panels : row_panels(m, a_bytes, smallest_device_memory(codelet()));
    if (shape_.parts > 1) shape_.bytes_shared = (a_bytes / shape_.parts + element * k) * kStreamedPanels;
    use_one_blas_thread();
    if (!of_workers_.empty()) return;
    panels_.resize(shape_.parts);
    for (unsigned p = 0; p < shape_.parts; ++p)
        starpu_matrix_data_register(&panels_[p], STARPU_MAIN_RAM,
                                    reinterpret_cast<std::uintptr_t>(a.at(first_row(p), 0)), a.ld(),
                                    first_row(p + 1) - first_row(p), k, element);
}

Matmul::~Matmul() {
    for (starpu_data_handle_t panel : panels_) starpu_data_unregister(panel);
}

unsigned Matmul::panel_of(const TaskRange& range) {
    if (range.worker < 0 || shape_.parts == 1) return range.part;
    if (range.part == 0) backwards_[range.worker].flip();
    return backwards_[range.worker] ? shape_.parts - 1 - range.part : range.part;
}

std::vector<TaskData> Matmul::data(const TaskRange& range) {
    const std::size_t k = problem_->b.rows();
    if (!of_workers_.empty()) {
        const MatrixPart& part = of_workers_[static_cast<std::size_t>(range.worker)][range.part];
        return {part_of(problem_->a, STARPU_R, {part.row, part.rows, 0, k}),
                part_of(problem_->b, STARPU_R, {0, k, part.column, part.columns}),
                part_of(problem_->c, STARPU_W, part)};
    }
    const TaskData b = part_of(problem_->b, STARPU_R, {0, k, range.first, range.units});
    const unsigned panel = panel_of(range);
    const std::size_t row = first_row(panel);
    const TaskData c = part_of(problem_->c, STARPU_W, {row, first_row(panel + 1) - row, range.first, range.units});
    if (panels_.empty()) return {b, c};
    return {{.shared = panels_[panel]}, b, c};
}

}  // namespace

unsigned row_panels(std::size_t rows, std::uint64_t a_bytes, std::uint64_t memory_bytes) {
    if (memory_bytes == 0 || a_bytes <= memory_bytes / kResidentFraction) return 1;
    const std::uint64_t panel_bytes = std::max<std::uint64_t>(memory_bytes / kPanelFraction, 1);
    return static_cast<unsigned>(std::min<std::uint64_t>((a_bytes + panel_bytes - 1) / panel_bytes, rows));
}

MatmulProblem random_matmul(ElementType type, std::size_t m, std::size_t n, std::size_t k, std::uint64_t seed) {
    require_free_memory(matrix_bytes(type, m, k) + matrix_bytes(type, k, n) + matrix_bytes(type, m, n), "the matrices");
    MatmulProblem problem{Matrix(type, m, k), Matrix(type, k, n), Matrix(type, m, n)};
    fill_random(problem.a, seed);
    fill_random(problem.b, seed + 1);
    return problem;
}

std::unique_ptr<Workload> make_matmul(std::shared_ptr<MatmulProblem> problem, unsigned panels) {
    return std::make_unique<Matmul>(std::move(problem), panels);
}

std::unique_ptr<Workload> make_matmul(std::shared_ptr<MatmulProblem> problem, PartsOfWorkers of_workers) {
    return std::make_unique<Matmul>(std::move(problem), 0, std::move(of_workers));
}

std::unique_ptr<Workload> make_matmul(const WorkloadOptions& options) {
    const std::vector<std::uint64_t> size = options.sizes(3);  // m, n, k
    return make_matmul(
        std::make_shared<MatmulProblem>(random_matmul(ElementType::float32, size[0], size[1], size[2], options.seed)));
}

}  // namespace apportion
