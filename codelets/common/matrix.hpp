// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A dense column-major matrix in main memory, of real or complex floats or doubles: what the linear-algebra codelets
// and their apps share. In the simulated flavour nothing is computed and a matrix is only a range of addresses, so that
// sizes far beyond the machine's memory can be simulated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

namespace apportion {

enum class ElementType { float32, float64, complex64, complex128 };  ///< named as NumPy does, by their bits

std::size_t element_size(ElementType type);
bool is_complex(ElementType type);
/// Bytes of a real number of that type: of one part of a complex one.
std::size_t real_size(ElementType type);

/// "float" or "double": of the type's real numbers.
inline const char* real_name(ElementType type) { return real_size(type) == sizeof(float) ? "float" : "double"; }
/// The real type of that name.
inline ElementType real_type(std::string_view name) {
    return name == "float" ? ElementType::float32 : ElementType::float64;
}

class Matrix;
/// See Matrix::pin().
struct Unpin {
    void operator()(Matrix* matrix) const;
};
using PinnedMatrix = std::unique_ptr<Matrix, Unpin>;

class Matrix {
  public:
    /// Zeroed. Throws UserError when memory does not suffice.
    Matrix(ElementType type, std::size_t rows, std::size_t columns);
    ~Matrix();
    Matrix(Matrix&& other) noexcept;
    Matrix& operator=(Matrix&&) = delete;

    ElementType type() const { return type_; }
    std::size_t rows() const { return rows_; }
    std::size_t columns() const { return columns_; }
    /// Elements from column to column: padded where columns a power of two apart would share cache sets.
    std::size_t ld() const { return ld_; }

    void* at(std::size_t row, std::size_t column) {
        return static_cast<char*>(data_) + (row + column * ld_) * element_size(type_);
    }
    const void* at(std::size_t row, std::size_t column) const { return const_cast<Matrix*>(this)->at(row, column); }

    /// The first element of a column.
    template <class T>
    const T* column(std::size_t j = 0) const {
        return static_cast<const T*>(at(0, j));
    }

    /// Makes the memory known to the devices, so that transfers are fast, until what is returned ends, while StarPU
    /// must be running. Says so when it cannot, see pin_memory().
    PinnedMatrix pin();
    void unpin();

    /// Calls body(first element of a column as T*) for all columns.
    template <class T, class Body>
    void for_each_column(Body&& body) {
        for (std::size_t j = 0; j < columns_; ++j) body(static_cast<T*>(at(0, j)), j);
    }

  private:
    ElementType type_;
    std::size_t rows_, columns_, ld_;
    std::size_t bytes_ = 0;
    void* data_ = nullptr;
    bool pinned_ = false;
};

/// Calls body.operator()<T>() for a type of real numbers of so many bytes.
template <class Body>
auto by_real_size(std::size_t bytes, Body&& body) {
    return bytes == sizeof(float) ? body.template operator()<float>() : body.template operator()<double>();
}

/// The same for those that elements are, or, where they are complex, consist of.
template <class Body>
auto by_real_type(ElementType type, Body&& body) {
    return by_real_size(real_size(type), body);
}

/// Of a real type: std::numeric_limits<T>::epsilon().
inline double epsilon(ElementType type) {
    return by_real_type(type, []<class T>() -> double { return std::numeric_limits<T>::epsilon(); });
}

/// Of a real matrix.
inline double element(const Matrix& matrix, std::size_t row, std::size_t column) {
    return by_real_type(matrix.type(),
                        [&]<class T>() -> double { return *static_cast<const T*>(matrix.at(row, column)); });
}

/// Every element (both parts of a complex one) uniform in [-1, 1), a function of seed, row and column only.
void fill_random(Matrix& matrix, std::uint64_t seed);

/// Every element not-a-number, so that a result that is never written is seen.
void fill_nan(Matrix& matrix);

/// Bytes that a matrix of these sizes takes; throws UserError when no memory could hold it.
std::size_t matrix_bytes(ElementType type, std::size_t rows, std::size_t columns);

/// Throws UserError when this machine has less free memory. The simulated flavour has room for everything.
void require_free_memory(std::size_t bytes, const std::string& what);

/// Pins the memory where StarPU, which must run, has CUDA workers: they copy from and to it at the full speed of the
/// bus and while the worker does something else. Returns whether it is pinned; then unpin_memory() is due while StarPU
/// still runs. The first time that it cannot be, one sentence on standard error says so: results are right, but
/// transfers slow.
bool pin_memory(void* data, std::size_t bytes);
void unpin_memory(void* data, std::size_t bytes);

}  // namespace apportion
