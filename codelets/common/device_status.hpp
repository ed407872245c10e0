// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How a CUDA kernel's host code ends when CUDA, cuBLAS or cuFFT refuses something: every status goes through require(),
// which throws what the library says, and on_device() hands the block over to other workers with these words.
//
// That is for what is refused at the call: memory, plans, handles, launches (a GPU that the code was not compiled for).
// A kernel that fails while it runs (an address out of bounds, a device that falls off the bus) leaves its CUDA context
// unusable; StarPU sees that when it asks for the task's end, and aborts the process.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cufft.h>

#include <exception>
#include <stdexcept>

#include "codelets/common/failed_task.hpp"

namespace apportion {

class DeviceFailure : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// `call` is what was called, for the message.
void require(cudaError_t status, const char* call);
void require(cublasStatus_t status, const char* call);
void require(cufftResult status, const char* call);

/// Whether it succeeded; if not, says so on stderr. For calls that give resources back,
/// where nothing can be done about a failure.
bool succeeded(cudaError_t status, const char* call) noexcept;
bool succeeded(cublasStatus_t status, const char* call) noexcept;
bool succeeded(cufftResult status, const char* call) noexcept;

/// The codelet function's work, on the worker's thread. What it has started on the stream before it failed may go on:
/// StarPU waits for it as for a whole block.
template <class Body>
void on_device(Body&& body) noexcept {
    try {
        body();
    } catch (const std::exception& error) {
        fail_block(error.what());
    }
}

}  // namespace apportion
