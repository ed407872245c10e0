// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Host code only: cuFFT and cuBLAS are called on StarPU's stream, so that no CUDA compiler is needed. Rows are
// transformed by powers of two of them, the largest that is left first; plans of all powers are made with the first.
//
// Limit: memory. A row is read and written by cuFFT and by the transposition, 4 x 16 bytes an element of complex128: at
// most 75 G elements/s on an H200 (4.8 TB/s), 5 G on a T4 (0.32 TB/s), of which 70 % are expected (lengths that are no
// products of small primes: half). All computed, not measured; over PCIe an element takes 32 bytes, which is slower.
#include <cublas_v2.h>
#include <cufft.h>
#include <starpu.h>

#include <algorithm>
#include <bit>

#include "codelets/common/device_status.hpp"
#include "codelets/common/device_worker.hpp"
#include "codelets/fft2d/fft2d_kernels.hpp"

namespace apportion {

namespace {

constexpr std::size_t kAlignment_bytes = 256;  // cudaMalloc's

FftPlan make_plan(const FftShape& shape) {
    FftPlan plan{};
    require(cufftCreate(&plan.handle), "cufftCreate");
    try {
        // All plans of a worker share a work area, which StarPU counts.
        require(cufftSetAutoAllocation(plan.handle, 0), "cufftSetAutoAllocation");
        auto length = static_cast<long long>(shape.length), from = static_cast<long long>(shape.ld);
        require(cufftMakePlanMany64(plan.handle, 1, &length, &from, 1, from, &length, 1, length, shape.type,
                                    static_cast<long long>(shape.rows), &plan.work_bytes),
                "cufftMakePlanMany64");
        require(cufftSetStream(plan.handle, starpu_cuda_get_local_stream()), "cufftSetStream");
    } catch (...) {
        tell_failure(cufftDestroy(plan.handle), "cufftDestroy");
        throw;
    }
    return plan;
}

struct Plans {
    std::size_t work_bytes;  ///< the largest work area
    bool made;               ///< now, some of them
};

/// Makes those of all powers of two up to `shape.rows` that are missing.
Plans make_plans(DeviceWorker& device, FftShape shape) {
    Plans plans{0, false};
    for (; shape.rows > 0; shape.rows /= 2) {
        auto plan = device.plans.find(shape);
        if (plan == device.plans.end()) {
            plan = device.plans.emplace(shape, make_plan(shape)).first;
            plans.made = true;
        }
        plans.work_bytes = std::max(plans.work_bytes, plan->second.work_bytes);
    }
    return plans;
}

cufftResult transform(cufftHandle plan, const cufftComplex* in, cufftComplex* out, int direction) {
    return cufftExecC2C(plan, const_cast<cufftComplex*>(in), out, direction);
}

cufftResult transform(cufftHandle plan, const cufftDoubleComplex* in, cufftDoubleComplex* out, int direction) {
    return cufftExecZ2Z(plan, const_cast<cufftDoubleComplex*>(in), out, direction);
}

/// out = scale * transposition of `rows` rows of `length` elements.
void transpose(cublasHandle_t blas, int rows, int length, float scale, const cufftComplex* in, cufftComplex* out,
               int out_ld) {
    const cuComplex alpha = {scale, 0}, zero = {0, 0};
    require(
        cublasCgeam(blas, CUBLAS_OP_T, CUBLAS_OP_N, rows, length, &alpha, in, length, &zero, out, out_ld, out, out_ld),
        "cublasCgeam");
}

void transpose(cublasHandle_t blas, int rows, int length, double scale, const cufftDoubleComplex* in,
               cufftDoubleComplex* out, int out_ld) {
    const cuDoubleComplex alpha = {scale, 0}, zero = {0, 0};
    require(
        cublasZgeam(blas, CUBLAS_OP_T, CUBLAS_OP_N, rows, length, &alpha, in, length, &zero, out, out_ld, out, out_ld),
        "cublasZgeam");
}

template <class T, class Complex>
void transform_block(cufftType type, void* in, void* out, bool inverse) {
    const std::size_t length = STARPU_MATRIX_GET_NX(in), rows = STARPU_MATRIX_GET_NY(in);
    const std::size_t in_ld = STARPU_MATRIX_GET_LD(in), out_ld = STARPU_MATRIX_GET_LD(out);
    const std::size_t batch = fft2d_device_batch(length, sizeof(Complex));
    DeviceWorker& device = this_device_worker();
    const cublasHandle_t blas = device.blas();
    const Plans plans = make_plans(device, {type, length, in_ld, batch});
    const std::size_t before = (plans.work_bytes + kAlignment_bytes - 1) / kAlignment_bytes * kAlignment_bytes;
    void* const work_area = device.scratch.at_least(before + batch * length * sizeof(Complex));
    auto* const scratch = reinterpret_cast<Complex*>(static_cast<char*>(work_area) + before);
    const auto transform_rows = [&](std::size_t some, const Complex* from) {
        const FftPlan& plan = device.plans.at({type, length, in_ld, some});
        // None for a plan that needs none: cuFFT refuses to run it where the area is also its input or output.
        if (plan.work_bytes > 0) require(cufftSetWorkArea(plan.handle, work_area), "cufftSetWorkArea");
        require(transform(plan.handle, from, scratch, inverse ? CUFFT_INVERSE : CUFFT_FORWARD),
                sizeof(T) == sizeof(float) ? "cufftExecC2C" : "cufftExecZ2Z");
    };
    // Whatever is there: each plan runs once, because CUDA loads its kernels then.
    for (std::size_t some = batch; plans.made && in_ld == length && some > 0; some /= 2) transform_rows(some, scratch);

    const T scale = inverse ? 1 / static_cast<T>(length) : 1;
    for (std::size_t first = 0; first < rows;) {
        const std::size_t some = std::min(batch, std::bit_floor(rows - first));
        transform_rows(some, reinterpret_cast<const Complex*>(STARPU_MATRIX_GET_PTR(in)) + first * in_ld);
        transpose(blas, static_cast<int>(some), static_cast<int>(length), scale, scratch,
                  reinterpret_cast<Complex*>(STARPU_MATRIX_GET_PTR(out)) + first, static_cast<int>(out_ld));
        first += some;
    }
}

}  // namespace

void fft2d_cuda(void* buffers[], void* arg) {
    on_device([&] {
        const bool inverse = static_cast<const Fft2dParameters*>(arg)->inverse;
        if (STARPU_MATRIX_GET_ELEMSIZE(buffers[0]) == sizeof(cufftComplex))
            transform_block<float, cufftComplex>(CUFFT_C2C, buffers[0], buffers[1], inverse);
        else
            transform_block<double, cufftDoubleComplex>(CUFFT_Z2Z, buffers[0], buffers[1], inverse);
    });
}

}  // namespace apportion
