// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Results come back from another memory node: the kernel exists for OpenCL only, and PoCL's device on this machine's
// cores (STARPU_OPENCL_ON_CPUS=1) is a StarPU worker with its own memory. Skipped (77) where StarPU finds no such
// worker.
#include <starpu_opencl.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "policies/starpu/apportion.hpp"
#include "test/catch.hpp"

namespace {

const char* const kSource =
    "__kernel void scale(__global const float* x, ulong x_at, __global float* y, ulong y_at, uint n) {\n"
    "    uint i = get_global_id(0);\n"
    "    x = (__global const float*)((__global const char*)x + x_at);\n"
    "    y = (__global float*)((__global char*)y + y_at);\n"
    "    if (i < n) y[i] += 3 * x[i] + 1;\n"
    "}\n"
    "__kernel void store(__global const float* x, ulong x_at, __global float* y, ulong y_at, uint n) {\n"
    "    uint i = get_global_id(0);\n"
    "    x = (__global const float*)((__global const char*)x + x_at);\n"
    "    y = (__global float*)((__global char*)y + y_at);\n"
    "    if (i < n) y[i] = 3 * x[i] + 1;\n"
    "}\n";

starpu_opencl_program program;
std::atomic<int> failed_kernels;  // Catch's assertions are for the main thread only

void run_opencl(void* buffers[], const char* name) {
    cl_kernel kernel;
    cl_command_queue queue;
    const int device = starpu_worker_get_devid(starpu_worker_get_id());
    if (starpu_opencl_load_kernel(&kernel, &queue, &program, name, device) != CL_SUCCESS) {
        ++failed_kernels;
        return;
    }
    auto x = reinterpret_cast<cl_mem>(STARPU_VECTOR_GET_DEV_HANDLE(buffers[0]));
    auto y = reinterpret_cast<cl_mem>(STARPU_VECTOR_GET_DEV_HANDLE(buffers[1]));
    cl_ulong x_at = STARPU_VECTOR_GET_OFFSET(buffers[0]), y_at = STARPU_VECTOR_GET_OFFSET(buffers[1]);
    cl_uint n = static_cast<cl_uint>(STARPU_VECTOR_GET_NX(buffers[0]));
    clSetKernelArg(kernel, 0, sizeof x, &x);
    clSetKernelArg(kernel, 1, sizeof x_at, &x_at);
    clSetKernelArg(kernel, 2, sizeof y, &y);
    clSetKernelArg(kernel, 3, sizeof y_at, &y_at);
    clSetKernelArg(kernel, 4, sizeof n, &n);
    const std::size_t global = n;
    if (clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global, nullptr, 0, nullptr, nullptr) != CL_SUCCESS)
        ++failed_kernels;
    clFinish(queue);
    starpu_opencl_release_kernel(kernel);
}

void scale_opencl(void* buffers[], void*) { run_opencl(buffers, "scale"); }

starpu_codelet& codelet() {
    static starpu_codelet cl = [] {
        starpu_codelet c;
        starpu_codelet_init(&c);
        c.opencl_funcs[0] = scale_opencl;
        c.nbuffers = 2;
        c.modes[0] = STARPU_R;
        c.modes[1] = STARPU_RW;
        c.name = "scale";
        return c;
    }();
    return cl;
}

struct Scale {
    std::vector<float> x, y;
    int modes = 0;
    explicit Scale(std::size_t n) : x(n), y(n, 0.f) { std::iota(x.begin(), x.end(), 0.f); }
    static int fill(starpu_task* task, apportion_block* block, void* arg) {
        auto& self = *static_cast<Scale*>(arg);
        task->handles[0] = apportion_block_vector(block, STARPU_R | self.modes, &self.x[block->first], block->units, 4);
        task->handles[1] =
            apportion_block_vector(block, STARPU_RW | self.modes, &self.y[block->first], block->units, 4);
        return 0;
    }
    int wrong(int times) const {
        int count = 0;
        for (std::size_t i = 0; i < x.size(); ++i) count += y[i] != static_cast<float>(times) * (3 * x[i] + 1);
        return count;
    }
};

/// y = 3 x + 1 on a device, which keeps y, then z = 3 y + 1 on CPUs, because the device fails.
struct Chain {
    std::vector<float> x, y, z;
    static inline std::atomic<bool> second = false;

    explicit Chain(std::size_t n) : x(n), y(n, 0.f), z(n, 0.f) { std::iota(x.begin(), x.end(), 0.f); }

    static void on_device(void* buffers[], void*) {
        if (second)
            apportion_block_failed("the device is full");
        else
            run_opencl(buffers, "store");
    }
    static void on_cpu(void* buffers[], void*) {
        const auto* from = reinterpret_cast<const float*>(STARPU_VECTOR_GET_PTR(buffers[0]));
        auto* to = reinterpret_cast<float*>(STARPU_VECTOR_GET_PTR(buffers[1]));
        for (std::size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); ++i) to[i] = 3 * from[i] + 1;
        // Else cores would have nothing to do, and compute the device's first block again.
        if (!second) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    static starpu_codelet& codelet() {
        static starpu_codelet cl = [] {
            starpu_codelet c;
            starpu_codelet_init(&c);
            c.cpu_funcs[0] = on_cpu;
            c.opencl_funcs[0] = on_device;
            c.nbuffers = 2;
            c.modes[0] = STARPU_R;
            c.modes[1] = STARPU_W;
            c.name = "chain";
            return c;
        }();
        return cl;
    }
    static int fill(starpu_task* task, apportion_block* block, void* arg) {
        auto& self = *static_cast<Chain*>(arg);
        const std::size_t n = block->units;
        float* const y = &self.y[block->first];
        task->handles[0] = second ? apportion_block_vector(block, STARPU_R | APPORTION_KEEP, y, n, 4)
                                  : apportion_block_vector(block, STARPU_R, &self.x[block->first], n, 4);
        task->handles[1] = second ? apportion_block_vector(block, STARPU_W, &self.z[block->first], n, 4)
                                  : apportion_block_vector(block, STARPU_W | APPORTION_KEEP, y, n, 4);
        return 0;
    }
    int wrong() const {
        int count = 0;
        for (std::size_t i = 0; i < x.size(); ++i) count += z[i] != 3 * (3 * x[i] + 1) + 1;
        return count;
    }
};

/// An open load whose units come one grant after the other.
struct Grants : Scale {
    std::atomic<std::uint64_t> computed = 0;

    using Scale::Scale;
    static int fill_grant(starpu_task* task, apportion_block* block, void* arg) {
        return fill(task, block, static_cast<Scale*>(static_cast<Grants*>(arg)));
    }
    static void done(const apportion_done* done, void* arg) {
        auto& computed = static_cast<Grants*>(arg)->computed;
        computed += done->units;
        computed.notify_one();
    }
    void wait_for(std::uint64_t units) {
        for (std::uint64_t now = computed; now < units; now = computed) computed.wait(now);
    }
};

bool device_missing() {
    static const bool missing = [] {
        if (starpu_opencl_worker_get_count() == 0) return true;
        starpu_opencl_load_opencl_from_string(kSource, &program, nullptr);
        return false;
    }();
    if (missing) std::exit(77);
    return missing;
}

}  // namespace

TEST_CASE("results of blocks computed in another memory are at home when the load is complete") {
    if (device_missing()) return;
    Scale scale(20000);
    apportion::LoadOptions options("scale", scale.x.size(), codelet(), Scale::fill, &scale);
    options.bytes_per_unit = 8;
    apportion::Load load(options);
    for (int run = 1; run <= 3; ++run) {
        load.run();
        REQUIRE(failed_kernels == 0);
        REQUIRE(scale.wrong(run) == 0);  // read before the handles are gone: nothing may be on its way
    }
    auto report = nlohmann::json::parse(load.report());
    REQUIRE(report["processors"][0]["kind"] == "OpenCL");
}

TEST_CASE("data kept in another memory come home when they are released, also when the block boundaries change") {
    if (device_missing()) return;
    Scale scale(10007);
    scale.modes = APPORTION_KEEP;
    apportion::LoadOptions options("scale", scale.x.size(), codelet(), Scale::fill, &scale);
    apportion::Load load(options);
    for (int run = 1; run <= 6; ++run) {
        setenv("APPORTION_BLOCKS", run % 2 ? "5" : "7", 1);  // moves the boundaries under StarPU's schedulers
        load.run();
    }
    unsetenv("APPORTION_BLOCKS");
    load.release();
    REQUIRE(failed_kernels == 0);
    REQUIRE(scale.wrong(6) == 0);
}

TEST_CASE("blocks of other sizes use the device memory of those that are done") {
    if (device_missing()) return;
    const std::string scheduler = getenv("STARPU_SCHED") ? getenv("STARPU_SCHED") : "";
    for (const char* const of_starpu : {"eager", "dmda", "dmdas", "lws"})
        if (scheduler == of_starpu) return;  // their blocks' memory is StarPU's affair
    constexpr std::uint64_t kGrants = 30, kLeast = 2000, kMore = 200;
    Grants grants(kGrants * (kLeast + kGrants * kMore));
    apportion::LoadOptions options("grants", grants.x.size(), codelet(), Grants::fill_grant, &grants);
    options.open = 1;
    options.done = Grants::done;
    options.bytes_per_unit = 8;
    options.granularity = kMore;
    options.initial_block = grants.x.size();
    apportion::Load load(options);
    int id = 0;
    REQUIRE(starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, &id, 1) != 0);
    const unsigned node = starpu_worker_get_memory_node(static_cast<unsigned>(id));
    const std::size_t before = starpu_memory_get_used(node);
    std::size_t most = 0;
    load.submit();
    std::uint64_t given = 0;
    for (std::uint64_t k = 0; k < kGrants; ++k) {
        const std::uint64_t units = kLeast + k * kMore;
        load.add(given, units);
        given += units;
        grants.wait_for(given);
        most = std::max(most, starpu_memory_get_used(node));
    }
    load.close();
    load.wait();
    REQUIRE(failed_kernels == 0);
    constexpr std::size_t kLargest_bytes = 4 * (kLeast + kGrants * kMore);
    CHECK(most - std::min(most, before) <= 10 * kLargest_bytes);  // all grants: 37 times
}

TEST_CASE("a device that fails after it kept results gives them to those who compute its blocks") {
    if (device_missing()) return;
    // Needs no profile, and gives every worker the same block in every run.
    if (std::string(getenv("STARPU_SCHED") ? getenv("STARPU_SCHED") : "") != "equal") return;
    Chain chain(20000);
    Chain::second = false;
    const apportion::LoadOptions options("chain", chain.x.size(), Chain::codelet(), Chain::fill, &chain);
    apportion::Load(options).run();  // compiles the kernel
    apportion::Load load(options);
    load.run();
    REQUIRE(nlohmann::json::parse(load.report())["processors"][0]["units"] > 0);
    Chain::second = true;
    load.run();
    INFO(load.report());
    CHECK(nlohmann::json::parse(load.report()).at("lost_processors").size() == 1);
    CHECK(chain.wrong() == 0);
}
