// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/mpdata/mpdata.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "codelets/common/device_worker.hpp"
#include "codelets/common/kernel_codelet.hpp"

namespace apportion {

namespace {

// Additions, multiplications, divisions and comparisons of one cell in one time step, counted in mpdata_arithmetic.hpp.
constexpr double kOperationsPerCell = 340;

starpu_codelet& mpdata_codelet() {
    static KernelCodelet codelet("mpdata", "mpdata", APPORTION_KERNELS(mpdata_cpu, mpdata_cuda),
                                 {STARPU_R, STARPU_R, STARPU_W});
    return codelet.get();
}

starpu_codelet& rectangle_codelet() {
    static KernelCodelet codelet("mpdata_rectangle", "mpdata_rectangle",
                                 APPORTION_KERNELS(mpdata_rectangle_cpu, nullptr), {STARPU_R, STARPU_R, STARPU_W});
    return codelet.get();
}

std::uint64_t planes_of(const starpu_task* task) { return starpu_matrix_get_ny(task->handles[2]); }

/// A rectangle is so many planes of its rows.
simulated::KernelSize size_of_rectangle(const starpu_task* task, simulated::KernelSize size) {
    const auto& argument = *static_cast<const KernelArgument*>(task->cl_arg);
    size.n = static_cast<double>(static_cast<const MpdataRectangles*>(argument.parameters)->of(argument.range).rows);
    return size;
}

class Mpdata final : public Workload {
  public:
    explicit Mpdata(std::shared_ptr<MpdataField> field, PartsOfWorkers of_workers = {});
    ~Mpdata() override { field_->unpin(); }

    starpu_codelet& codelet() override { return in_rectangles() ? rectangle_codelet() : mpdata_codelet(); }
    unsigned parts_on(int worker) override {
        return in_rectangles() ? static_cast<unsigned>(rectangles_.of_workers[worker].size()) : shape_.parts;
    }
    void* argument() override { return &grid_; }
    const void* argument_with_range() override { return in_rectangles() ? &rectangles_ : nullptr; }
    std::vector<TaskData> data(const TaskRange& range) override;
    std::vector<DistributedData> distributed() override;
    std::vector<DistributedData> distributed_results() override;
    void spoil_result() override;
    Verification verify() override;

  private:
    bool in_rectangles() const { return !rectangles_.of_workers.empty(); }
    DistributedData planes(double* first, std::size_t fields, std::uint64_t halo, bool constant) const;

    std::shared_ptr<MpdataField> field_;
    MpdataGrid grid_;
    MpdataRectangles rectangles_;
    DeviceWorkers keep_;
};

Mpdata::Mpdata(std::shared_ptr<MpdataField> field, PartsOfWorkers of_workers)
    : field_(std::move(field)), grid_(field_->grid()), rectangles_{grid_, std::move(of_workers)} {
    constexpr std::uint64_t kFields = 5;  // psi, result and three Courant numbers
    shape_.name = "mpdata";
    shape_.units = static_cast<std::uint64_t>(field_->nx());
    if (grid_.ny == grid_.nz && grid_.steps == 1) name_profile(static_cast<std::uint64_t>(grid_.ny));
    shape_.operations_per_unit = kOperationsPerCell * grid_.ny * grid_.nz * grid_.steps;
    const std::uint64_t plane_bytes = sizeof(double) * grid_.plane();
    shape_.bytes_per_unit = kFields * plane_bytes;
    // Scratch memory is StarPU's, an eighth of a device at most.
    shape_.bytes_shared = 2 * static_cast<std::uint64_t>(grid_.halo()) * kFields * plane_bytes;
    field_->pin();
    if constexpr (kSimulated) {
        const auto size = [](int n) { return static_cast<double>(n); };
        simulated::install(codelet(), "mpdata", {.m = size(field_->nx()), .n = size(grid_.ny), .k = size(grid_.nz)},
                           planes_of, in_rectangles() ? size_of_rectangle : nullptr);
        if (in_rectangles()) {  // as in a real run
            codelet().where = STARPU_CPU;
            codelet().cuda_funcs[0] = nullptr;
        }
    }
}

std::vector<TaskData> Mpdata::data(const TaskRange& range) {
    const auto planes = [&](int mode, double* first, std::size_t doubles_per_plane, std::size_t count) {
        return TaskData{.mode = mode,
                        .data = first,
                        .ld = doubles_per_plane,
                        .rows = doubles_per_plane,
                        .columns = count,
                        .element_size = sizeof(double)};
    };
    const MatrixPart part =
        in_rectangles() ? rectangles_.of(range) : MatrixPart{.column = range.first, .columns = range.units};
    const int first = static_cast<int>(part.column), halo = grid_.halo();
    const std::size_t read = part.columns + 2 * static_cast<std::size_t>(halo);
    TaskData result = planes(STARPU_W, field_->result_plane(first), grid_.plane(), part.columns);
    if (in_rectangles()) {
        const auto row = static_cast<std::size_t>(grid_.row());
        result.data = field_->result_plane(first) + (part.row + 1) * row;
        result.rows = part.rows * row;
    }
    return {planes(STARPU_R, field_->plane(first - halo), grid_.plane(), read),
            planes(STARPU_R | APPORTION_KEEP, field_->courant_planes(first - halo), 3 * grid_.plane(), read), result};
}

DistributedData Mpdata::planes(double* first, std::size_t fields, std::uint64_t halo, bool constant) const {
    return {first, fields * grid_.plane() * sizeof(double), nullptr, halo, true, constant};
}

std::vector<DistributedData> Mpdata::distributed() {
    const auto halo = static_cast<std::uint64_t>(grid_.halo());
    return {planes(field_->plane(0), 1, halo, false), planes(field_->courant_planes(0), 3, halo, true)};
}

std::vector<DistributedData> Mpdata::distributed_results() { return {planes(field_->result_plane(0), 1, 0, false)}; }

void Mpdata::spoil_result() {
    std::fill_n(field_->result_plane(0), static_cast<std::size_t>(field_->nx()) * grid_.plane(),
                std::numeric_limits<double>::quiet_NaN());
}

Verification Mpdata::verify() {
    const std::vector<double> expected = mpdata_reference(*field_);
    double worst = 0;
    auto value = expected.begin();
    for (int x = 0; x < field_->nx(); ++x)
        for (int y = 0; y < grid_.ny; ++y) {
            const double* row = field_->result_plane(x) + static_cast<std::ptrdiff_t>(y + 1) * grid_.row() + 1;
            for (int z = 0; z < grid_.nz; ++z, ++value) worst = worse(worst, std::abs(row[z] - *value));
        }
    return {worst, 0};
}

}  // namespace

std::unique_ptr<Workload> make_mpdata(std::shared_ptr<MpdataField> field) {
    return std::make_unique<Mpdata>(std::move(field));
}

std::unique_ptr<Workload> make_mpdata(std::shared_ptr<MpdataField> field, PartsOfWorkers of_workers) {
    return std::make_unique<Mpdata>(std::move(field), std::move(of_workers));
}

std::unique_ptr<Workload> make_mpdata(const WorkloadOptions& options) {
    constexpr double kCourant = 0.9;
    std::vector<int> size;
    for (const std::uint64_t cells : options.sizes(3))
        size.push_back(static_cast<int>(std::min<std::uint64_t>(cells, std::numeric_limits<int>::max())));
    auto field = std::make_shared<MpdataField>(size[0], MpdataGrid{size[1], size[2], 1});
    rotating_body(*field, MpdataBody::cone, kCourant);
    return make_mpdata(std::move(field));
}

}  // namespace apportion
