// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a bundled codelet offers to the applications and to `apportion profile`: a Workload, that is a divisible load
// with its data and a check of its result. A workload only lists which data each range of units works on; filling the
// tasks, running them on chosen workers and the performance model for StarPU's schedulers are shared by all.
//
// To add one, derive from Workload in NAME.cpp with a `std::unique_ptr<Workload> make_NAME(const WorkloadOptions&)`
// and add NAME to the list in codelets/meson.build.
#pragma once

#include <starpu.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "policies/starpu/apportion.hpp"

namespace apportion {

/// One of the data that a task works on, in the order of the codelet's modes.
struct TaskData {
    /// Registered by the workload, common to all blocks; null for the block's own data, described by the rest.
    starpu_data_handle_t shared = nullptr;
    int mode = 0;  ///< STARPU_R, ..., with APPORTION_KEEP where it may stay on its device
    void* data = nullptr;
    std::size_t ld = 0;  ///< elements from column to column; 0: a vector of `rows` elements
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::size_t element_size = 0;
};

class Matrix;
struct MatrixPart {
    std::size_t row = 0, rows = 0, column = 0, columns = 0;
};
using PartsOfWorkers = std::vector<std::vector<MatrixPart>>;  ///< of each StarPU worker
TaskData part_of(const Matrix& matrix, int mode, const MatrixPart& part);

struct TaskRange {
    std::uint64_t first = 0;
    std::uint64_t units = 0;
    unsigned part = 0;
    int worker = -1;  ///< -1 when StarPU will choose it
};

/// The `arg` of kernels that need to know their range.
struct KernelArgument {
    TaskRange range;
    const void* parameters = nullptr;
};

/// The part of apportion_load_options that the workload knows; name and meaning are the same.
struct WorkloadShape {
    const char* name = "";
    std::string profile;          ///< see Workload::profile()
    std::string profile_command;  ///< that records it, or empty
    std::uint64_t units = 0;
    std::uint64_t granularity = 1;
    unsigned parts = 1;
    std::uint64_t bytes_per_unit = 0;
    std::uint64_t bytes_shared = 0;
    bool results_stay = false;
    double operations_per_unit = 0;  ///< arithmetic operations; what the performance model measures work in

    /// Operations of the task of one part of a block.
    double task_operations(std::uint64_t block_units) const {
        return operations_per_unit * static_cast<double>(block_units) / parts;
    }
};

/// Data that stay distributed over nodes by units while a load runs again and again; the fields are those of
/// apportion_mpi_distributed.
struct DistributedData {
    void* data = nullptr;
    std::size_t bytes_per_unit = 0;
    const std::int64_t* starts = nullptr;
    std::uint64_t halo = 0;
    bool periodic = false;
    bool constant = false;  ///< no run changes it
};

struct Verification {
    /// The error is relative to the tolerance's scale, as each workload explains.
    Verification(double largest_error, double allowed)
        : correct(largest_error <= allowed), max_error(largest_error), tolerance(allowed) {}

    bool correct;
    double max_error, tolerance;
};

/// The larger error; not-a-number counts as infinite.
inline double worse(double worst, double error) {
    return std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
}

/// Constructed while StarPU runs and destroyed before it ends.
class Workload {
  public:
    Workload(const Workload&) = delete;
    Workload& operator=(const Workload&) = delete;
    virtual ~Workload() = default;

    const WorkloadShape& shape() const { return shape_; }

    /// The name under which profiles of this load are recorded: says what the cost of a unit depends on. Unless the
    /// workload gives one, it is made of its name and the operations of a unit.
    const std::string& profile();
    virtual starpu_codelet& codelet() = 0;

    /// Tasks that run_on_workers() makes of the worker's units.
    virtual unsigned parts_on([[maybe_unused]] int worker) { return shape_.parts; }

    /// The data of one task, disjoint between ranges where they are written. Called from any thread, not twice at once.
    virtual std::vector<TaskData> data(const TaskRange& range) = 0;

    /// What the kernels get as cl_arg: parameters common to all blocks. Not changed while blocks run.
    virtual void* argument() { return nullptr; }

    /// Where kernels need to know their range as well: these parameters, which they get within a KernelArgument.
    virtual const void* argument_with_range() { return nullptr; }

    /// What the units of the next run read, where runs read what earlier ones wrote; empty: they do not.
    virtual std::vector<DistributedData> distributed() { return {}; }
    /// What the run that ended wrote, before it becomes what the next one reads.
    virtual std::vector<DistributedData> distributed_results() { return {}; }

    /// Spoils the result, so that a unit that is not computed is seen by verify().
    virtual void spoil_result() = 0;

    /// Compares the result with a reference that was computed differently. Not in the simulated flavour.
    virtual Verification verify() = 0;

  protected:
    Workload() = default;

    /// Names the profile after the --size of `apportion profile` that gives units of this cost.
    void name_profile(std::uint64_t size);

    WorkloadShape shape_;
};

/// Whether the StarPU worker has an implementation of the codelet.
bool can_run(unsigned worker, starpu_codelet& codelet);

/// Of what is a unit's own, there and back.
struct UnitBytes {
    double in = 0, out = 0;
};
/// By the data of the first block of so many units (> 0).
UnitBytes bytes_of_unit(Workload& workload, std::uint64_t units);

/// Options for apportion_load_create; they refer to `workload`. `runs`: how often the load will run; 0: not known.
apportion_load_options load_options(Workload& workload, unsigned runs = 0);

/// Runs units[w] units on each worker w at the same time, as plain tasks, and returns the kernels' seconds; 0 for no
/// units. The sum must not exceed the workload's units. Throws std::runtime_error when StarPU refuses a task or
/// a codelet could not compute one.
std::vector<double> run_on_workers(Workload& workload, std::span<const std::uint64_t> units);

std::string worker_name(std::size_t worker);

/// Lets every worker that can run the codelet compute a few blocks of growing size: libraries set themselves up, and
/// measured_cost() learns what the workers cost. Results are overwritten by the load itself. No worker computes for
/// more than `limit_s` beside what its first block sets up, unless one smallest block takes longer. Without effect in
/// the simulated flavour, where costs are known. (What needs the set-up only has apportion_load_options.warm_up.)
void warm_up(Workload& workload, double limit_s = 2);

/// Cost function [microseconds] for a STARPU_PER_WORKER model. StarPU's history models would need ten runs of every
/// block size before dmda could use them, and its regressions several sizes in one load; dmda places all of a load's
/// tasks before the first has finished. What warm_up() measured on each worker is interpolated instead, in the
/// operations of the task, so that dmda decides well at once, for every size, and knows a handicapped worker. Before
/// warm_up(): a nominal rate, the same for all.
double measured_cost(starpu_task* task, unsigned worker, unsigned implementation);

struct WorkloadOptions {
    std::vector<std::uint64_t> size;  ///< the numbers of the application's own `--size`
    std::uint64_t seed = 1;

    /// `count` numbers, where one that is given stands for all. Throws UserError when there are others.
    std::vector<std::uint64_t> sizes(std::size_t count) const;
};

/// One line of the table of workloads, which meson generates from the list in codelets/meson.build.
struct WorkloadEntry {
    const char* name;
    std::unique_ptr<Workload> (*make)(const WorkloadOptions& options);
};

std::span<const WorkloadEntry> bundled_workloads();

}  // namespace apportion
