// SPDX-License-Identifier: LGPL-2.1-or-later
// Buffers of blocks, as StarPU gives them to codelets on a CUDA worker.
#pragma once

#include <starpu.h>

#include <cstddef>
#include <cstdint>

inline starpu_matrix_interface matrix_buffer(const void* data, std::size_t nx, std::size_t ny,
                                             std::size_t element_bytes) {
    starpu_matrix_interface m{};
    m.id = STARPU_MATRIX_INTERFACE_ID;
    m.ptr = m.dev_handle = reinterpret_cast<std::uintptr_t>(data);
    m.nx = m.ld = static_cast<std::uint32_t>(nx);
    m.ny = static_cast<std::uint32_t>(ny);
    m.elemsize = element_bytes;
    return m;
}

inline starpu_vector_interface vector_buffer(const void* data, std::size_t count, std::size_t element_bytes) {
    starpu_vector_interface v{};
    v.id = STARPU_VECTOR_INTERFACE_ID;
    v.ptr = v.dev_handle = reinterpret_cast<std::uintptr_t>(data);
    v.nx = static_cast<std::uint32_t>(count);
    v.elemsize = element_bytes;
    return v;
}
