// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/jacobi_batch/jacobi_batch.hpp"

#include <cblas.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "codelets/common/device_worker.hpp"
#include "codelets/common/kernel_codelet.hpp"
#include "codelets/jacobi/jacobi_kernels.hpp"
#include "codelets/jacobi/linear_system.hpp"
#include "models/io/user_error.hpp"

namespace apportion {

namespace {

std::uint64_t systems_of(const starpu_task* task) { return starpu_matrix_get_ny(task->handles[1]); }

starpu_codelet& batch_codelet() {
    static KernelCodelet codelet("jacobi_batch", "jacobi_batch", APPORTION_KERNELS(jacobi_batch_cpu, jacobi_batch_cuda),
                                 {STARPU_R, STARPU_R, STARPU_W});
    return codelet.get();
}

class Batch final : public Workload {
  public:
    explicit Batch(std::shared_ptr<JacobiBatch> batch);

    starpu_codelet& codelet() override { return batch_codelet(); }
    std::vector<TaskData> data(const TaskRange& range) override;
    void* argument() override { return &batch_->iterations; }
    void spoil_result() override { fill_nan(batch_->x); }
    Verification verify() override { return verify_jacobi_batch(*batch_); }

  private:
    std::shared_ptr<JacobiBatch> batch_;
    PinnedMatrix pinned_[3];
    DeviceWorkers keep_;
};

Batch::Batch(std::shared_ptr<JacobiBatch> batch)
    : batch_(std::move(batch)), pinned_{batch_->a.pin(), batch_->b.pin(), batch_->x.pin()} {
    const std::uint64_t element = element_size(batch_->a.type()), n = batch_->n();
    shape_.name = "jacobi_batch";
    shape_.units = batch_->systems();
    shape_.operations_per_unit = batch_->operations() / static_cast<double>(shape_.units);
    shape_.bytes_per_unit = element * (n * n + 2 * n);
    const auto size = [](std::uint64_t count) { return static_cast<double>(count); };
    if constexpr (kSimulated)
        simulated::install(codelet(), "jacobi_batch",
                           {.m = size(shape_.units), .n = size(n), .k = size(batch_->iterations)}, systems_of);
    else
        openblas_set_num_threads(1);
}

std::vector<TaskData> Batch::data(const TaskRange& range) {
    const std::size_t n = batch_->n();
    const MatrixPart vectors{0, n, range.first, range.units};
    return {part_of(batch_->a, STARPU_R, {0, n, range.first * n, range.units * n}),
            part_of(batch_->b, STARPU_R, vectors), part_of(batch_->x, STARPU_W, vectors)};
}

template <class T>
struct Blas;
template <>
struct Blas<float> {
    static constexpr auto gemv = cblas_sgemv;
};
template <>
struct Blas<double> {
    static constexpr auto gemv = cblas_dgemv;
};

template <class T>
void solve_by_blas(JacobiBatch& batch) {
    const auto n = static_cast<blasint>(batch.n());
    std::vector<T> product(batch.n());
    for (std::size_t system = 0; system < batch.systems(); ++system) {
        const T* const a = batch.a.column<T>(system * batch.n());
        const T* const b = batch.b.column<T>(system);
        T* const x = static_cast<T*>(batch.x.at(0, system));
        std::fill_n(x, batch.n(), T(0));
        for (std::uint64_t iteration = 0; iteration < batch.iterations; ++iteration) {
            Blas<T>::gemv(CblasColMajor, CblasTrans, n, n, 1, a, static_cast<blasint>(batch.a.ld()), x, 1, 0,
                          product.data(), 1);
            for (std::size_t i = 0; i < batch.n(); ++i)
                x[i] += jacobi_step({b[i], a[i * batch.a.ld() + i]}, product[i]);
        }
    }
}

}  // namespace

double JacobiBatch::operations() const {
    const double size = static_cast<double>(n());
    return 2 * size * size * static_cast<double>(iterations) * static_cast<double>(systems());
}

JacobiBatch random_jacobi_batch(ElementType type, std::size_t systems, std::size_t n, std::uint64_t iterations,
                                std::uint64_t seed) {
    std::size_t rows = 0;
    if (__builtin_mul_overflow(systems, n, &rows)) rows = std::numeric_limits<std::size_t>::max();
    require_free_memory(matrix_bytes(type, n, rows), "the matrices");
    JacobiBatch batch{"the generated batch", Matrix(type, n, rows), Matrix(type, n, systems), Matrix(type, n, systems),
                      iterations};
    fill_random(batch.a, seed);
    fill_random(batch.b, seed + 1);
    make_dominant(batch.a);
    return batch;
}

void check_solvable(const JacobiBatch& batch) {
    by_real_type(batch.a.type(), [&]<class T>() {
        for (std::size_t column = 0; column < batch.a.columns(); ++column) {
            const std::size_t system = column / batch.n(), i = column % batch.n();
            const T* const row = batch.a.column<T>(column);
            const bool finite = std::all_of(row, row + batch.n(), [](T value) { return std::isfinite(value); });
            if (!finite || !std::isfinite(batch.b.column<T>(system)[i]))
                throw UserError("{}: system {}, row {} (both from 1) has an element that is not finite", batch.name,
                                system + 1, i + 1);
            if (row[i] == 0)
                throw UserError(
                    "{}: there is a zero on the diagonal of system {}, row {} (both from 1), by which the Jacobi "
                    "method would divide; put the equations into another order",
                    batch.name, system + 1, i + 1);
        }
    });
}

std::unique_ptr<Workload> make_jacobi_batch(std::shared_ptr<JacobiBatch> batch) {
    return std::make_unique<Batch>(std::move(batch));
}

std::unique_ptr<Workload> make_jacobi_batch(const WorkloadOptions& options) {
    const std::vector<std::uint64_t> size = options.sizes(2);
    const std::uint64_t systems = options.size.size() == 1 ? kDefaultSystems : size.front();
    return make_jacobi_batch(std::make_shared<JacobiBatch>(
        random_jacobi_batch(ElementType::float64, systems, size.back(), kPaperIterations, options.seed)));
}

void jacobi_batch_by_blas(JacobiBatch& batch) {
    by_real_type(batch.a.type(), [&]<class T>() { solve_by_blas<T>(batch); });
}

}  // namespace apportion
