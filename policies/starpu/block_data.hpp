// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The data handles of one block: registered by apportion_block_vector() and its like while the application fills a
// block's tasks, kept in the block until the engine has brought the results home.
#pragma once

#include <vector>

#include "policies/policy.hpp"
#include "policies/starpu/apportion.h"

namespace apportion {

struct BlockHandle {
    starpu_data_handle_t handle = nullptr;
    const void* data = nullptr;
    size_t dimensions[6] = {};  ///< of the interface, to recognise the same data
    bool written = false;
    bool keep = false;
    bool results_of_earlier_run = false;  ///< it stayed where it was written: main memory may not have them
};

struct BlockData {
    Units first = 0;
    Units units = 0;
    std::vector<BlockHandle> handles;
    bool reads_earlier_results = false;  ///< a task reads what an earlier run wrote and left there

    /// These data stayed since an earlier run and are used again.
    void use_again();
    bool any_kept() const;
    bool contains(starpu_data_handle_t handle) const;
};

/// What the application's fill function gets: the public fields, and where the handles go.
struct FillBlock : apportion_block {
    BlockData* data_of_block = nullptr;
};

/// Whether an access in this mode needs the data as they were.
bool changes_in_place(int mode);

/// Whether the application's fill function has set all handles that the task's codelet wants.
bool has_all_handles(const starpu_task& task);

}  // namespace apportion
