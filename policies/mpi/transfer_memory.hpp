// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where data that travel between nodes lie: in the application's arrays. In a simulation StarPU-MPI really moves the
// bytes between ranks of one process, and the arrays of all ranks would take the memory of all nodes: there one piece
// of memory, mapped again and again, stands for all arrays, because nothing is computed from them.
#pragma once

#include <starpu_config.h>  // STARPU_SIMGRID

namespace apportion {

#ifdef STARPU_SIMGRID

class TransferMemory {
  public:
    static constexpr bool kFolded = true;

    TransferMemory() = default;
    ~TransferMemory();
    TransferMemory(const TransferMemory&) = delete;
    TransferMemory& operator=(const TransferMemory&) = delete;

    /// For the largest message.
    void* of(void* array);

  private:
    void* memory_ = nullptr;
};

#else

class TransferMemory {
  public:
    static constexpr bool kFolded = false;
    void* of(void* array) const { return array; }
};

#endif

/// StarPU-MPI 1.4 counts a message's bytes in an int; half of that keeps every part of it well below.
inline constexpr unsigned long kLargestMessage = 1UL << 30;

}  // namespace apportion
