// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/mpi/transfer_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace apportion {

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 23;

[[noreturn]] void fail(const char* function) {
    throw std::runtime_error(
        fmt::format("memory for simulated messages: {} failed: {}", function, std::strerror(errno)));
}

}  // namespace

void* TransferMemory::of(void*) {
    if (memory_) return memory_;
    const int file = memfd_create("apportion messages", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, kPiece) != 0) fail("memfd_create");
    void* const all = mmap(nullptr, kLargestMessage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) fail("mmap");
    for (std::size_t at = 0; at < kLargestMessage; at += kPiece)
        if (mmap(static_cast<char*>(all) + at, kPiece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) ==
            MAP_FAILED)
            fail("mmap");
    close(file);
    return memory_ = all;
}

TransferMemory::~TransferMemory() {
    if (memory_) munmap(memory_, kLargestMessage);
}

}  // namespace apportion
