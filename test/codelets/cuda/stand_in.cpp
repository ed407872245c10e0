// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test/codelets/cuda/stand_in.hpp"

#include <cublas_v2.h>
#include <cufft.h>
#include <starpu.h>

#include <cstdlib>
#include <cstring>

#include "policies/starpu/apportion.h"

namespace stand_in {

State& state() {
    static State state;
    return state;
}

void reset() { state() = {}; }

cudaStream_t stream() { return reinterpret_cast<cudaStream_t>(0x57); }

}  // namespace stand_in

namespace {

using stand_in::state;

bool refuses(const char* function, const char* words) {
    if (++state().calls != state().refuse) return false;
    state().refused = function;
    state().words = words;
    return true;
}

void expect(bool good, const char* problem) {
    if (!good) state().problems.emplace_back(problem);
}

cudaError_t cuda(const char* function, cudaError_t error = cudaErrorMemoryAllocation) {
    return refuses(function, cudaGetErrorString(error)) ? error : cudaSuccess;
}

cublasStatus_t blas(const char* function) {
    return refuses(function, "a cuBLAS status") ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

cufftResult fft(const char* function) {
    return refuses(function, "CUFFT_ALLOC_FAILED") ? CUFFT_ALLOC_FAILED : CUFFT_SUCCESS;
}

bool known(cublasHandle_t handle) { return state().blas.count(handle) > 0; }

/// A batch that runs: with a plan that lives, on memory that is somebody's.
cufftResult transform(const char* function, cufftHandle plan, const void* out) {
    expect(state().plans.count(plan) > 0, "a transform by a plan that does not exist");
    expect(out != nullptr, "a transform into nothing");
    state().running = true;
    return fft(function);
}

}  // namespace

extern "C" {

// --- CUDA's runtime ---

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void*, void**) {
    const dim3 blocks = config->gridDim, threads = config->blockDim;
    expect(config->stream == stand_in::stream(), "a launch on another stream");
    const bool valid = blocks.x > 0 && blocks.x <= 0x7fffffffu && blocks.y > 0 && blocks.y <= 65535 && blocks.z > 0 &&
                       blocks.z <= 65535 && threads.x > 0 && threads.x * threads.y * threads.z <= 1024;
    expect(valid, "a grid that CUDA does not have");
    state().launches.push_back({blocks, threads});
    state().running = true;
    return cuda("launch", cudaErrorNoKernelImageForDevice);
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
    expect(stream == stand_in::stream(), "memory is set on another stream");
    if (state().memory_exists) std::memset(memory, value, bytes);
    return cuda("cudaMemsetAsync");
}
cudaError_t cudaMemset2DAsync(void* memory, std::size_t pitch, int value, std::size_t width, std::size_t height,
                              cudaStream_t stream) {
    expect(stream == stand_in::stream(), "memory is set on another stream");
    expect(width <= pitch && pitch < std::size_t{1} << 31, "a pitch that CUDA does not have");
    for (std::size_t row = 0; state().memory_exists && row < height; ++row)
        std::memset(static_cast<char*>(memory) + row * pitch, value, width);
    return cuda("cudaMemset2DAsync");
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    if (stream == stand_in::stream()) state().running = false;
    return cuda("cudaStreamSynchronize");
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorName"; }
const char* cudaGetErrorString(cudaError_t error) {
    return error == cudaErrorNoKernelImageForDevice ? "no kernel image" : "out of memory";
}

// What nvcc generates calls these; kernels are never called like functions.
void** __cudaRegisterFatBinary(void*) { return nullptr; }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*) {}
unsigned __cudaPushCallConfiguration(dim3, dim3, std::size_t, CUstream_st*) { std::abort(); }
cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, std::size_t*, void*) { std::abort(); }
cudaError_t __cudaGetKernel(cudaKernel_t*, const void*) { std::abort(); }
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, std::size_t, cudaStream_t) { std::abort(); }

// --- cuBLAS ---

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
    const cublasStatus_t status = blas("cublasCreate");
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    *handle = static_cast<cublasHandle_t>(std::malloc(1));
    state().blas.insert(*handle);
    return status;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
    expect(state().blas.erase(handle) == 1, "a handle is destroyed that does not exist");
    std::free(handle);
    return blas("cublasDestroy");
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
    expect(known(handle) && stream == stand_in::stream(), "cuBLAS gets another stream");
    return blas("cublasSetStream");
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, std::size_t bytes) {
    expect(known(handle) && state().memory.count(workspace) > 0 && state().memory[workspace] >= bytes,
           "cuBLAS gets a workspace that is not there");
    return blas("cublasSetWorkspace");
}
#define STAND_IN_BLAS(name, words, ...)                                       \
    cublasStatus_t name(cublasHandle_t handle, __VA_ARGS__) {                 \
        expect(known(handle), "cuBLAS is called with a handle that is none"); \
        state().running = true;                                               \
        return blas(words);                                                   \
    }
#define STAND_IN_GEMM(T) \
    cublasOperation_t, cublasOperation_t, int, int, int, const T*, const T*, int, const T*, int, const T*, T*, int
#define STAND_IN_GEAM(T) \
    cublasOperation_t, cublasOperation_t, int, int, const T*, const T*, int, const T*, const T*, int, T*, int
STAND_IN_BLAS(cublasSgemm_v2, "cublasSgemm", STAND_IN_GEMM(float))
STAND_IN_BLAS(cublasDgemm_v2, "cublasDgemm", STAND_IN_GEMM(double))
STAND_IN_BLAS(cublasCgeam, "cublasCgeam", STAND_IN_GEAM(cuComplex))
STAND_IN_BLAS(cublasZgeam, "cublasZgeam", STAND_IN_GEAM(cuDoubleComplex))
const char* cublasGetStatusName(cublasStatus_t) { return "CUBLAS_STATUS"; }
const char* cublasGetStatusString(cublasStatus_t) { return "a cuBLAS status"; }

// --- cuFFT ---

cufftResult cufftCreate(cufftHandle* plan) {
    static int last = 0;
    const cufftResult status = fft("cufftCreate");
    if (status == CUFFT_SUCCESS) state().plans.insert(*plan = ++last);
    return status;
}
cufftResult cufftDestroy(cufftHandle plan) {
    expect(state().plans.erase(plan) == 1, "a plan is destroyed that does not exist");
    return fft("cufftDestroy");
}
cufftResult cufftSetAutoAllocation(cufftHandle, int allocate) {
    expect(allocate == 0, "cuFFT takes memory that nobody counts");
    return fft("cufftSetAutoAllocation");
}
cufftResult cufftMakePlanMany64(cufftHandle, int, long long*, long long*, long long, long long, long long*, long long,
                                long long, cufftType, long long batch, std::size_t* work_bytes) {
    *work_bytes = static_cast<std::size_t>(batch) * 1000 + 1;
    return fft("cufftMakePlanMany64");
}
cufftResult cufftSetStream(cufftHandle, cudaStream_t stream) {
    expect(stream == stand_in::stream(), "cuFFT gets another stream");
    return fft("cufftSetStream");
}
cufftResult cufftSetWorkArea(cufftHandle, void* area) {
    expect(state().memory.count(area) > 0, "cuFFT gets a work area that is not there");
    return fft("cufftSetWorkArea");
}
cufftResult cufftExecC2C(cufftHandle plan, cufftComplex*, cufftComplex* out, int) {
    return transform("cufftExecC2C", plan, out);
}
cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex*, cufftDoubleComplex* out, int) {
    return transform("cufftExecZ2Z", plan, out);
}

// --- StarPU, with one worker ---

cudaStream_t starpu_cuda_get_local_stream(void) { return stand_in::stream(); }
unsigned _starpu_worker_get_id_check(const char*, int) { return 0; }
unsigned starpu_cuda_worker_get_count(void) { return 1; }
unsigned starpu_worker_get_memory_node(unsigned) { return 1; }
starpu_ssize_t starpu_memory_get_total(unsigned) { return static_cast<starpu_ssize_t>(state().memory_bytes); }
void starpu_execute_on_each_worker(void (*function)(void*), void* arg, std::uint32_t) { function(arg); }
std::uintptr_t starpu_malloc_on_node_flags(unsigned, std::size_t size, int flags) {
    expect((flags & STARPU_MALLOC_COUNT) != 0, "memory is taken that nobody counts");
    if (refuses("starpu_malloc_on_node", "MiB are left on the device")) return 0;
    static std::uintptr_t next = 1 << 20;
    void* memory = state().memory_exists ? std::calloc(1, size) : reinterpret_cast<void*>(next);
    if (!state().memory_exists) next += (size + 255) / 256 * 256;
    if (memory) state().memory[memory] = size;
    return reinterpret_cast<std::uintptr_t>(memory);
}
void starpu_free_on_node_flags(unsigned, std::uintptr_t address, std::size_t size, int flags) {
    const auto memory = state().memory.find(reinterpret_cast<void*>(address));
    const bool same = memory != state().memory.end() && memory->second == size && (flags & STARPU_MALLOC_COUNT) != 0;
    expect(same, "memory is freed otherwise than it was taken");
    expect(!state().running, "memory is freed while it may be used");
    if (!same) return;
    if (state().memory_exists) std::free(memory->first);
    state().memory.erase(memory);
}

int apportion_block_failed(const char* why) {
    state().failures.emplace_back(why);
    return 0;
}

}  // extern "C"
