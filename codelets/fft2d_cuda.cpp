// SPDX-License-Identifier: LGPL-2.1-or-later
// Host code only: cuFFT and cuBLAS are called on StarPU's stream, so that no CUDA compiler is needed.
#include <cublas_v2.h>
#include <cufft.h>
#include <starpu.h>
#include <starpu_cublas_v2.h>

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "codelets/fft2d_kernels.hpp"

namespace apportion {

namespace {

/// What one worker keeps from block to block.
struct Device {
    std::map<std::pair<std::size_t, std::size_t>, cufftHandle> plans;  ///< by rows of a batch and elements between rows
    std::size_t length = 0, element_bytes = 0;                         ///< that they are for
    void* scratch = nullptr;
};

Device devices[STARPU_NMAXWORKERS];  // each worker uses its own

void check(cufftResult result) {
    if (result != CUFFT_SUCCESS) STARPU_ABORT_MSG("cuFFT failed with status %d", static_cast<int>(result));
}

void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) STARPU_CUBLAS_REPORT_ERROR(status);
}

void check(cudaError_t error) {
    if (error != cudaSuccess) STARPU_CUDA_REPORT_ERROR(error);
}

/// On the device's worker.
void forget(void*) {
    Device& device = devices[starpu_worker_get_id_check()];
    for (const auto& [key, plan] : device.plans) check(cufftDestroy(plan));
    check(cudaFree(device.scratch));
    device = {};
}

Device& device_for(std::size_t length, std::size_t element_bytes) {
    Device& device = devices[starpu_worker_get_id_check()];
    if (device.length == length && device.element_bytes == element_bytes) return device;
    forget(nullptr);
    check(cudaMalloc(&device.scratch, fft2d_device_batch(length, element_bytes) * length * element_bytes));
    device.length = length;
    device.element_bytes = element_bytes;
    return device;
}

cufftHandle plan_for(Device& device, std::size_t rows, std::size_t ld) {
    const auto [entry, is_new] = device.plans.try_emplace({rows, ld});
    if (!is_new) return entry->second;
    int length = static_cast<int>(device.length), from = static_cast<int>(ld);
    const cufftType type = device.element_bytes == sizeof(cufftComplex) ? CUFFT_C2C : CUFFT_Z2Z;
    check(cufftPlanMany(&entry->second, 1, &length, &from, 1, from, &length, 1, length, type, static_cast<int>(rows)));
    check(cufftSetStream(entry->second, starpu_cuda_get_local_stream()));
    return entry->second;
}

void transform(cufftHandle plan, const cufftComplex* in, cufftComplex* out, int direction) {
    check(cufftExecC2C(plan, const_cast<cufftComplex*>(in), out, direction));
}

void transform(cufftHandle plan, const cufftDoubleComplex* in, cufftDoubleComplex* out, int direction) {
    check(cufftExecZ2Z(plan, const_cast<cufftDoubleComplex*>(in), out, direction));
}

/// out = scale * transposition of `rows` rows of `length` elements.
void transpose(int rows, int length, float scale, const cufftComplex* in, cufftComplex* out, int out_ld) {
    const cuComplex alpha = {scale, 0}, zero = {0, 0};
    check(cublasCgeam(starpu_cublas_get_local_handle(), CUBLAS_OP_T, CUBLAS_OP_N, rows, length, &alpha, in, length,
                      &zero, out, out_ld, out, out_ld));
}

void transpose(int rows, int length, double scale, const cufftDoubleComplex* in, cufftDoubleComplex* out, int out_ld) {
    const cuDoubleComplex alpha = {scale, 0}, zero = {0, 0};
    check(cublasZgeam(starpu_cublas_get_local_handle(), CUBLAS_OP_T, CUBLAS_OP_N, rows, length, &alpha, in, length,
                      &zero, out, out_ld, out, out_ld));
}

template <class T, class Complex>
void transform_block(void* in, void* out, bool inverse) {
    const std::size_t length = STARPU_MATRIX_GET_NX(in), rows = STARPU_MATRIX_GET_NY(in);
    const std::size_t in_ld = STARPU_MATRIX_GET_LD(in), out_ld = STARPU_MATRIX_GET_LD(out);
    Device& device = device_for(length, sizeof(Complex));
    auto* const scratch = static_cast<Complex*>(device.scratch);
    const T scale = inverse ? 1 / static_cast<T>(length) : 1;
    const std::size_t batch = fft2d_device_batch(length, sizeof(Complex));
    for (std::size_t first = 0; first < rows;) {
        const std::size_t some = std::min(batch, std::bit_floor(rows - first));
        transform(plan_for(device, some, in_ld), reinterpret_cast<Complex*>(STARPU_MATRIX_GET_PTR(in)) + first * in_ld,
                  scratch, inverse ? CUFFT_INVERSE : CUFFT_FORWARD);
        transpose(static_cast<int>(some), static_cast<int>(length), scale, scratch,
                  reinterpret_cast<Complex*>(STARPU_MATRIX_GET_PTR(out)) + first, static_cast<int>(out_ld));
        first += some;
    }
}

}  // namespace

void fft2d_cuda(void* buffers[], void* arg) {
    const bool inverse = static_cast<const Fft2dParameters*>(arg)->inverse;
    if (STARPU_MATRIX_GET_ELEMSIZE(buffers[0]) == sizeof(cufftComplex))
        transform_block<float, cufftComplex>(buffers[0], buffers[1], inverse);
    else
        transform_block<double, cufftDoubleComplex>(buffers[0], buffers[1], inverse);
}

void fft2d_cuda_forget_plans() { starpu_execute_on_each_worker(forget, nullptr, STARPU_CUDA); }

}  // namespace apportion
