// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a CUDA worker keeps from block to block: scratch memory, a cuBLAS handle, cuFFT's plans. Each worker has its
// own and uses it on its own thread and stream, where one block comes after another. All is made by a worker's first
// block of a size, which warm_up() runs before a load.
//
// Memory is StarPU's, which so counts it. It is taken even where StarPU's own limit (90 % of the device) is reached:
// StarPU then drops copies that are not needed.
#pragma once

#ifdef APPORTION_CUDA
#include <cublas_v2.h>
#include <cufft.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#endif

namespace apportion {

#ifdef APPORTION_CUDA
/// Memory of a device; must be given back.
class DeviceMemory {
  public:
    /// At least that many bytes, >= 1. What was there is lost when they have to grow. Throws DeviceFailure.
    void* at_least(std::size_t bytes);
    void give_back() noexcept;

  private:
    unsigned node_ = 0;
    std::uintptr_t address_ = 0;
    std::size_t bytes_ = 0;
};

/// A batch of one-dimensional transforms.
struct FftShape {
    cufftType type;
    std::size_t length, ld;  ///< elements, and from one row of the input to the next
    std::size_t rows;

    auto operator<=>(const FftShape&) const = default;
};

struct FftPlan {
    cufftHandle handle;
    std::size_t work_bytes;  ///< to be given to it before it runs
};

struct DeviceWorker {
    DeviceMemory scratch;
    std::map<FftShape, FftPlan> plans;

    /// On the worker's stream. Throws DeviceFailure.
    cublasHandle_t blas();
    void forget() noexcept;

  private:
    cublasHandle_t blas_ = nullptr;
    DeviceMemory blas_workspace_;
};

/// The calling worker's.
DeviceWorker& this_device_worker();
#endif

/// Frees what the CUDA workers keep; none of their blocks may be running. Without effect where there are none.
void forget_device_workers();

/// A member of workloads whose kernels keep something, which goes as they end; what others still need is made again.
class DeviceWorkers {
  public:
    DeviceWorkers() = default;
    ~DeviceWorkers() {
#ifdef APPORTION_CUDA
        forget_device_workers();
#endif
    }
    DeviceWorkers(const DeviceWorkers&) = delete;
    DeviceWorkers& operator=(const DeviceWorkers&) = delete;
};

}  // namespace apportion
