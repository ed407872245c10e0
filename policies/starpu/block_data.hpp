// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The data handles of one block: registered by apportion_block_vector() and its like while the application fills a
// block's tasks, kept in the block until the engine has brought the results home.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "policies/policy.hpp"
#include "policies/starpu/apportion.h"

namespace apportion {

/// Data in main memory, in elements: nx contiguous, ny rows of stride ldy, nz planes of stride ldz.
struct DataShape {
    enum class Interface { vector, matrix, volume };

    Interface interface = Interface::vector;
    std::size_t nx = 0, ny = 1, nz = 1;
    std::size_t ldy = 0, ldz = 0;
    std::size_t element_size = 0;

    std::size_t bytes() const { return nx * ny * nz * element_size; }
    /// From its first byte to behind its last one.
    std::size_t extent() const { return bytes() == 0 ? 0 : ((nz - 1) * ldz + (ny - 1) * ldy + nx) * element_size; }
    /// Whether memory can hold it, so that the number of its bytes is right. Only where it does not overlap itself.
    bool fits_in_memory() const;
    /// StarPU ends the program then.
    bool overlaps_itself() const {
        return ldy < nx || (interface == Interface::volume && (ldy == 0 || ldz / ldy < ny));
    }
    bool operator==(const DataShape&) const = default;
};

struct BlockHandle {
    starpu_data_handle_t handle = nullptr;
    void* data = nullptr;  ///< the application's memory
    DataShape shape;
    /// What the first task of this run that names it does with it.
    enum class First { none, reads, overwrites };

    First first = First::none;
    bool written = false;       ///< since it was registered
    bool from_earlier = false;  ///< written in an earlier run
    bool stored = false;        ///< a task of this run writes it, by its mode
    bool named = false;         ///< ... or has it at all
    bool keep = false;          ///< as the tasks of this run ask; where none names it, those of earlier ones
    bool apart = false;         ///< tasks have a copy of `data` with the same gaps, until what they wrote counts, ...
    std::unique_ptr<std::byte[]> buffer = {};     ///< ... in here; none on simulated machines
    std::byte* copy = nullptr;                    ///< as far from the begin of a page as `data`
    std::unique_ptr<std::once_flag> copied = {};  ///< before the first of them begins

    /// Whether it is a result of an earlier run that this one needs.
    bool earlier() const { return from_earlier && first != First::overwrites; }
};

/// In bytes, the buffers on a device of blocks that take as much room, whatever their units: in each place (the first
/// handle that `fill` asks for, the second, ...) as large as the largest so far and the next power of two, but not
/// larger than the room means.
class BufferSizes {
  public:
    std::size_t size(std::size_t place, std::size_t bytes, Units units, Units room);

  private:
    std::mutex mutex_;  ///< several threads fill tasks
    std::map<std::pair<std::size_t, Units>, std::size_t> bytes_;
};

struct BlockData {
    Units first = 0;
    Units units = 0;
    std::size_t lanes = 1;            ///< workers whose tasks divide the units, each with handles of its own
    unsigned node = STARPU_MAIN_RAM;  ///< the memory that its tasks use, or the last ones did
    bool own_memory = false;          ///< ... is a device's own
    std::list<BlockHandle> handles;   ///< a list: they keep their addresses
    double bytes_gone = 0;            ///< of kept data: of the handles that were not kept
    bool in_place = false;  ///< a task changes data at home, or on a device, that it or another task of the block reads
    std::vector<starpu_data_handle_t> foreign;  ///< of the application's own handles those that tasks write
    bool stays = true;                          ///< false for pieces and in open loads: nothing of it is kept
    bool apart = false;                         ///< what it writes is written apart from the application's memory
    bool may_be_in_place = false;               ///< if there is no memory for that
    bool elsewhere = false;                     ///< a task stores in another memory than its worker's (specific_nodes)
    BufferSizes* buffers = nullptr;             ///< of its device; null: as large as the data
    Units room = 0;                             ///< in units, of its buffers
    const char* problem = nullptr;              ///< why a handle could not be made, or is not what the task needs
    bool lacks_memory = false;                  ///< that is the problem

    /// These data stayed since an earlier run and are used again.
    void use_again();
    /// No task of this run has touched them.
    void forget_tasks();
    const BlockHandle* find(starpu_data_handle_t handle) const;
    /// Whether results of an earlier run may be on the device alone.
    bool earlier_results() const;

    /// Notes how a task of the block uses its data; a problem, if it writes some that were named as only read.
    void note_modes(const starpu_task& task);
    /// Why data that this run named as written are written by none of the block's tasks that were noted; null: all are.
    const char* why_not_stored() const;
    /// Whether the task, when it ran, changed data that cannot be computed again.
    bool changed_by(const starpu_task& task) const;

    /// Why the block must not be computed elsewhere while its tasks may still store, as what the codelet does; null: it
    /// may, because these stores can be kept from the application's memory, or are equal there.
    const char* why_not_dropped(bool late_stores_are_equal) const;

    /// Whether nothing that its tasks store can reach the application's main memory before it is taken home.
    bool stores_apart() const;
    /// Fills the copies that the task has, if no other task of the block has done so: by the worker that is about to
    /// run it, without the run's lock.
    void make_copies(const starpu_task& task);
    /// Whether results were written apart, ...
    bool has_results_apart() const;
    /// ... and copies them to where they belong.
    void take_results_home();
    /// Results of this run on a device, or apart, are forgotten as soon as no task uses them: StarPU does not write
    /// them home.
    void forget_results();
};

/// What the application's fill function gets: the public fields, and where the handles go.
struct FillBlock : apportion_block {
    BlockData* data_of_block = nullptr;
};

/// Whether an access in this mode needs the data as they were.
bool changes_in_place(int mode);

/// Of the data that the task must have in one memory at once.
std::size_t bytes_of(const starpu_task& task);

/// Whether the application's fill function has set all handles that the task's codelet wants.
bool has_all_handles(const starpu_task& task);

}  // namespace apportion
