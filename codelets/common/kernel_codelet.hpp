// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The StarPU codelet of a bundled workload: its kernels, and a performance model from measured_cost(), which
// simulated::install() replaces in the simulated flavour.
#pragma once

#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "codelets/common/codelet.hpp"
#include "codelets/common/failed_task.hpp"
#include "codelets/common/flavour.hpp"
#include "codelets/simulated/starpu_cost.hpp"

namespace apportion {

struct Kernels {
    starpu_cpu_func_t cpu = nullptr;
    starpu_cuda_func_t cuda = nullptr;  ///< asynchronous
};

/// A CPU kernel that throws, for want of memory perhaps, hands its block over to other workers: no exception may leave
/// it for StarPU. What on_device() is to GPU kernels.
template <starpu_cpu_func_t kernel>
void on_cpu(void* buffers[], void* arg) noexcept {
    try {
        kernel(buffers, arg);
    } catch (const std::exception& error) {
        fail_block(error.what());
    }
}

/// The kernels that this build has, of those named: the simulated flavour has none, not even declared.
#if defined(STARPU_SIMGRID)
#define APPORTION_KERNELS(cpu, cuda) \
    apportion::Kernels {}
#elif defined(APPORTION_CUDA)
#define APPORTION_KERNELS(cpu, cuda) \
    apportion::Kernels { apportion::on_cpu<cpu>, cuda }
#else
#define APPORTION_KERNELS(cpu, cuda) \
    apportion::Kernels { apportion::on_cpu<cpu>, nullptr }
#endif

/// One for all loads, a static: StarPU keeps references to codelets and their models beyond a load's life.
class KernelCodelet {
  public:
    /// `name`: the codelet's. `model`: the performance model's is "apportion_" and that. `modes`: of the handles.
    KernelCodelet(const char* name, const std::string& model, Kernels kernels,
                  const std::vector<starpu_data_access_mode>& modes) {
        model_.symbol = strdup(("apportion_" + model).c_str());  // threads may outlive static objects
        model_.type = STARPU_PER_WORKER;
        model_.worker_cost_function = measured_cost;
        starpu_codelet_init(&codelet_);
        codelet_.name = name;
        codelet_.model = &model_;
        codelet_.cpu_funcs[0] = kernels.cpu;
        codelet_.cuda_funcs[0] = kernels.cuda;
        if (kernels.cuda) codelet_.cuda_flags[0] = STARPU_CUDA_ASYNC;
        codelet_.nbuffers = static_cast<int>(modes.size());
        for (std::size_t k = 0; k < modes.size(); ++k) codelet_.modes[k] = modes[k];
    }
    KernelCodelet(const KernelCodelet&) = delete;
    KernelCodelet& operator=(const KernelCodelet&) = delete;

    starpu_codelet& get() { return codelet_; }

  private:
    starpu_perfmodel model_{};
    starpu_codelet codelet_;
};

}  // namespace apportion
