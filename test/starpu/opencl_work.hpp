// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A codelet's function on a device with its own memory, without a kernel: the data are read from the device, worked on
// by the host and written back. PoCL's device on this machine's cores (STARPU_OPENCL_ON_CPUS=1) is such a device.
#pragma once

#include <starpu_opencl.h>

#include <vector>

namespace apportion::test {

/// work(x, y, elements) on buffers 0 and 1, vectors of T.
template <class T, class OnHost>
void on_opencl_device(void* buffers[], OnHost&& work) {
    cl_command_queue queue;
    starpu_opencl_get_queue(starpu_worker_get_devid(starpu_worker_get_id()), &queue);
    const unsigned n = STARPU_VECTOR_GET_NX(buffers[0]);
    const auto memory = [&](int k) { return reinterpret_cast<cl_mem>(STARPU_VECTOR_GET_DEV_HANDLE(buffers[k])); };
    const auto offset = [&](int k) { return STARPU_VECTOR_GET_OFFSET(buffers[k]); };
    std::vector<T> x(n), y(n);
    clEnqueueReadBuffer(queue, memory(0), CL_TRUE, offset(0), n * sizeof(T), x.data(), 0, nullptr, nullptr);
    clEnqueueReadBuffer(queue, memory(1), CL_TRUE, offset(1), n * sizeof(T), y.data(), 0, nullptr, nullptr);
    work(x.data(), y.data(), n);
    clEnqueueWriteBuffer(queue, memory(1), CL_TRUE, offset(1), n * sizeof(T), y.data(), 0, nullptr, nullptr);
    clFinish(queue);
}

/// StarPU's worker, or -1.
inline int opencl_worker() { return starpu_worker_get_by_type(STARPU_OPENCL_WORKER, 0); }

}  // namespace apportion::test
