// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/jacobi/jacobi.hpp"

#include <algorithm>
#include <utility>

#include "codelets/common/kernel_codelet.hpp"
#include "codelets/jacobi/jacobi_kernels.hpp"

namespace apportion {

namespace {

constexpr int kBuffers = 6;      ///< of the dense codelet, of which the second are the rows' terms
constexpr int kSparseExtra = 2;  ///< the sparse one has two more before them

std::vector<starpu_data_access_mode> modes(int buffers) {
    std::vector<starpu_data_access_mode> all(static_cast<std::size_t>(buffers), STARPU_R);
    all[all.size() - 2] = all[all.size() - 1] = STARPU_W;
    return all;
}

starpu_codelet& codelet_of(bool sparse) {
    static KernelCodelet codelets[2] = {
        {"jacobi", "jacobi", APPORTION_KERNELS(jacobi_dense_cpu, jacobi_dense_cuda), modes(kBuffers)},
        {"jacobi", "jacobi_sparse", APPORTION_KERNELS(jacobi_sparse_cpu, jacobi_sparse_cuda),
         modes(kBuffers + kSparseExtra)}};
    return codelets[sparse].get();
}

std::uint64_t rows_of(const starpu_task* task) {
    return starpu_vector_get_nx(task->handles[task->cl == &codelet_of(true) ? 1 + kSparseExtra : 1]);
}

class Solver final : public JacobiSolver {
  public:
    explicit Solver(std::shared_ptr<LinearSystem> system);
    ~Solver() override;

    starpu_codelet& codelet() override { return codelet_of(system_->sparse.has_value()); }
    std::vector<TaskData> data(const TaskRange& range) override;
    std::vector<DistributedData> distributed() override;
    void spoil_result() override { fill_nan(next()); }
    Verification verify() override { return verify_iteration(*system_, x(), next()); }

    void restart() override;
    JacobiProgress advance() override;
    const Matrix& x() const override { return x_[current_]; }

  private:
    Matrix& next() { return x_[1 - current_]; }
    void add_rows(std::vector<TaskData>& list, const TaskRange& range) const;
    void forget_device_copies(int vector);
    template <class T>
    JacobiProgress progress();

    std::shared_ptr<LinearSystem> system_;
    Matrix terms_;  ///< b and the diagonal, row by row
    Matrix x_[2];
    std::vector<PinnedMatrix> pinned_;
    int current_ = 0;
    Matrix changes_;                         ///< two numbers per row; a block uses those of its first row
    std::vector<std::uint64_t> first_rows_;  ///< of the blocks of this iteration
    starpu_data_handle_t vectors_[2] = {};   ///< x_, whole
};

/// StarPU takes addresses of what is only read without const.
void* address(const void* data) { return const_cast<void*>(data); }

TaskData part_of(const Matrix& vector, int mode, std::uint64_t first, std::uint64_t elements) {
    return {.mode = mode,
            .data = address(vector.at(first, 0)),
            .rows = elements,
            .element_size = element_size(vector.type())};
}

/// Pairs of numbers, two per row.
TaskData pairs_of(const Matrix& pairs, int mode, std::uint64_t first, std::uint64_t count) {
    TaskData d = part_of(pairs, mode, 2 * first, count);
    d.element_size *= 2;
    return d;
}

template <class T>
TaskData part_of(const std::vector<T>& values, std::int64_t first, std::int64_t elements) {
    return {.mode = STARPU_R | APPORTION_KEEP,
            .data = address(values.data() + first),
            .rows = static_cast<std::size_t>(elements),
            .element_size = sizeof(T)};
}

template <class T>
void fill_terms(const LinearSystem& system, const Matrix& diagonal, Matrix& terms) {
    for (std::size_t i = 0; i < system.n(); ++i)
        *static_cast<JacobiTerms<T>*>(terms.at(2 * i, 0)) = {*static_cast<const T*>(system.b.at(i, 0)),
                                                             *static_cast<const T*>(diagonal.at(i, 0))};
}

Matrix terms_of(const LinearSystem& system) {
    Matrix terms(system.type(), 2 * system.n(), 1);
    if (!kSimulated) by_real_type(system.type(), [&]<class T>() { fill_terms<T>(system, diagonal_of(system), terms); });
    return terms;
}

Solver::Solver(std::shared_ptr<LinearSystem> system)
    : system_(std::move(system)),
      terms_(terms_of(*system_)),
      x_{Matrix(system_->type(), system_->n(), 1), Matrix(system_->type(), system_->n(), 1)},
      changes_(system_->type(), 2 * system_->n(), 1) {
    const std::uint64_t n = system_->n(), element = element_size(system_->type());
    const double entries_per_row = system_->entries() / static_cast<double>(n);
    constexpr std::uint64_t kVectors = 5;  // elements of the diagonal, b, x and the next x, and a change
    shape_.name = "jacobi";
    shape_.units = n;
    shape_.operations_per_unit = 2 * entries_per_row;
    const double entry_bytes = static_cast<double>(element) + (system_->sparse ? sizeof(std::int32_t) : 0);
    shape_.bytes_per_unit = static_cast<std::uint64_t>(entries_per_row * entry_bytes) + kVectors * element;
    shape_.bytes_shared = 2 * n * element;
    const double size = static_cast<double>(n);
    if constexpr (kSimulated) simulated::install(codelet(), "jacobi", {.m = size, .n = size, .k = size}, rows_of);
    if (system_->dense) pinned_.push_back(system_->dense->pin());
    for (int v = 0; v < 2; ++v) {
        pinned_.push_back(x_[v].pin());
        starpu_vector_data_register(&vectors_[v], STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(x_[v].at(0, 0)),
                                    static_cast<std::uint32_t>(n), element);
    }
}

Solver::~Solver() {
    for (starpu_data_handle_t vector : vectors_) starpu_data_unregister(vector);
}

void Solver::add_rows(std::vector<TaskData>& list, const TaskRange& range) const {
    if (system_->dense) {
        list.push_back(
            part_of(*system_->dense, STARPU_R | APPORTION_KEEP, {0, system_->n(), range.first, range.units}));
        return;
    }
    const SparseMatrix& s = *system_->sparse;
    const std::int64_t begin = s.start[range.first], entries = s.start[range.first + range.units] - begin;
    list.push_back(
        part_of(s.start, static_cast<std::int64_t>(range.first), static_cast<std::int64_t>(range.units) + 1));
    list.push_back(part_of(s.columns, begin, entries));
    list.push_back(part_of(s.values, begin, entries));
}

std::vector<TaskData> Solver::data(const TaskRange& range) {
    std::vector<TaskData> list;
    add_rows(list, range);
    list.push_back(pairs_of(terms_, STARPU_R | APPORTION_KEEP, range.first, range.units));
    list.push_back({.shared = vectors_[current_]});
    list.push_back(part_of(x(), STARPU_R, range.first, range.units));
    list.push_back(part_of(next(), STARPU_W, range.first, range.units));
    list.push_back(pairs_of(changes_, STARPU_W, range.first, 1));
    first_rows_.push_back(range.first);
    return list;
}

/// Rows of the matrix and their terms; and x, of which every row reads all.
std::vector<DistributedData> Solver::distributed() {
    const std::size_t element = element_size(system_->type());
    std::vector<DistributedData> all;
    if (system_->dense) {
        all.push_back({system_->dense->at(0, 0), system_->dense->ld() * element, nullptr, 0, false, true});
    } else {
        SparseMatrix& s = *system_->sparse;
        all.push_back({s.columns.data(), sizeof s.columns[0], s.start.data(), 0, false, true});
        all.push_back({s.values.data(), sizeof s.values[0], s.start.data(), 0, false, true});
    }
    all.push_back({terms_.at(0, 0), 2 * element, nullptr, 0, false, true});
    all.push_back({x_[current_].at(0, 0), element, nullptr, system_->n(), false, false});
    return all;
}

/// The vector in main memory was written by its parts, or by us.
void Solver::forget_device_copies(int vector) {
    if (starpu_data_acquire(vectors_[vector], STARPU_W) == 0) starpu_data_release(vectors_[vector]);
}

void Solver::restart() {
    current_ = 0;
    first_rows_.clear();
    if (!kSimulated) {
        const std::size_t bytes = system_->n() * element_size(system_->type());
        std::fill_n(static_cast<char*>(x_[0].at(0, 0)), bytes, 0);
        std::fill_n(static_cast<char*>(changes_.at(0, 0)), 2 * bytes, 0);
    }
    forget_device_copies(0);
}

template <class T>
JacobiProgress Solver::progress() {
    JacobiChange<T> all;
    for (const std::uint64_t first : first_rows_) {
        auto& change = *static_cast<JacobiChange<T>*>(changes_.at(2 * first, 0));
        all.include(change);
        change = {};  // a block that is filled and not computed counts for nothing
    }
    return {all.step, all.size};
}

JacobiProgress Solver::advance() {
    JacobiProgress progress_made;
    if (!kSimulated) progress_made = by_real_type(system_->type(), [&]<class T>() { return progress<T>(); });
    first_rows_.clear();
    current_ = 1 - current_;
    forget_device_copies(current_);
    return progress_made;
}

}  // namespace

std::unique_ptr<JacobiSolver> make_jacobi_solver(std::shared_ptr<LinearSystem> system) {
    return std::make_unique<Solver>(std::move(system));
}

std::unique_ptr<Workload> make_jacobi(const WorkloadOptions& options) {
    return make_jacobi_solver(
        std::make_shared<LinearSystem>(random_system(ElementType::float64, options.sizes(1).front(), options.seed)));
}

}  // namespace apportion
