// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/common/device_worker.hpp"

#include <starpu.h>

#include <string>

#include "codelets/common/device_status.hpp"

namespace apportion {

namespace {

constexpr int kAllocation = STARPU_MALLOC_COUNT | STARPU_MEMORY_OVERFLOW;
constexpr std::size_t kBlasWorkspace_bytes = 32 << 20;  // what cuBLAS' manual recommends for the largest GPUs

// Each worker uses its own. Threads may outlive static objects.
DeviceWorker* const kDeviceWorkers = new DeviceWorker[STARPU_NMAXWORKERS];

void forget_this(void*) { this_device_worker().forget(); }

}  // namespace

void* DeviceMemory::at_least(std::size_t bytes) {
    if (bytes <= bytes_) return reinterpret_cast<void*>(address_);
    // StarPU may hand it out again at once.
    if (address_ != 0) require(cudaStreamSynchronize(starpu_cuda_get_local_stream()), "cudaStreamSynchronize");
    give_back();
    node_ = starpu_worker_get_memory_node(static_cast<unsigned>(starpu_worker_get_id_check()));
    address_ = starpu_malloc_on_node_flags(node_, bytes, kAllocation);
    if (address_ == 0)
        throw DeviceFailure("starpu_malloc_on_node: no " + std::to_string((bytes + (1 << 20) - 1) >> 20) +
                            " MiB are left on the device");
    bytes_ = bytes;
    return reinterpret_cast<void*>(address_);
}

void DeviceMemory::give_back() noexcept {
    if (address_ != 0) starpu_free_on_node_flags(node_, address_, bytes_, kAllocation);
    address_ = 0;
    bytes_ = 0;
}

cublasHandle_t DeviceWorker::blas() {
    if (blas_) return blas_;
    cublasHandle_t handle = nullptr;
    require(cublasCreate(&handle), "cublasCreate");
    try {
        // In this order: cublasSetStream sets the workspace back to cuBLAS' own.
        require(cublasSetStream(handle, starpu_cuda_get_local_stream()), "cublasSetStream");
        void* const workspace = blas_workspace_.at_least(kBlasWorkspace_bytes);
        require(cublasSetWorkspace(handle, workspace, kBlasWorkspace_bytes), "cublasSetWorkspace");
    } catch (...) {
        tell_failure(cublasDestroy(handle), "cublasDestroy");
        throw;
    }
    return blas_ = handle;
}

void DeviceWorker::forget() noexcept {
    tell_failure(cudaStreamSynchronize(starpu_cuda_get_local_stream()), "cudaStreamSynchronize");
    for (const auto& [shape, plan] : plans) tell_failure(cufftDestroy(plan.handle), "cufftDestroy");
    plans.clear();
    if (blas_) tell_failure(cublasDestroy(blas_), "cublasDestroy");
    blas_ = nullptr;
    blas_workspace_.give_back();
    scratch.give_back();
}

DeviceWorker& this_device_worker() { return kDeviceWorkers[starpu_worker_get_id_check()]; }

void forget_device_workers() {
    if (starpu_cuda_worker_get_count() > 0) starpu_execute_on_each_worker(forget_this, nullptr, STARPU_CUDA);
}

}  // namespace apportion
