// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/block_data.hpp"

#include <algorithm>
#include <iterator>

namespace apportion {

void BlockData::use_again() {
    reads_earlier_results = false;
    for (BlockHandle& h : handles) h.results_of_earlier_run = h.written;
}

bool BlockData::contains(starpu_data_handle_t handle) const {
    return std::ranges::find(handles, handle, &BlockHandle::handle) != handles.end();
}

bool changes_in_place(int mode) {
    return (mode & STARPU_RW) == STARPU_RW || (mode & (STARPU_REDUX | STARPU_MPI_REDUX)) != 0;
}

bool has_all_handles(const starpu_task& task) {
    const unsigned buffers = task.where == STARPU_NOWHERE ? 0 : STARPU_TASK_GET_NBUFFERS(&task);
    for (unsigned k = 0; k < buffers; ++k)
        if (!STARPU_TASK_GET_HANDLE(&task, k)) return false;
    return true;
}

bool BlockData::any_kept() const {
    return std::any_of(handles.begin(), handles.end(), [](const BlockHandle& h) { return h.keep; });
}

namespace {

// The handle of these data in this block, registered by `register_data` the first time they are named.
template <class Register>
starpu_data_handle_t handle_of(apportion_block* block, int mode, const void* data, const size_t (&dimensions)[6],
                               Register&& register_data) {
    BlockData& block_data = *static_cast<FillBlock*>(block)->data_of_block;
    auto& handles = block_data.handles;
    auto known = std::find_if(handles.begin(), handles.end(), [&](const BlockHandle& h) {
        return h.data == data && std::equal(std::begin(dimensions), std::end(dimensions), std::begin(h.dimensions));
    });
    if (known == handles.end()) {
        BlockHandle fresh;
        register_data(&fresh.handle);
        fresh.data = data;
        std::copy(std::begin(dimensions), std::end(dimensions), std::begin(fresh.dimensions));
        known = handles.insert(handles.end(), fresh);
    }
    if (known->results_of_earlier_run && (mode & STARPU_R) != 0) block_data.reads_earlier_results = true;
    known->written = known->written || (mode & STARPU_W) != 0;
    known->keep = known->keep || (mode & APPORTION_KEEP) != 0;
    return known->handle;
}

uintptr_t address(void* data) { return reinterpret_cast<uintptr_t>(data); }

}  // namespace
}  // namespace apportion

using apportion::address;

extern "C" {

starpu_data_handle_t apportion_block_vector(apportion_block* block, int mode, void* data, size_t elements,
                                            size_t element_size) {
    return apportion::handle_of(block, mode, data, {elements, 0, 0, 0, 0, element_size}, [&](starpu_data_handle_t* h) {
        starpu_vector_data_register(h, STARPU_MAIN_RAM, address(data), elements, element_size);
    });
}

starpu_data_handle_t apportion_block_matrix(apportion_block* block, int mode, void* data, size_t ld, size_t nx,
                                            size_t ny, size_t element_size) {
    return apportion::handle_of(block, mode, data, {ld, nx, ny, 0, 0, element_size}, [&](starpu_data_handle_t* h) {
        starpu_matrix_data_register(h, STARPU_MAIN_RAM, address(data), ld, nx, ny, element_size);
    });
}

starpu_data_handle_t apportion_block_volume(apportion_block* block, int mode, void* data, size_t ldy, size_t ldz,
                                            size_t nx, size_t ny, size_t nz, size_t element_size) {
    const size_t dimensions[6] = {nx, ny, nz, ldy, ldz, element_size};
    return apportion::handle_of(block, mode, data, dimensions, [&](starpu_data_handle_t* h) {
        starpu_block_data_register(h, STARPU_MAIN_RAM, address(data), ldy, ldz, nx, ny, nz, element_size);
    });
}

}  // extern "C"
