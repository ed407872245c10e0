// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/common/device_status.hpp"

#include <cstdio>
#include <string>

namespace apportion {

namespace {

std::string message(const char* call, const char* name, const char* text) {
    return std::string(call) + ": " + text + " (" + name + ")";
}

/// cuFFT has no texts; these are its manual's, and the numbers' names those of cufft.h.
std::string message(cufftResult status, const char* call) {
    static constexpr struct {
        cufftResult status;
        const char *name, *text;
    } kTexts[] = {{CUFFT_INVALID_PLAN, "CUFFT_INVALID_PLAN", "the plan is not valid"},
                  {CUFFT_ALLOC_FAILED, "CUFFT_ALLOC_FAILED", "no memory for the plan"},
                  {CUFFT_INVALID_VALUE, "CUFFT_INVALID_VALUE", "an argument is not valid"},
                  {CUFFT_INTERNAL_ERROR, "CUFFT_INTERNAL_ERROR", "the driver or cuFFT failed"},
                  {CUFFT_EXEC_FAILED, "CUFFT_EXEC_FAILED", "the transform cannot run on the GPU"},
                  {CUFFT_SETUP_FAILED, "CUFFT_SETUP_FAILED", "cuFFT did not start"},
                  {CUFFT_INVALID_SIZE, "CUFFT_INVALID_SIZE", "no transform of this size"},
                  {CUFFT_NO_WORKSPACE, "CUFFT_NO_WORKSPACE", "no work area"}};
    for (const auto& known : kTexts)
        if (known.status == status) return message(call, known.name, known.text);
    return message(call, ("cufftResult " + std::to_string(static_cast<int>(status))).c_str(), "cuFFT failed");
}

std::string message(cudaError_t status, const char* call) {
    return message(call, cudaGetErrorName(status), cudaGetErrorString(status));
}

std::string message(cublasStatus_t status, const char* call) {
    return message(call, cublasGetStatusName(status), cublasGetStatusString(status));
}

template <class Status>
void throw_unless(bool good, Status status, const char* call) {
    if (good) return;
    cudaGetLastError();  // forgotten, so that no later call finds it
    throw DeviceFailure(message(status, call));
}

template <class Status>
bool tell_unless(bool good, Status status, const char* call) noexcept {
    if (!good) std::fprintf(stderr, "%s\n", message(status, call).c_str());
    return good;
}

}  // namespace

void require(cudaError_t status, const char* call) { throw_unless(status == cudaSuccess, status, call); }
void require(cublasStatus_t status, const char* call) { throw_unless(status == CUBLAS_STATUS_SUCCESS, status, call); }
void require(cufftResult status, const char* call) { throw_unless(status == CUFFT_SUCCESS, status, call); }

bool succeeded(cudaError_t status, const char* call) noexcept {
    return tell_unless(status == cudaSuccess, status, call);
}
bool succeeded(cublasStatus_t status, const char* call) noexcept {
    return tell_unless(status == CUBLAS_STATUS_SUCCESS, status, call);
}
bool succeeded(cufftResult status, const char* call) noexcept {
    return tell_unless(status == CUFFT_SUCCESS, status, call);
}

}  // namespace apportion
