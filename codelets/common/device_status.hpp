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

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "codelets/common/failed_task.hpp"

namespace apportion {

class DeviceFailure : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// What the library says of a status that `call` returned.
std::string failure(cudaError_t status, const char* call);
std::string failure(cublasStatus_t status, const char* call);
std::string failure(cufftResult status, const char* call);

/// Status{} is the success of all three libraries.
template <class Status>
void require(Status status, const char* call) {
    if (status == Status{}) return;
    cudaGetLastError();  // forgotten, so that no later call finds it
    throw DeviceFailure(failure(status, call));
}

/// On stderr, if it is one. For calls that give resources back, where nothing can be done about it.
template <class Status>
void tell_failure(Status status, const char* call) noexcept {
    if (status != Status{}) std::fprintf(stderr, "%s\n", failure(status, call).c_str());
}

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
