// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/fft2d/fft_rows.hpp"

#include <fmt/format.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <complex>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "codelets/fft2d/fftw.hpp"
#include "models/io/files.hpp"

namespace apportion {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kScratch_bytes = 256 * 1024;  ///< of a batch: fits a second-level cache
constexpr std::size_t kLine_bytes = 64;
constexpr std::size_t kMostRows = 32;
constexpr std::size_t kPage_bytes = 4096;

/// FFTW's planner and its wisdom are common to the process.
std::mutex planner;

/// A larger matrix is written past the caches: it would not be found there when it is read.
std::size_t largest_cached_bytes() {
    constexpr std::size_t kUsual = 16 << 20;
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return cache > 0 ? static_cast<std::size_t>(cache) / 2 : kUsual;
}

/// A complex number into memory, by a way that reads no cache line which will be overwritten as a whole anyway. Without
/// such an instruction: the ordinary way.
void stream(std::complex<double>* to, double real, double imaginary) {
#ifdef __SSE2__
    _mm_stream_pd(reinterpret_cast<double*>(to), _mm_setr_pd(real, imaginary));
#else
    *to = {real, imaginary};
#endif
}

void stream(std::complex<float>* to, float real, float imaginary) {
#ifdef __SSE2__
    const auto both = std::bit_cast<long long>(std::array{real, imaginary});
    _mm_stream_si64(reinterpret_cast<long long*>(to), both);
#else
    *to = {real, imaginary};
#endif
}

/// Makes what was streamed visible to other cores before the block is reported as finished.
void end_of_stream() {
#ifdef __SSE2__
    _mm_sfence();
#endif
}

template <class T>
struct Free {
    void operator()(void* memory) const { Fftw<T>::free(memory); }
};
template <class T>
using Buffer = std::unique_ptr<std::complex<T>[], Free<T>>;

template <class T>
Buffer<T> allocate(std::size_t elements) {
    Buffer<T> buffer(static_cast<std::complex<T>*>(Fftw<T>::malloc(elements * sizeof(std::complex<T>))));
    if (!buffer) throw std::runtime_error(fmt::format("no memory for a batch of rows ({} elements)", elements));
    std::fill_n(buffer.get(), elements, std::complex<T>());
    return buffer;
}

template <class T>
class Rows final : public FftRows {
  public:
    explicit Rows(const FftRowsOptions& options);
    ~Rows() override;
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;

    void run(int worker, const void* in, std::size_t in_ld, void* out, std::size_t out_ld, std::size_t rows) override;
    std::size_t batch() const override { return batch_; }

  private:
    using Complex = std::complex<T>;

    void make_plans();
    void add_plans();
    void transform(const Complex* in, std::size_t in_ld, Complex* scratch, std::size_t rows) const;
    template <bool kStream>
    void store(const Complex* scratch, Complex* out, std::size_t out_ld, std::size_t rows) const;

    FftRowsOptions options_;
    std::size_t batch_ = 1;
    std::size_t stride_ = 0;  ///< elements from row to row of the scratch buffer
    T scale_ = 1;
    std::size_t cached_bytes_ = largest_cached_bytes();
    std::vector<typename Fftw<T>::Plan> plans_;  ///< for 2^k rows
    std::vector<Buffer<T>> scratch_;             ///< per worker: a batch and one more row; each touches its own only
};

/// Whole cache lines, but no two rows at the same place of a page.
std::size_t scratch_stride(std::size_t length, std::size_t element_bytes) {
    const std::size_t lines = (length * element_bytes + kLine_bytes - 1) / kLine_bytes;
    const std::size_t padded = lines * kLine_bytes % kPage_bytes == 0 ? lines + 1 : lines;
    return padded * (kLine_bytes / element_bytes);
}

template <class T>
Rows<T>::Rows(const FftRowsOptions& options) : options_(options), scratch_(options.workers) {
    const std::size_t row_bytes = std::max<std::size_t>(options.length * sizeof(Complex), 1);
    batch_ = std::clamp(std::bit_floor(std::max<std::size_t>(kScratch_bytes / row_bytes, 1)),
                        kLine_bytes / sizeof(Complex), kMostRows);
    stride_ = scratch_stride(options.length, sizeof(Complex));
    if (options.inverse) scale_ = 1 / static_cast<T>(options.length);
    make_plans();
}

template <class T>
Rows<T>::~Rows() {
    const std::lock_guard lock(planner);
    for (const auto& plan : plans_) Fftw<T>::destroy(plan);
}

template <class T>
void Rows<T>::make_plans() {
    const std::lock_guard lock(planner);
    Fftw<T>::forget_wisdom();  // it would make measured plans of estimated ones
    if (options_.planning == FftPlanning::estimate) return add_plans();
    std::error_code ignored;
    std::string file;  // stays empty for a user without a folder to keep wisdom in
    try {
        file = fft_wisdom_file(Fftw<T>::kWisdomName);
    } catch (const FileError&) {
    }
    // A file that is missing or from another FFTW is written anew.
    if (fs::is_regular_file(file, ignored)) Fftw<T>::import_wisdom(file.c_str());
    add_plans();
    if (file.empty()) return;
    fs::create_directories(fs::path(file).parent_path(), ignored);
    try {
        NewFile kept(file);
        Fftw<T>::export_wisdom(kept.stream());
        kept.finish();
    } catch (const std::runtime_error&) {
        // Wisdom that cannot be kept costs the next run some seconds and nothing else.
    }
}

/// Under the planner's lock.
template <class T>
void Rows<T>::add_plans() {
    // Planning overwrites what it measures on.
    const Buffer<T> in = allocate<T>(options_.in_ld * batch_), out = allocate<T>(stride_ * batch_);
    const int length = static_cast<int>(options_.length);
    for (std::size_t rows = 1; rows <= batch_; rows *= 2) {
        plans_.push_back(Fftw<T>::plan_many(1, &length, static_cast<int>(rows), Fftw<T>::complex(in.get()), nullptr, 1,
                                            static_cast<int>(options_.in_ld), Fftw<T>::complex(out.get()), nullptr, 1,
                                            static_cast<int>(stride_), options_.inverse ? FFTW_BACKWARD : FFTW_FORWARD,
                                            fftw_flags(options_.planning) | FFTW_PRESERVE_INPUT));
        if (!plans_.back()) throw std::runtime_error(fmt::format("FFTW has no plan for rows of length {}", length));
    }
}

/// One batch of 2^k rows into the scratch buffer.
template <class T>
void Rows<T>::transform(const Complex* in, std::size_t in_ld, Complex* scratch, std::size_t rows) const {
    const auto complex = Fftw<T>::complex;
    const bool aligned = Fftw<T>::alignment_of(reinterpret_cast<T*>(complex(in))) == 0;
    if (in_ld == options_.in_ld && aligned)
        return Fftw<T>::execute(plans_[std::countr_zero(rows)], complex(in), complex(scratch));
    // A copy of the block that StarPU made elsewhere, with its own distance between the rows.
    Complex* const row = scratch + stride_ * batch_;
    for (std::size_t i = 0; i < rows; ++i) {
        std::memcpy(static_cast<void*>(row), in + i * in_ld, options_.length * sizeof(Complex));
        Fftw<T>::execute(plans_[0], complex(row), complex(scratch + i * stride_));
    }
}

/// The batch's rows as columns.
template <class T>
template <bool kStream>
void Rows<T>::store(const Complex* scratch, Complex* out, std::size_t out_ld, std::size_t rows) const {
    const T scale = scale_;
    for (std::size_t j = 0; j < options_.length; ++j) {
        const Complex* from = scratch + j;
        Complex* const to = out + j * out_ld;
        for (std::size_t i = 0; i < rows; ++i, from += stride_)
            if constexpr (kStream)
                stream(to + i, scale * from->real(), scale * from->imag());
            else
                to[i] = {scale * from->real(), scale * from->imag()};
    }
}

template <class T>
void Rows<T>::run(int worker, const void* in, std::size_t in_ld, void* out, std::size_t out_ld, std::size_t rows) {
    Buffer<T>& scratch = scratch_.at(static_cast<std::size_t>(worker));
    if (!scratch) scratch = allocate<T>(stride_ * (batch_ + 1));
    const bool streamed = out_ld * options_.length * sizeof(Complex) > cached_bytes_;
    for (std::size_t first = 0; first < rows;) {
        const std::size_t some = std::min(batch_, std::bit_floor(rows - first));
        transform(static_cast<const Complex*>(in) + first * in_ld, in_ld, scratch.get(), some);
        if (streamed)
            store<true>(scratch.get(), static_cast<Complex*>(out) + first, out_ld, some);
        else
            store<false>(scratch.get(), static_cast<Complex*>(out) + first, out_ld, some);
        first += some;
    }
    if (streamed) end_of_stream();
}

}  // namespace

std::unique_ptr<FftRows> make_fft_rows(const FftRowsOptions& options) {
    if (options.type == ElementType::complex64) return std::make_unique<Rows<float>>(options);
    return std::make_unique<Rows<double>>(options);
}

std::string fft_wisdom_file(const std::string& name) {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    return cache_folder() / fmt::format("{}-{}", name, host);
}

}  // namespace apportion
