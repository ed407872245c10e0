// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/block_data.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <new>
#include <set>

#include "policies/starpu/error.hpp"

namespace apportion {

bool DataShape::fits_in_memory() const {
    std::ptrdiff_t bytes = 0;
    const std::size_t elements = interface == Interface::volume ? ldz : interface == Interface::matrix ? ldy : nx;
    const std::size_t times = interface == Interface::volume ? nz : ny;
    return !__builtin_mul_overflow(elements, times, &bytes) && !__builtin_mul_overflow(bytes, element_size, &bytes);
}

void BlockData::use_again() {
    in_place = elsewhere = false;
    foreign.clear();
    problem = nullptr;
    for (BlockHandle& h : handles) {
        h.first = BlockHandle::First::none;
        h.from_earlier = h.written;
        h.stored = h.named = false;
    }
}

void BlockData::forget_tasks() {
    for (BlockHandle& h : handles) {
        h.first = BlockHandle::First::none;
        h.written = h.from_earlier;
        h.stored = h.named = false;
    }
}

bool BlockData::earlier_results() const { return std::ranges::any_of(handles, &BlockHandle::earlier); }

const BlockHandle* BlockData::find(starpu_data_handle_t handle) const {
    const auto found = std::ranges::find(handles, handle, &BlockHandle::handle);
    return found == handles.end() ? nullptr : &*found;
}

bool changes_in_place(int mode) {
    return (mode & STARPU_RW) == STARPU_RW || (mode & (STARPU_REDUX | STARPU_MPI_REDUX)) != 0;
}

bool has_all_handles(const starpu_task& task) {
    const unsigned buffers = STARPU_TASK_GET_NBUFFERS(&task);  // StarPU looks at them whatever `where` is
    for (unsigned k = 0; k < buffers; ++k)
        if (!STARPU_TASK_GET_HANDLE(&task, k)) return false;
    return true;
}

std::size_t bytes_of(const starpu_task& task) {
    std::set<starpu_data_handle_t> handles;
    for (unsigned k = 0; k < STARPU_TASK_GET_NBUFFERS(&task); ++k) handles.insert(STARPU_TASK_GET_HANDLE(&task, k));
    std::size_t bytes = 0;
    for (const starpu_data_handle_t handle : handles) bytes += starpu_data_get_size(handle);
    return bytes;
}

namespace {

/// StarPU takes it for written only then, and does not send the data to a device.
bool is_read_and_overwritten(const starpu_task& task, starpu_data_handle_t handle) {
    bool read = false, overwritten = false;
    for (unsigned k = 0; k < STARPU_TASK_GET_NBUFFERS(&task); ++k) {
        if (STARPU_TASK_GET_HANDLE(&task, k) != handle) continue;
        const int access = STARPU_TASK_GET_MODE(&task, k) & STARPU_RW;
        read = read || access == STARPU_R;
        overwritten = overwritten || access == STARPU_W;
    }
    return read && overwritten;
}

bool is_in_memory_of_worker(const starpu_task& task, unsigned k) {
    return !task.cl->specific_nodes || STARPU_CODELET_GET_NODE(task.cl, k) == STARPU_SPECIFIC_NODE_LOCAL;
}

}  // namespace

void BlockData::note_modes(const starpu_task& task) {
    const unsigned buffers = STARPU_TASK_GET_NBUFFERS(&task);
    for (unsigned k = 0; k < buffers; ++k) {
        const int mode = STARPU_TASK_GET_MODE(&task, k);
        const starpu_data_handle_t handle = STARPU_TASK_GET_HANDLE(&task, k);
        const bool written = (mode & (STARPU_W | STARPU_REDUX | STARPU_MPI_REDUX)) != 0;
        const auto its = std::ranges::find(handles, handle, &BlockHandle::handle);
        BlockHandle* const own = its == handles.end() ? nullptr : &*its;
        if (own) own->named = true;
        if (own && written) own->stored = true;
        if (changes_in_place(mode) && !(own && own->apart)) in_place = true;
        if (written && !is_in_memory_of_worker(task, k)) {
            elsewhere = true;
            own_memory = false;
        }
        if (own && (mode & (STARPU_REDUX | STARPU_MPI_REDUX)) != 0)
            problem =
                "the codelet's mode for data of the block alone is STARPU_REDUX; name the handle to which all blocks "
                "add, "
                "or let the codelet write them (STARPU_W)";
        if (own && (mode & STARPU_W) != 0 && !own->written && task.where != STARPU_NOWHERE)
            problem =
                "the codelet writes what the fill function names as STARPU_R; give apportion_block_vector and "
                "the like the codelet's mode";
        if (own && (mode & STARPU_RW) == STARPU_W && is_read_and_overwritten(task, handle))
            problem = "one task names the same data as STARPU_R and as STARPU_W; name them once, as STARPU_RW";
        if (written && !own && std::ranges::find(foreign, handle) == foreign.end()) foreign.push_back(handle);
    }
}

const char* BlockData::why_not_stored() const {
    const auto found =
        std::ranges::find_if(handles, [](const BlockHandle& h) { return h.written && !h.from_earlier && !h.stored; });
    if (found == handles.end()) return nullptr;
    return found->named
               ? "the fill function names as STARPU_W what the codelet only reads or has as scratch, so that a "
                 "device's results would be lost; give the codelet the mode in which it uses the data"
               : "no task has a handle that the fill function made for results; set it in task->handles (and where the "
                 "codelet's nbuffers is STARPU_VARIABLE_NBUFFERS, task->nbuffers and task->modes)";
}

bool BlockData::changed_by(const starpu_task& task) const {
    const unsigned buffers = STARPU_TASK_GET_NBUFFERS(&task);
    for (unsigned k = 0; k < buffers; ++k) {
        const int mode = STARPU_TASK_GET_MODE(&task, k);
        const BlockHandle* const own = find(STARPU_TASK_GET_HANDLE(&task, k));
        if (own && own->apart) continue;
        if (changes_in_place(mode) || (in_place && (mode & STARPU_W) != 0)) return true;
    }
    return false;
}

const char* BlockData::why_not_dropped(bool late_stores_are_equal) const {
    if (in_place) return "changes data in place";
    if (elsewhere) return "stores its results in a memory that it names (specific_nodes)";
    if (!foreign.empty()) return "writes handles of the application";
    if (earlier_results()) return "has results of an earlier run on the device";
    const bool writes = std::ranges::any_of(handles, &BlockHandle::written);
    return writes && (own_memory || apart || late_stores_are_equal) ? nullptr : "stores its results where others would";
}

namespace {

template <class Word>
void copy_words(std::byte* to, const std::byte* from, std::size_t bytes) {
    using Any [[gnu::may_alias]] = Word;
    for (std::size_t k = 0; k < bytes; k += sizeof(Word)) {
        const Any word = __atomic_load_n(reinterpret_cast<const Any*>(from + k), __ATOMIC_RELAXED);
        __atomic_store_n(reinterpret_cast<Any*>(to + k), word, __ATOMIC_RELAXED);
    }
}

/// By whole words: a core that is late may store its results meanwhile, where the application has promised that they
/// are the same (results_stay).
void copy_row(std::byte* to, const std::byte* from, std::size_t bytes) {
    const auto aligned = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | bytes;
    if (aligned % 8 == 0)
        copy_words<std::uint64_t>(to, from, bytes);
    else if (aligned % 4 == 0)
        copy_words<std::uint32_t>(to, from, bytes);
    else
        copy_words<std::uint8_t>(to, from, bytes);
}

enum class To { home, copy };

/// The data, between where the application has them and their copy.
void copy_data(const BlockHandle& h, To to) {
    const DataShape& s = h.shape;
    std::byte* const home = static_cast<std::byte*>(h.data);
    for (std::size_t z = 0; z < s.nz; ++z)
        for (std::size_t y = 0; y < s.ny; ++y) {
            const std::size_t row = (z * s.ldz + y * s.ldy) * s.element_size, bytes = s.nx * s.element_size;
            if (to == To::home)
                copy_row(home + row, h.copy + row, bytes);
            else
                copy_row(h.copy + row, home + row, bytes);
        }
}

}  // namespace

/// Results as well: what a codelet leaves as it is stays as it was.
void BlockData::make_copies(const starpu_task& task) {
    for (unsigned k = 0; k < STARPU_TASK_GET_NBUFFERS(&task); ++k) {
        const BlockHandle* h = find(STARPU_TASK_GET_HANDLE(&task, k));
        if (h && h->copy) std::call_once(*h->copied, [&] { copy_data(*h, To::copy); });
    }
}

bool BlockData::has_results_apart() const {
    return std::ranges::any_of(handles, [](const BlockHandle& h) { return h.copy && h.written; });
}

void BlockData::take_results_home() {
    for (const BlockHandle& h : handles) {
        if (!h.copy || !h.written) continue;
        bool untouched = false;  // by tasks, as all of them were parts without work
        std::call_once(*h.copied, [&] { untouched = true; });
        if (!untouched) copy_data(h, To::home);
    }
}

bool BlockData::stores_apart() const {
    return apart && !in_place && foreign.empty() && std::ranges::any_of(handles, &BlockHandle::written);
}

std::size_t BufferSizes::size(std::size_t place, std::size_t bytes, Units units, Units room) {
    const std::lock_guard lock(mutex_);
    std::size_t& known = bytes_[{place, room}];
    const double all = static_cast<double>(bytes) * (static_cast<double>(room) / static_cast<double>(units));
    const auto power_of_two = [](double size) { return std::exp2(std::ceil(std::log2(std::max(1.0, size)))); };
    const double enough = std::min(all, power_of_two(static_cast<double>(bytes)));
    known = std::max(known, static_cast<std::size_t>(enough));
    // Not all blocks have the same data there, nor do these have as many elements as there are units.
    return std::max(bytes, static_cast<std::size_t>(std::min(static_cast<double>(known), power_of_two(all))));
}

void BlockData::forget_results() {
    if (!own_memory && !apart) return;
    for (const BlockHandle& h : handles)
        if (h.written && !h.earlier()) starpu_data_invalidate_submit(h.handle);
}

namespace {

starpu_data_handle_t register_data(void* data, const DataShape& s, std::size_t allocated) {
    starpu_data_handle_t handle = nullptr;
    static std::byte nothing;  // drivers take no null pointer, even for no bytes
    const auto address = reinterpret_cast<uintptr_t>(data ? data : &nothing);
    switch (s.interface) {
        case DataShape::Interface::vector:
            starpu_vector_data_register_allocsize(&handle, STARPU_MAIN_RAM, address, s.nx, s.element_size, allocated);
            break;
        case DataShape::Interface::matrix:
            starpu_matrix_data_register_allocsize(&handle, STARPU_MAIN_RAM, address, s.ldy, s.nx, s.ny, s.element_size,
                                                  allocated);
            break;
        case DataShape::Interface::volume:
            starpu_block_data_register(&handle, STARPU_MAIN_RAM, address, s.ldy, s.ldz, s.nx, s.ny, s.nz,
                                       s.element_size);
            break;
    }
    return handle;
}

/// All of it that may need memory: nobody would unregister a handle that is made before there is a place for it.
BlockHandle without_handle(void* data, const DataShape& shape, bool apart, [[maybe_unused]] bool at_home) {
    BlockHandle made;
    made.data = data;
    made.shape = shape;
    made.apart = apart;
#ifndef STARPU_SIMGRID
    if (apart) {
        // Kernels may rely on how rows and the whole are aligned. Memory between rows is never touched.
        constexpr std::uintptr_t kPage = 4096;
        made.buffer = std::make_unique_for_overwrite<std::byte[]>(shape.extent() + kPage);
        const auto place = reinterpret_cast<std::uintptr_t>(data),
                   from = reinterpret_cast<std::uintptr_t>(made.buffer.get());
        made.copy = made.buffer.get() + (place - from) % kPage;
        made.copied = std::make_unique<std::once_flag>();
        // StarPU sends data to other memories before a task is about to run.
        if (!at_home) std::call_once(*made.copied, [&] { copy_data(made, To::copy); });
    }
#endif
    return made;
}

/// Apart where the block writes apart, if there is memory for that or it must be.
BlockHandle new_handle(BlockData& block, void* data, const DataShape& shape, bool writes) {
    const bool at_home = block.node == STARPU_MAIN_RAM;
    try {
        return without_handle(data, shape, writes && block.apart, at_home);
    } catch (const std::bad_alloc&) {
        if (!block.may_be_in_place) throw;
        block.apart = false;
        return without_handle(data, shape, false, at_home);
    }
}

/// Of the block's next handle. What is kept stays in its buffer.
std::size_t buffer_bytes(const BlockData& block, std::size_t bytes, bool keep) {
    return !block.buffers || keep ? bytes : block.buffers->size(block.handles.size(), bytes, block.units, block.room);
}

/// The handle of these data in this block, registered the first time they are named.
starpu_data_handle_t handle_of(apportion_block* block, int mode, void* data, const DataShape& shape) noexcept {
    if (!block) {
        set_error("a handle is asked for without a block: give `fill`'s");
        return nullptr;
    }
    BlockData& block_data = *static_cast<FillBlock*>(block)->data_of_block;
    auto& handles = block_data.handles;
    const bool writes = (mode & STARPU_W) != 0, reads = (mode & STARPU_R) != 0;
    const bool keep = (mode & APPORTION_KEEP) != 0 && block_data.stays;
    const auto refuse = [&](const char* why) -> starpu_data_handle_t {
        block_data.problem = why;
        return nullptr;
    };
    if ((!writes && !reads) || (mode & ~(STARPU_RW | APPORTION_KEEP)) != 0)
        return refuse(
            "a block's data are given with STARPU_R, STARPU_W or STARPU_RW; register scratch and redux handles with "
            "StarPU, and set them in the task");
    if (shape.element_size == 0) return refuse("its elements have 0 bytes; give the size of one");
#ifndef STARPU_SIMGRID
    if (!data && shape.bytes() > 0)
        return refuse("its data are at NULL; give the address in main memory of what the block reads or writes");
#endif
    const auto is_another_shape_of = [&](const BlockHandle& h) {
        const auto* const from = static_cast<const std::byte*>(data);
        const auto* const kept = static_cast<const std::byte*>(h.data);
        return h.from_earlier && from < kept + h.shape.extent() && kept < from + shape.extent();
    };
    auto known =
        std::ranges::find_if(handles, [&](const BlockHandle& h) { return h.data == data && h.shape == shape; });
    if (known == handles.end()) {
        if (std::ranges::any_of(handles, is_another_shape_of))
            return refuse(
                "it names data in another shape than the submission before, whose results stay on a device "
                "(APPORTION_KEEP); call apportion_load_release before shapes change");
        constexpr auto kMost = std::numeric_limits<std::uint32_t>::max();
        if (std::max({shape.nx, shape.ny, shape.nz, shape.ldy, shape.ldz}) > kMost)
            return refuse(
                "StarPU's handles have at most 2^32 - 1 elements a dimension, and these data have more; use larger "
                "elements (a struct for a unit), or a matrix or volume with a unit for each row or plane");
        if (shape.overlaps_itself())
            return refuse(
                "a row has more elements than there are to the next one (ld, ldy), or a plane to the next one (ldz)");
        if (!shape.fits_in_memory())
            return refuse("its data have more bytes than memory has addresses; a number of elements is wrong");
        try {
            const std::size_t allocated = buffer_bytes(block_data, shape.bytes(), keep);
            known = handles.insert(handles.end(), new_handle(block_data, data, shape, writes));
            known->handle = register_data(known->copy ? known->copy : data, shape, allocated);
        } catch (const std::bad_alloc&) {
            block_data.lacks_memory = true;
            return refuse("there is no memory for its results");
        }
    }
    if (known->first == BlockHandle::First::none) {
        known->first = writes && !reads ? BlockHandle::First::overwrites : BlockHandle::First::reads;
        known->keep = keep;
    } else {
        if (writes && known->first == BlockHandle::First::reads && !known->apart) block_data.in_place = true;
        known->keep = known->keep || keep;
    }
    known->written = known->written || writes;
    return known->handle;
}

}  // namespace
}  // namespace apportion

using apportion::DataShape;

extern "C" {

starpu_data_handle_t apportion_block_vector(apportion_block* block, int mode, void* data, size_t elements,
                                            size_t element_size) {
    return apportion::handle_of(block, mode, data,
                                {DataShape::Interface::vector, elements, 1, 1, elements, 0, element_size});
}

starpu_data_handle_t apportion_block_matrix(apportion_block* block, int mode, void* data, size_t ld, size_t nx,
                                            size_t ny, size_t element_size) {
    return apportion::handle_of(block, mode, data, {DataShape::Interface::matrix, nx, ny, 1, ld, 0, element_size});
}

starpu_data_handle_t apportion_block_volume(apportion_block* block, int mode, void* data, size_t ldy, size_t ldz,
                                            size_t nx, size_t ny, size_t nz, size_t element_size) {
    return apportion::handle_of(block, mode, data, {DataShape::Interface::volume, nx, ny, nz, ldy, ldz, element_size});
}

}  // extern "C"
