// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/workers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>

#include "models/io/text.hpp"
#include "policies/config.hpp"
#include "policies/engine/core_groups.hpp"
#include "policies/starpu/error.hpp"

namespace apportion {

namespace {

// Share of a device's memory that blocks in flight and shared data may take: the rest is StarPU's, for results on
// their way home, reductions and allocation gaps.
// StarPU takes 90 % of a CUDA device's memory, so blocks may fill 67 % of it. What is there beside StarPU (contexts,
// libraries with their workspaces, a screen: 0.4 to 0.9 GB) leaves more than that on every card from 4 GB on. It may
// leave less than StarPU's 90 %: then an allocation is refused early, and StarPU frees what it keeps for later tasks.
constexpr double kUsableMemory = 0.75;

struct FreeDeleter {
    void operator()(void* p) const { std::free(p); }
};

/// A task that is bound to the worker, or any.
bool can_run(unsigned worker, starpu_codelet& codelet, bool bound) {
    starpu_task task;
    starpu_task_init(&task);
    task.cl = &codelet;
    if (codelet.where != 0) task.where = static_cast<int32_t>(codelet.where);  // as when it is submitted
    unsigned implementation = 0;
    // StarPU refuses a task that is bound to a worker which cannot run the first one.
    const bool able = bound ? starpu_worker_can_execute_task(worker, &task, 0) != 0
                            : starpu_worker_can_execute_task_first_impl(worker, &task, &implementation) != 0;
    starpu_task_clean(&task);
    return able;
}

bool has_function_for(unsigned worker, starpu_codelet codelet) {
    codelet.can_execute = nullptr;
    return can_run(worker, codelet, false);
}

std::string name_of(int worker) {
    char name[128];
    starpu_worker_get_name(worker, name, sizeof name);
    return name;
}

const char* kind_name(starpu_worker_archtype type) {
    switch (type) {
        case STARPU_CPU_WORKER:
            return "CPU";
        case STARPU_CUDA_WORKER:
            return "CUDA";
        case STARPU_OPENCL_WORKER:
            return "OpenCL";
        default:
            return "other";
    }
}

// "CUDA 3.0 (Tesla K40m 11.2 GiB 83:00.0)" -> "CUDA (Tesla K40m 11.2 GiB": same model and memory, same kind.
std::string model_of(const std::string& worker_name, const char* kind) {
    const auto open = worker_name.find('(');
    if (open == std::string::npos) return kind;
    const auto gib = worker_name.find(" GiB", open);
    return std::string(kind) + worker_name.substr(open, gib == std::string::npos ? gib : gib - open);
}

/// StarPU puts small pieces of data on CUDA devices into chunks, and keeps some of these when they are empty: larger
/// pieces have to fit beside them. Matters for devices below 512 MiB.
double beside_chunks(double bytes) {
    constexpr double kMebibyte = 1 << 20, kChunk = 32 * kMebibyte, kLargestInChunk = 4 * kMebibyte, kKept = 4;
    return std::max(kLargestInChunk, bytes - kChunk * std::min(kKept, std::floor(bytes / kChunk)));
}

Units memory_units(unsigned node, unsigned workers_on_node, const MemoryNeed& need) {
    if (need.bytes_per_unit == 0 || starpu_node_get_kind(node) == STARPU_CPU_RAM) return kNoLimit;
    const starpu_ssize_t total = starpu_memory_get_total(node);
    // Negative: StarPU knows no limit; of a CUDA device it always does, unless the memory is nothing.
    if (total <= 0) return starpu_node_get_kind(node) == STARPU_CUDA_RAM ? 0 : kNoLimit;
    double free = static_cast<double>(total), usable = kUsableMemory * free;
    if (const auto shared = static_cast<double>(need.bytes_shared); shared < usable) usable -= shared, free -= shared;
    if (starpu_node_get_kind(node) == STARPU_CUDA_RAM) usable = std::min(usable, beside_chunks(free));
    return static_cast<Units>(usable / workers_on_node / static_cast<double>(need.bytes_per_unit));
}

LoadDescription::Link link_to(unsigned node, const MemoryNeed& need) {
    if (node == STARPU_MAIN_RAM) return {};
    const auto way = [&need](unsigned from, unsigned to) {
        const double latency_us = starpu_transfer_latency(from, to);
        const double megabytes_per_s = starpu_transfer_bandwidth(from, to);
        LoadDescription::Way found;
        if (std::isfinite(latency_us) && latency_us > 0) found.latency_s = latency_us * 1e-6;
        if (std::isfinite(megabytes_per_s) && megabytes_per_s > 0)
            found.seconds_per_unit = static_cast<double>(need.bytes_per_unit) / 2 / (megabytes_per_s * 1e6);
        return found;
    };
    // Which of a unit's data come and which go is not known before a block ran.
    return {way(STARPU_MAIN_RAM, node), way(node, STARPU_MAIN_RAM)};
}

}  // namespace

std::vector<Worker> workers_for(starpu_codelet& codelet, unsigned sched_ctx, Units granularity, const MemoryNeed& need,
                                std::string* left_out) {
    int* ids_raw = nullptr;
    const unsigned count = starpu_sched_ctx_get_workers_list(sched_ctx, &ids_raw);
    const std::unique_ptr<int, FreeDeleter> ids(ids_raw);

    std::vector<Worker> workers;
    const bool bound = find_policy(scheduler_of(sched_ctx)) != nullptr;
    std::map<unsigned, unsigned> workers_on_node;
    std::vector<std::string> refused;
    for (unsigned k = 0; k < count; ++k) {
        const int id = ids.get()[k];
        if (!can_run(id, codelet, bound)) {
            if (has_function_for(id, codelet)) refused.push_back(name_of(id));
            continue;
        }
        Worker worker;
        worker.ids = {id};
        worker.node = starpu_worker_get_memory_node(id);
        worker.kind = kind_name(starpu_worker_get_type(id));
        ++workers_on_node[worker.node];
        workers.push_back(worker);
    }
    if (count == 0) throw ApiError(ENODEV, "scheduling context {} does not exist or has no workers", sched_ctx);
    if (workers.empty())
        throw ApiError(
            ENODEV,
            "none of the context's {} can run codelet '{}'; let StarPU use a processor that it has a kernel "
            "for (STARPU_NCPU, STARPU_NCUDA, STARPU_NOPENCL){}",
            counted(count, "worker"), codelet.name ? codelet.name : "?",
            codelet.can_execute ? ", and let its can_execute accept the first implementation, which alone counts" : "");

    if (left_out && !refused.empty())
        *left_out = fmt::format("{} left out: the codelet's {} there", fmt::join(refused, ", "),
                                bound ? "first implementation, which alone counts, cannot run"
                                      : "can_execute refuses all of its implementations");

    std::map<std::string, int> kinds;
    for (Worker& worker : workers) {
        const std::string name = worker.processor.name = name_of(worker.ids.front());
        worker.processor.kind =
            kinds.emplace(model_of(name, worker.kind), static_cast<int>(kinds.size())).first->second;
        worker.processor.own_memory = starpu_node_get_kind(worker.node) != STARPU_CPU_RAM;
        worker.processor.memory_units = memory_units(worker.node, workers_on_node[worker.node], need);
        worker.link = link_to(worker.node, need);
        if (worker.processor.memory_units < granularity) {
            const auto mebibytes = [](double bytes) { return bytes / (1 << 20); };
            throw ApiError(ENOMEM,
                           "{} is too small: its smallest block ({}) takes {:.1f} MiB, but of its {:.1f} MiB of "
                           "memory blocks may take {:.0f} %; use smaller units, or leave the device out",
                           name, counted(granularity, "unit"),
                           mebibytes(static_cast<double>(granularity) * static_cast<double>(need.bytes_per_unit)),
                           mebibytes(std::max(0.0, static_cast<double>(starpu_memory_get_total(worker.node)))),
                           100 * kUsableMemory);
        }
    }
    return workers;
}

const char* scheduler_of(unsigned sched_ctx) {
    const starpu_sched_policy* const scheduler = starpu_sched_get_sched_policy_in_ctx(sched_ctx);
    return scheduler && scheduler->policy_name ? scheduler->policy_name : "none";
}

void group_cores(std::vector<Worker>& workers, unsigned sched_ctx) {
    const std::vector<Units> wanted = groups_option();
    if (wanted.empty() || !find_policy(scheduler_of(sched_ctx))) return;
    std::vector<int> nodes;
    int kinds = 0;
    for (const Worker& worker : workers) {
        const bool core = starpu_worker_get_type(worker.ids.front()) == STARPU_CPU_WORKER;
        nodes.push_back(core ? static_cast<int>(worker.node) : -1);
        kinds = std::max(kinds, worker.processor.kind + 1);
    }
    std::map<std::size_t, int> kind_of_size;
    std::vector<Worker> grouped;
    for (const std::vector<std::size_t>& members : core_groups(nodes, wanted)) {
        Worker& group = grouped.emplace_back(workers[members.front()]);
        if (members.size() == 1) continue;
        std::vector<std::string> names;
        group.ids.clear();
        for (const std::size_t w : members) {
            names.push_back(workers[w].processor.name);
            group.ids.push_back(workers[w].ids.front());
        }
        group.processor.name = group_name(names);
        group.processor.kind =
            kind_of_size.emplace(members.size(), kinds + static_cast<int>(kind_of_size.size())).first->second;
    }
    workers = std::move(grouped);
}

}  // namespace apportion
