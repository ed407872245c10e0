// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/simulated/starpu_cost.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <vector>

#include "codelets/simulated/machine_files.hpp"
#include "codelets/simulated/platform_file.hpp"
#include "models/io/text.hpp"

// StarPU-MPI's, where it is there.
extern "C" __attribute__((weak)) int starpu_mpi_world_rank(void);

namespace apportion::simulated {

namespace {

/// What runs on one StarPU worker.
struct SimulatedWorker {
    const Device& device;
    Execution execution;
    const starpu_task* last_task = nullptr;  ///< the block that was started last, when, and how long it takes
    double last_asked_us = 0;
    double last_s = 0;
    double busy_until_s = 0;  ///< blocks that wait in the device's queue included
};

/// The platform under the workers of this process.
struct Machine {
    Platform platform;
    std::vector<SimulatedWorker> workers;
};

struct Model {
    std::string kernel;
    KernelSize size;
    UnitsOf units_of = nullptr;
    SizeOf size_of = nullptr;
    std::string symbol;
    starpu_perfmodel model{};
};

// The simulation runs one thread at a time, and StarPU refers to models until the process ends, beyond static objects.
Machine& machine() {
    static Machine& machine = *new Machine;
    return machine;
}
std::map<const starpu_codelet*, Model>& models() {
    static std::map<const starpu_codelet*, Model>& models = *new std::map<const starpu_codelet*, Model>;
    return models;
}

int can_execute(unsigned worker, starpu_task* task, unsigned /*implementation*/) {
    return machine().workers[worker].device.kernels.contains(models().at(task->cl).kernel) ? 1 : 0;
}

/// StarPU asks for the time of the task it is about to start on the worker itself; everybody else asks for a forecast.
bool about_to_run(starpu_task* task, unsigned worker) {
    return starpu_task_get_current() == task && starpu_worker_get_id() == static_cast<int>(worker);
}

double cost_us(starpu_task* task, unsigned worker, unsigned implementation) {
    if (!can_execute(worker, task, implementation)) return NAN;
    const Model& model = models().at(task->cl);
    SimulatedWorker& w = machine().workers[worker];
    const KernelSize size = model.size_of ? model.size_of(task, model.size) : model.size;
    const double true_s =
        true_seconds(machine().platform, w.device, model.kernel, size, static_cast<double>(model.units_of(task)));
    if (!about_to_run(task, worker)) return std::min(true_s, kNever_s) * 1e6;
    // Asked twice at one moment, the answer is the same; later a task at the same address is another one.
    const double now_us = starpu_timing_now();
    if (task != w.last_task || now_us != w.last_asked_us) {
        const double start_s = std::max(w.busy_until_s, now_us * 1e-6);
        w.last_task = task;
        w.last_asked_us = now_us;
        w.last_s = std::min(w.execution.next_seconds(true_s, start_s), kNever_s);
        w.busy_until_s = start_s + w.last_s;
    }
    return w.last_s * 1e6;
}

/// Without this StarPU's schedulers would take it that all cuda devices of the machine send at once through one bus,
/// and expect every transfer to take 2 x their number as long as it does.
void tell_starpu_of_separate_links() {
    for (unsigned node = 0; node < starpu_memory_nodes_get_count(); ++node) {
        if (node == STARPU_MAIN_RAM) continue;
        for (const int bus : {starpu_bus_get_id(STARPU_MAIN_RAM, static_cast<int>(node)),
                              starpu_bus_get_id(static_cast<int>(node), STARPU_MAIN_RAM)})
            if (bus >= 0) starpu_bus_set_ngpus(bus, 1);
    }
}

void set_up_machine() {
    Machine& m = machine();
    const char* name = std::getenv("APPORTION_PLATFORM");
    if (!name || !*name)
        throw UserError(
            "APPORTION_PLATFORM is not set, so there is nothing to simulate; start the program by `apportion platform "
            "NAME PROGRAM`");
    m.workers.clear();
    m.platform = load_platform(name);
    int first_stream = 0;  // of the noise
    if (!m.platform.nodes.empty()) {
        if (!starpu_mpi_world_rank)
            throw UserError(
                "{}:1: the platform is a cluster, and this program runs on one machine; take the program of the "
                "flavour smpi (tools/build smpi, build/smpi/apps)",
                m.platform.file.string());
        first_stream = STARPU_NMAXWORKERS * starpu_mpi_world_rank();
        m.platform = machine_of_node(m.platform, starpu_mpi_world_rank());
    } else if (const char* host = std::getenv("STARPU_HOSTNAME"); !host || host != host_name(m.platform)) {
        throw UserError(
            "APPORTION_PLATFORM={0}: StarPU simulates another machine, as STARPU_HOSTNAME is not {1}; start the "
            "program by `apportion platform {0} PROGRAM`",
            name, host_name(m.platform));
    }
    if (const char* seed = std::getenv("APPORTION_PLATFORM_SEED"); seed && *seed)
        m.platform.seed = std::strtoull(seed, nullptr, 10);
    for (unsigned worker = 0; worker < starpu_worker_get_count(); ++worker) {
        const DeviceKind kind =
            starpu_worker_get_type(static_cast<int>(worker)) == STARPU_CPU_WORKER ? DeviceKind::cpu : DeviceKind::cuda;
        const int index = starpu_worker_get_devid(static_cast<int>(worker));
        if (index < 0 || index >= m.platform.count(kind))
            throw UserError(
                "{}:1: the platform has {}, but StarPU simulates more; start the program by `apportion platform {} "
                "PROGRAM`",
                m.platform.file.string(),
                counted(m.platform.count(kind), kind == DeviceKind::cpu ? "cpu device" : "cuda device"), name);
        const Device& device = m.platform.device(kind, index);
        m.workers.push_back({device, Execution(m.platform, device, first_stream + static_cast<int>(worker))});
    }
    tell_starpu_of_separate_links();
}

}  // namespace

void install(starpu_codelet& codelet, const std::string& kernel, const KernelSize& size, UnitsOf units_of,
             SizeOf size_of) {
    if (machine().workers.size() != starpu_worker_get_count()) set_up_machine();
    const Platform& platform = machine().platform;
    const auto runs_on = [&](DeviceKind kind) {
        return std::ranges::any_of(platform.devices,
                                   [&](const Device& d) { return d.kind == kind && d.kernels.contains(kernel); });
    };
    if (!runs_on(DeviceKind::cpu) && !runs_on(DeviceKind::cuda))
        throw UserError("{}:1: no device of the platform has kernel {}; add [device.kernel.{}]", platform.file.string(),
                        kernel, kernel);
    check_unit_times(platform, kernel, size);
    Model& model = models()[&codelet];
    model.kernel = kernel;
    model.size = size;
    model.units_of = units_of;
    model.size_of = size_of;
    model.symbol = "apportion_simulated_" + kernel;
    model.model.symbol = model.symbol.c_str();
    model.model.type = STARPU_PER_WORKER;
    model.model.worker_cost_function = cost_us;

    // StarPU calls no implementation here; it only wants to see that there is one.
    codelet.model = &model.model;
    codelet.can_execute = can_execute;
    codelet.where = (runs_on(DeviceKind::cpu) ? STARPU_CPU : 0) | (runs_on(DeviceKind::cuda) ? STARPU_CUDA : 0);
    codelet.cpu_funcs[0] = runs_on(DeviceKind::cpu) ? reinterpret_cast<starpu_cpu_func_t>(1) : nullptr;
    codelet.cuda_funcs[0] = runs_on(DeviceKind::cuda) ? reinterpret_cast<starpu_cuda_func_t>(1) : nullptr;
    codelet.cuda_flags[0] = STARPU_CUDA_ASYNC;  // copies overlap with kernels
}

void check_transfers(const starpu_codelet& codelet, double bytes_in_per_unit, double bytes_out_per_unit) {
    constexpr double kRounded = 1.1;
    const Model& model = models().at(&codelet);
    const Platform& platform = machine().platform;
    const KernelNeeds& needs = needs_of(platform, model.kernel);
    if (needs.kept || platform.count(DeviceKind::cuda) == 0) return;
    const auto check = [&](const char* key, double said, double real) {
        if (said == 0 || std::max(said, real) <= kRounded * std::min(said, real)) return;
        throw UserError(
            "{}:1: [kernel.{}] says that a unit of this size has {:.6g} bytes by {}, and the program's has {:.6g}; "
            "simulate it with the element type that the file is for, or write a file that says what it has",
            platform.file.string(), model.kernel, said, key, real);
    };
    check("bytes_in", needs.bytes_in(model.size), bytes_in_per_unit);
    check("bytes_out", needs.bytes_out(model.size), bytes_out_per_unit);
}

}  // namespace apportion::simulated
