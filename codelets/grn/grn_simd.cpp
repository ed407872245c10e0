// SPDX-License-Identifier: LGPL-2.1-or-later
// Compiled once per instruction set. Targets are searched a few at a time, so that what pairs of predictors have in
// common is counted once for all of them.
#include <limits>

#include "codelets/grn/grn_kernels.hpp"

namespace apportion::APPORTION_ISA {

namespace {

constexpr std::size_t kTile = 8;  ///< targets

/// Memory for numbers; a library's container would be compiled for this instruction set and linked into other code.
template <class T>
class Buffer {
  public:
    explicit Buffer(std::size_t size) : data_(new T[size]()) {}
    ~Buffer() { delete[] data_; }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    T* at(std::size_t i) { return data_ + i; }

  private:
    T* data_;
};

/// Samples in both sets, W words long.
template <int W>
std::int32_t common(const std::uint64_t* x, const std::uint64_t* y, std::size_t words) {
    std::int32_t n = 0;
    for (std::size_t w = 0; w < (W > 0 ? W : words); ++w) n += samples_in(x[w] & y[w]);
    return n;
}

template <int L, int W>
class Search {
  public:
    Search(const GrnBlock& block, const GrnParameters& parameters)
        : rule_(block.rule),
          candidates_(block.candidates),
          words_(W > 0 ? W : parameters.words()),
          count_(parameters.candidates),
          of_candidate_(count_ * L),
          with_target_(count_ * kTile * kInner * kInner),
          pair_(kInner * kInner * words_) {
        for (std::size_t c = 0; c < count_; ++c) count_levels(bits(c), of_candidate_.at(c * L));
    }

    void tile(const std::uint64_t* targets, std::size_t target_words, std::size_t count, PredictorSet* results) {
        start(targets, target_words, count, results);
        for (std::size_t a = 0; a + 1 < count_; ++a)
            for (std::size_t b = a + 1; b < count_; ++b) search_with(a, b, results);
    }

  private:
    static constexpr int kInner = L - 1;  ///< levels that have bit sets

    const std::uint64_t* bits(std::size_t candidate) const { return candidates_ + candidate * kInner * words_; }
    std::uint16_t* with_target(std::size_t candidate, std::size_t target) {
        return with_target_.at((candidate * kTile + target) * kInner * kInner);
    }

    void count_levels(const std::uint64_t* gene, std::int32_t* counts) const {
        counts[0] = static_cast<std::int32_t>(rule_.samples);
        for (int k = 1; k < L; ++k)
            counts[0] -= counts[k] = common<W>(gene + (k - 1) * words_, gene + (k - 1) * words_, words_);
    }

    void start(const std::uint64_t* targets, std::size_t target_words, std::size_t count, PredictorSet* results) {
        targets_ = count;
        for (std::size_t t = 0; t < count; ++t) {
            const std::uint64_t* const record = targets + t * target_words;
            excluded_[t] = static_cast<std::uint32_t>(record[0]);
            target_[t] = record + 1;
            count_levels(target_[t], of_target_[t]);
            results[t] = {kNoGene, kNoGene, std::numeric_limits<double>::infinity()};
            for (std::size_t c = 0; c < count_; ++c)
                for (int i = 0; i < kInner; ++i)
                    for (int k = 0; k < kInner; ++k)
                        with_target(c, t)[i * kInner + k] = static_cast<std::uint16_t>(
                            common<W>(bits(c) + i * words_, target_[t] + k * words_, words_));
        }
    }

    /// Scores predictors a and b for all targets of the tile.
    void search_with(std::size_t a, std::size_t b, PredictorSet* results) {
        const std::uint64_t* const a_bits = bits(a);
        const std::uint64_t* const b_bits = bits(b);
        Marginals<L> m;
        for (int i = 1; i < L; ++i) {
            m.a[i] = of_candidate_.at(a * L)[i];
            m.b[i] = of_candidate_.at(b * L)[i];
            for (int j = 1; j < L; ++j) {
                std::uint64_t* const both = pair_.at(((i - 1) * kInner + j - 1) * words_);
                m.ab[i][j] = 0;
                for (std::size_t w = 0; w < (W > 0 ? W : words_); ++w) {
                    both[w] = a_bits[(i - 1) * words_ + w] & b_bits[(j - 1) * words_ + w];
                    m.ab[i][j] += samples_in(both[w]);
                }
            }
        }
        m.b[0] = of_candidate_.at(b * L)[0];
        for (std::size_t t = 0; t < targets_; ++t) {
            const double s = score_for(t, a, b, m);
            if (s >= results[t].score || a == excluded_[t] || b == excluded_[t]) continue;
            results[t] = {static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b), s};
        }
    }

    double score_for(std::size_t t, std::size_t a, std::size_t b, Marginals<L>& m) {
        const std::uint16_t* const at = with_target(a, t);
        const std::uint16_t* const bt = with_target(b, t);
        std::int32_t abt[L][L][L];
        for (int i = 1; i < L; ++i)
            for (int k = 1; k < L; ++k) {
                m.at[i][k] = at[(i - 1) * kInner + k - 1];
                m.bt[i][k] = bt[(i - 1) * kInner + k - 1];
                for (int j = 1; j < L; ++j)
                    abt[i][j][k] =
                        common<W>(pair_.at(((i - 1) * kInner + j - 1) * words_), target_[t] + (k - 1) * words_, words_);
            }
        for (int k = 0; k < L; ++k) m.t[k] = of_target_[t][k];
        return score<L>(rule_, complete<L>(m, abt));
    }

    const ScoreRule rule_;
    const std::uint64_t* const candidates_;
    const std::size_t words_, count_;
    Buffer<std::int32_t> of_candidate_;  ///< [candidate][level]: samples
    Buffer<std::uint16_t> with_target_;  ///< [candidate][target][i][k]: samples in both
    Buffer<std::uint64_t> pair_;         ///< [i][j]: samples of the current pair in both
    std::size_t targets_ = 0;
    std::uint32_t excluded_[kTile];
    const std::uint64_t* target_[kTile];
    std::int32_t of_target_[kTile][L];
};

template <int L, int W>
void search_all(const GrnBlock& block, const GrnParameters& parameters) {
    Search<L, W> search(block, parameters);
    const std::size_t target_words = parameters.target_words();
    for (std::size_t first = 0; first < block.count; first += kTile)
        search.tile(block.targets + first * target_words, target_words,
                    block.count - first < kTile ? block.count - first : kTile, block.results + first);
}

template <int L>
void search_levels(const GrnBlock& block, const GrnParameters& parameters) {
    switch (parameters.words()) {
        case 2:
            return search_all<L, 2>(block, parameters);
        case 4:
            return search_all<L, 4>(block, parameters);
        case 5:
            return search_all<L, 5>(block, parameters);
        case 8:
            return search_all<L, 8>(block, parameters);
        default:
            return search_all<L, 0>(block, parameters);
    }
}

void search(const GrnBlock& block, const GrnParameters& parameters) {
    if (parameters.levels == 2)
        search_levels<2>(block, parameters);
    else
        search_levels<3>(block, parameters);
}

}  // namespace

extern const GrnKernels grn_kernels = {search};

}  // namespace apportion::APPORTION_ISA
