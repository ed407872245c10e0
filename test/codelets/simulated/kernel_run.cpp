// SPDX-License-Identifier: LGPL-2.1-or-later
//
// kernel_run KERNEL M,N,K UNITS: runs a load of any kernel that the platform describes, whose blocks move what the
// kernel moves, and prints the load's seconds, the platform's lower bound and the engine's report as JSON.
#include <fmt/format.h>
#include <starpu.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "codelets/simulated/lower_bound.hpp"
#include "codelets/simulated/platform_file.hpp"
#include "codelets/simulated/starpu_cost.hpp"
#include "policies/starpu/apportion.hpp"

using namespace apportion::simulated;

namespace {

/// Memory that nobody touches.
struct Data {
    std::size_t unit_bytes;
    std::unique_ptr<char[]> memory;

    Data(double bytes, std::size_t units)
        : unit_bytes(static_cast<std::size_t>(bytes)), memory(new char[unit_bytes * units]) {}
};

struct LoadData {
    Data in, out;
};

int fill(starpu_task* task, apportion_block* block, void* arg) {
    LoadData& load = *static_cast<LoadData*>(arg);
    int buffer = 0;
    for (Data* data : {&load.in, &load.out})
        if (data->unit_bytes > 0)
            task->handles[buffer++] = apportion_block_vector(block, data == &load.in ? STARPU_R : STARPU_W,
                                                             data->memory.get() + block->first * data->unit_bytes,
                                                             block->units, data->unit_bytes);
    task->cl_arg = reinterpret_cast<void*>(block->units);
    return 0;
}

std::uint64_t units_of(const starpu_task* task) { return reinterpret_cast<std::uintptr_t>(task->cl_arg); }

void run(const std::string& kernel, const KernelSize& size, std::uint64_t units) {
    const Platform platform = load_platform(std::getenv("APPORTION_PLATFORM"));
    const KernelNeeds& needs = needs_of(platform, kernel);
    LoadData data{{needs.bytes_in(size), units}, {needs.bytes_out(size), units}};
    starpu_codelet codelet;
    starpu_codelet_init(&codelet);
    codelet.name = kernel.c_str();
    if (data.in.unit_bytes > 0) codelet.modes[codelet.nbuffers++] = STARPU_R;
    if (data.out.unit_bytes > 0) codelet.modes[codelet.nbuffers++] = STARPU_W;
    install(codelet, kernel, size, units_of);

    apportion::LoadOptions options(kernel.c_str(), units, codelet, fill, &data);
    options.bytes_per_unit = data.in.unit_bytes + data.out.unit_bytes;
    options.bytes_shared = static_cast<std::uint64_t>(needs.resident_bytes(size));
    apportion::Load load(options);
    load.run();
    fmt::print("{{\"policy\":\"{}\",\"seconds\":{},\"bound\":{},\"report\":{}}}\n", load.policy(), load.seconds(),
               lower_bound_seconds(platform, kernel, size, static_cast<std::int64_t>(units)), load.report());
}

}  // namespace

int main(int argc, char** argv) {
    KernelSize size;
    const auto units = argc == 4 ? std::strtoull(argv[3], nullptr, 10) : 0;
    if (units == 0 || std::sscanf(argv[2], "%lf,%lf,%lf", &size.m, &size.n, &size.k) != 3) {
        fmt::print(stderr, "usage: kernel_run KERNEL M,N,K UNITS\n");
        return 2;
    }
    try {
        const apportion::Session session;
        run(argv[1], size, units);
    } catch (const apportion::Error& error) {
        fmt::print(stderr, "kernel_run: {}\n", error.what());
        return 1;
    }
    return 0;
}
