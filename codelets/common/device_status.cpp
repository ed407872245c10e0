// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/common/device_status.hpp"

#include <string>

namespace apportion {

namespace {

std::string message(const char* call, const char* name, const char* text) {
    return std::string(call) + ": " + text + " (" + name + ")";
}

}  // namespace

/// cuFFT has no texts; these are its manual's, and the numbers' names those of cufft.h.
std::string failure(cufftResult status, const char* call) {
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

std::string failure(cudaError_t status, const char* call) {
    return message(call, cudaGetErrorName(status), cudaGetErrorString(status));
}

std::string failure(cublasStatus_t status, const char* call) {
    return message(call, cublasGetStatusName(status), cublasGetStatusString(status));
}

}  // namespace apportion
