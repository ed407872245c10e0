// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/common/codelet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <new>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "codelets/common/failed_task.hpp"
#include "codelets/common/flavour.hpp"
#include "codelets/common/matrix.hpp"
#include "codelets/simulated/starpu_cost.hpp"
#include "models/io/user_error.hpp"

namespace apportion {

namespace {

starpu_data_handle_t block_handle(apportion_block* block, const TaskData& d) {
    if (d.shared) return d.shared;
    if (d.ld == 0) return apportion_block_vector(block, d.mode, d.data, d.rows, d.element_size);
    return apportion_block_matrix(block, d.mode, d.data, d.ld, d.rows, d.columns, d.element_size);
}

/// Returns false when there is no memory.
bool set_argument(starpu_task* task, Workload& workload, const TaskRange& range) {
    task->cl_arg = workload.argument();
    const void* const parameters = workload.argument_with_range();
    if (!parameters) return true;
    void* const memory = std::malloc(sizeof(KernelArgument));
    if (!memory) return false;
    task->cl_arg = new (memory) KernelArgument{range, parameters};
    task->cl_arg_size = sizeof(KernelArgument);
    task->cl_arg_free = 1;  // by StarPU, with the task
    return true;
}

int fill(starpu_task* task, apportion_block* block, void* arg) {
    auto& workload = *static_cast<Workload*>(arg);
    const TaskRange range{block->first, block->units, block->part, block->worker};
    int buffer = 0;
    for (const TaskData& d : workload.data(range)) {
        STARPU_TASK_SET_HANDLE(task, block_handle(block, d), buffer);
        if (!task->handles[buffer]) return -ENOMEM;
        ++buffer;
    }
    task->flops = workload.shape().task_operations(block->units);
    return set_argument(task, workload, range) ? 0 : -ENOMEM;
}

/// Handles of plain tasks, unregistered (results come home) at the end. What several tasks only read (STARPU_R)
/// has one handle, so that it travels to a memory once.
class Registrations {
  public:
    Registrations() = default;
    Registrations(const Registrations&) = delete;
    Registrations& operator=(const Registrations&) = delete;
    ~Registrations() {
        for (auto handle : handles_) starpu_data_unregister(handle);
    }

    starpu_data_handle_t add(const TaskData& d) {
        if (d.shared) return d.shared;
        starpu_data_handle_t written = nullptr;
        starpu_data_handle_t& handle = d.mode == STARPU_R ? read_[{d.data, d.ld, d.rows, d.columns}] : written;
        if (handle) return handle;
        const auto address = reinterpret_cast<std::uintptr_t>(d.data);
        if (d.ld == 0)
            starpu_vector_data_register(&handle, STARPU_MAIN_RAM, address, d.rows, d.element_size);
        else
            starpu_matrix_data_register(&handle, STARPU_MAIN_RAM, address, d.ld, d.rows, d.columns, d.element_size);
        handles_.push_back(handle);
        return handle;
    }

  private:
    std::vector<starpu_data_handle_t> handles_;
    std::map<std::tuple<void*, std::size_t, std::size_t, std::size_t>, starpu_data_handle_t> read_;
};

starpu_task* plain_task(Workload& workload, const TaskRange& range, Registrations& registrations) {
    starpu_task* task = starpu_task_create();
    task->cl = &workload.codelet();
    task->destroy = 0;
    task->detach = 0;
    task->execute_on_a_specific_worker = 1;
    task->workerid = range.worker;
    task->flops = workload.shape().task_operations(range.units);
    if (!set_argument(task, workload, range)) throw std::bad_alloc();
    int buffer = 0;
    for (const TaskData& d : workload.data(range)) {
        STARPU_TASK_SET_HANDLE(task, registrations.add(d), buffer);
        ++buffer;
    }
    return task;
}

/// Waits for a submitted task, frees it and returns its kernel's seconds.
double finish(starpu_task* task) {
    double us = 0;
    if (starpu_task_wait(task) == 0 && task->profiling_info)
        us = starpu_timing_timespec_delay_us(&task->profiling_info->start_time, &task->profiling_info->end_time);
    starpu_task_destroy(task);
    return us * 1e-6;
}

}  // namespace

TaskData part_of(const Matrix& matrix, int mode, const MatrixPart& part) {
    // StarPU takes addresses of what is only read without const.
    return {.mode = mode,
            .data = const_cast<void*>(matrix.at(part.row, part.column)),
            .ld = matrix.ld(),
            .rows = part.rows,
            .columns = part.columns,
            .element_size = element_size(matrix.type())};
}

UnitBytes bytes_of_unit(Workload& workload, std::uint64_t units) {
    UnitBytes bytes;
    for (const TaskData& d : workload.data({0, units, 0, -1})) {
        if (d.shared) continue;
        const auto its = static_cast<double>(d.rows * std::max<std::size_t>(d.columns, 1) * d.element_size);
        if ((d.mode & STARPU_R) != 0) bytes.in += its / static_cast<double>(units);
        if ((d.mode & STARPU_W) != 0) bytes.out += its / static_cast<double>(units);
    }
    return bytes;
}

const std::string& Workload::profile() {
    if (shape_.profile.empty()) shape_.profile = fmt::format("{}-{:.12g}ops", shape_.name, shape_.operations_per_unit);
    return shape_.profile;
}

void Workload::name_profile(std::uint64_t size) {
    shape_.profile = fmt::format("{}-{}", shape_.name, size);
    shape_.profile_command = fmt::format("apportion profile --app {} --size {}", shape_.name, size);
}

std::vector<std::uint64_t> WorkloadOptions::sizes(std::size_t count) const {
    if (size.size() == count) return size;
    if (size.size() == 1) return std::vector<std::uint64_t>(count, size.front());
    throw UserError("--size: {} numbers are no size of this application; give {}", size.size(),
                    count == 1 ? "one" : fmt::format("one or {}", count));
}

bool can_run(unsigned worker, starpu_codelet& codelet) {
    starpu_task task;
    starpu_task_init(&task);
    task.cl = &codelet;
    unsigned implementations = 0;
    const bool able = starpu_worker_can_execute_task_first_impl(worker, &task, &implementations) != 0;
    starpu_task_clean(&task);
    return able;
}

apportion_load_options load_options(Workload& workload, unsigned runs) {
    const WorkloadShape& shape = workload.shape();
    if constexpr (kSimulated) {  // bounds and profiles have the bytes of the platform's file, links carry these
        const UnitBytes bytes = bytes_of_unit(workload, shape.granularity);
        simulated::check_transfers(workload.codelet(), bytes.in, bytes.out);
    }
    LoadOptions options(shape.name, shape.units, workload.codelet(), fill, &workload);
    options.granularity = shape.granularity;
    options.parts = shape.parts;
    options.bytes_per_unit = shape.bytes_per_unit;
    options.bytes_shared = shape.bytes_shared;
    options.profile = workload.profile().c_str();
    if (!shape.profile_command.empty()) options.profile_command = shape.profile_command.c_str();
    options.results_stay = shape.results_stay ? 1 : 0;
    options.runs = runs;
    return options;
}

std::vector<double> run_on_workers(Workload& workload, std::span<const std::uint64_t> units) {
    const int profiling = starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
    std::vector<std::pair<int, starpu_task*>> tasks;
    std::vector<double> seconds(units.size());
    bool refused = false;
    {
        Registrations registrations;
        std::uint64_t first = 0;
        for (int worker = 0; worker < static_cast<int>(units.size()); ++worker) {
            for (unsigned part = 0; units[worker] > 0 && part < workload.parts_on(worker); ++part)
                tasks.emplace_back(worker, plain_task(workload, {first, units[worker], part, worker}, registrations));
            first += units[worker];
        }
        for (auto& [worker, task] : tasks)
            if (starpu_task_submit(task) != 0) {
                refused = true;
                starpu_task_destroy(std::exchange(task, nullptr));
            }
        for (const auto& [worker, task] : tasks)
            if (task) seconds[worker] += finish(task);
    }
    starpu_profiling_status_set(profiling);
    const char* const name = workload.shape().name;
    if (refused) throw UserError("no worker that was chosen can run {}", name);
    if (const std::string why = take_failure(); !why.empty())
        throw std::runtime_error(fmt::format("{} was not computed: {}", name, why));
    return seconds;
}

std::string worker_name(std::size_t worker) {
    char name[128] = "";
    starpu_worker_get_name(static_cast<int>(worker), name, sizeof name);
    return name;
}

}  // namespace apportion
