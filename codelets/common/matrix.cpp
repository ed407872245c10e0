// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/common/matrix.hpp"

#include <fmt/format.h>
#include <starpu.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <limits>
#include <utility>

#include "codelets/common/flavour.hpp"
#include "codelets/common/random.hpp"
#include "models/io/user_error.hpp"

namespace apportion {

namespace {

// StarPU's matrix interface counts in 32 bits, BLAS in signed ones.
constexpr std::size_t kMaxDimension = std::numeric_limits<std::int32_t>::max() - 64;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kPadding_bytes = 64;

std::size_t leading_dimension(ElementType type, std::size_t rows) {
    const std::size_t size = element_size(type);
    // Complex columns all begin at a cache line, so that vector instructions find them alike.
    constexpr std::size_t kLine_bytes = 64;
    if (is_complex(type)) rows = (rows * size + kLine_bytes - 1) / kLine_bytes * (kLine_bytes / size);
    return rows * size % kPage == 0 ? rows + kPadding_bytes / size : rows;
}

double gib(std::size_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

template <class T>
void fill(Matrix& matrix, T (*value)(std::uint64_t key), std::uint64_t seed) {
    const std::size_t rows = matrix.rows() * (is_complex(matrix.type()) ? 2 : 1);
    matrix.for_each_column<T>([&](T* column, std::size_t j) {
        const std::uint64_t base = seed * kSplitMixStep + j * std::uint64_t{rows};
        for (std::size_t i = 0; i < rows; ++i) column[i] = value(base + i);
    });
}

template <class T>
T uniform(std::uint64_t key) {
    // 24 bits are exact in both types, so that float and double runs multiply the same matrices.
    return static_cast<T>(static_cast<std::int64_t>(mix(key) >> 40) - (1 << 23)) / static_cast<T>(1 << 23);
}

template <class T>
T nan_value(std::uint64_t) {
    return std::numeric_limits<T>::quiet_NaN();
}

}  // namespace

bool is_complex(ElementType type) { return type == ElementType::complex64 || type == ElementType::complex128; }

std::size_t real_size(ElementType type) {
    return type == ElementType::float32 || type == ElementType::complex64 ? sizeof(float) : sizeof(double);
}

std::size_t element_size(ElementType type) { return real_size(type) * (is_complex(type) ? 2 : 1); }

std::size_t matrix_bytes(ElementType type, std::size_t rows, std::size_t columns) {
    if (rows > kMaxDimension || columns > kMaxDimension)
        throw UserError(
            "a matrix of {} x {} is too large: StarPU and BLAS count rows and columns in 31 bits; use at most {}", rows,
            columns, kMaxDimension);
    std::size_t bytes = leading_dimension(type, rows) * element_size(type);
    if (__builtin_mul_overflow(bytes, columns, &bytes) || bytes > std::numeric_limits<std::ptrdiff_t>::max() / 8)
        throw UserError("a matrix of {} x {} does not fit any address space", rows, columns);
    return bytes;
}

Matrix::Matrix(ElementType type, std::size_t rows, std::size_t columns)
    : type_(type),
      rows_(rows),
      columns_(columns),
      ld_(leading_dimension(type, rows)),
      bytes_(matrix_bytes(type, rows, columns)) {
    if (bytes_ == 0) throw UserError("a matrix of {} x {} has no elements", rows, columns);
    const int protection = kSimulated ? PROT_NONE : PROT_READ | PROT_WRITE;
    data_ = mmap(nullptr, bytes_, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data_ == MAP_FAILED)
        throw UserError("no memory for a matrix of {} x {} ({:.1f} GiB)", rows, columns, gib(bytes_));
    madvise(data_, bytes_, MADV_HUGEPAGE);  // fewer page faults and TLB misses; without effect where not available
}

Matrix::~Matrix() {
    if (!data_) return;
    unpin();
    munmap(data_, bytes_);
}

Matrix::Matrix(Matrix&& other) noexcept
    : type_(other.type_),
      rows_(other.rows_),
      columns_(other.columns_),
      ld_(other.ld_),
      bytes_(other.bytes_),
      data_(std::exchange(other.data_, nullptr)),
      pinned_(std::exchange(other.pinned_, false)) {}

PinnedMatrix Matrix::pin() {
    pinned_ = pinned_ || pin_memory(data_, bytes_);
    return PinnedMatrix(this);
}

void Matrix::unpin() {
    if (std::exchange(pinned_, false)) unpin_memory(data_, bytes_);
}

void Unpin::operator()(Matrix* matrix) const { matrix->unpin(); }

void fill_random(Matrix& matrix, std::uint64_t seed) {
    if (!kSimulated) by_real_type(matrix.type(), [&]<class T>() { fill<T>(matrix, uniform<T>, mix(seed)); });
}

void fill_nan(Matrix& matrix) {
    if (!kSimulated) by_real_type(matrix.type(), [&]<class T>() { fill<T>(matrix, nan_value<T>, 0); });
}

void require_free_memory(std::size_t bytes, const std::string& what) {
    if (kSimulated) return;
    std::ifstream file("/proc/meminfo");
    std::string key;
    std::size_t kib = 0;
    while (file >> key && key != "MemAvailable:") file.ignore(256, '\n');
    if (!(file >> kib)) return;  // an old kernel: mmap or the OOM killer will tell
    if (bytes > kib * 1024)
        throw UserError("{} need {:.1f} GiB, but this machine has only {:.1f} GiB free; choose a smaller size", what,
                        gib(bytes), gib(kib * 1024));
}

bool pin_memory(void* data, std::size_t bytes) {
    if (kSimulated || starpu_cuda_worker_get_count() == 0) return false;
    if (starpu_memory_pin(data, bytes) == 0) return true;
    static std::atomic<bool> told = false;
    if (!told.exchange(true))
        fmt::print(stderr,
                   "{:.1f} MiB of main memory cannot be pinned, so that transfers to GPUs take several times as long; "
                   "results are right all the same, but choose a smaller problem or free memory for full speed\n",
                   static_cast<double>(bytes) / (1 << 20));
    return false;
}

void unpin_memory(void* data, std::size_t bytes) { starpu_memory_unpin(data, bytes); }

}  // namespace apportion
