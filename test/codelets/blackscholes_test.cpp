// SPDX-License-Identifier: LGPL-2.1-or-later
// The arithmetic and the kernels of blackscholes, for every instruction set that this processor has, without StarPU.
#include "codelets/blackscholes/blackscholes.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "codelets/blackscholes/blackscholes_formula.hpp"
#include "test/catch.hpp"
#include "test/codelets/isas.hpp"

using namespace apportion;

namespace {

void run(Isa isa, const OptionBlock<float>& block, const BlackScholesParameters& parameters) {
    best_blackscholes_kernels(isa).price_float(block, parameters);
}
void run(Isa isa, const OptionBlock<double>& block, const BlackScholesParameters& parameters) {
    best_blackscholes_kernels(isa).price_double(block, parameters);
}

/// Options one by one in the order of the columns of BlackScholesProblem::options, and their prices and standard
/// errors.
template <class T>
struct Book {
    std::vector<std::vector<T>> options;

    std::vector<T> price(Isa isa, const BlackScholesParameters& parameters, std::size_t begin = 0,
                         std::size_t end = std::numeric_limits<std::size_t>::max()) const {
        const std::size_t n = std::min(end, options.size()) - begin;
        std::vector<T> columns(n * kOptionColumns), results(2 * n);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t c = 0; c < kOptionColumns; ++c) columns[c * n + i] = options[begin + i][c];
        run(isa, OptionBlock<T>{columns.data(), n, results.data(), n, n, begin}, parameters);
        return results;
    }
};

template <class T>
Book<T> generated(std::size_t n) {
    const BlackScholesProblem p =
        random_blackscholes(sizeof(T) == sizeof(float) ? ElementType::float32 : ElementType::float64, n, {0, 11});
    Book<T> book;
    for (std::size_t i = 0; i < n; ++i) {
        book.options.emplace_back();
        for (std::size_t c = 0; c < kOptionColumns; ++c)
            book.options.back().push_back(*static_cast<const T*>(p.options.at(i, c)));
    }
    return book;
}

constexpr double kHullCall = 4.759422392871532, kHullPut = 0.8085993729000958;

}  // namespace

TEMPLATE_TEST_CASE("elementary functions are as precise as the type", "", float, double) {
    using namespace isa_generic;
    const double epsilon = std::numeric_limits<TestType>::epsilon();
    const double range = sizeof(TestType) == sizeof(float) ? 80 : 700;
    double exp_error = 0, log_error = 0, normal_error = 0, turn_error = 0;
    const auto worst = [](double& sum, long double error) {
        sum = std::max(sum, static_cast<double>(std::abs(error)));
    };
    constexpr int kPoints = 20000;
    for (int i = -kPoints; i <= kPoints; ++i) {
        const auto x = static_cast<TestType>(range * i / kPoints);
        worst(exp_error, exponential(x) / std::exp(static_cast<long double>(x)) - 1);
        const auto y = static_cast<TestType>(std::exp(60.0 * i / kPoints));
        const long double logarithm_of_y = std::log(static_cast<long double>(y));
        if (logarithm_of_y != 0) worst(log_error, logarithm(y) / logarithm_of_y - 1);
        const auto z = static_cast<TestType>(8.0 * i / kPoints);
        worst(normal_error, normal_distribution(z) - 0.5L * std::erfc(-static_cast<long double>(z) / std::sqrt(2.0L)));
        const auto turn = static_cast<std::uint32_t>(i) * 107374u;
        TestType sine, cosine;
        sine_cosine(turn, sine, cosine);
        const long double angle = 2 * std::acos(-1.0L) * turn / 0x1p32L;
        worst(turn_error, sine - std::sin(angle));
        worst(turn_error, cosine - std::cos(angle));
    }
    CHECK(exp_error < 3 * epsilon);
    CHECK(log_error < 4 * epsilon);
    CHECK(normal_error < 3 * epsilon);
    CHECK(turn_error < 2 * epsilon);
    // Without bounds a tail would be not-a-number.
    CHECK(normal_distribution(TestType(1e20)) == 1);
    CHECK(normal_distribution(TestType(-1e20)) < std::numeric_limits<TestType>::min() * 1e15);
}

TEST_CASE("Philox gives the published numbers") {
    // kat_vectors of Random123: philox4x32, 10 rounds.
    struct Known {
        std::uint32_t counter[4], key[2], bits[4];
    };
    for (const Known& known : {Known{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                               Known{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                                     {0xffffffff, 0xffffffff},
                                     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                               Known{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                                     {0xa4093822, 0x299f31d0},
                                     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}}) {
        philox4x32_ctr_t counter;
        philox4x32_key_t key;
        std::copy_n(known.counter, 4, counter.v);
        std::copy_n(known.key, 2, key.v);
        const philox4x32_ctr_t bits = philox4x32(counter, key);
        for (int i = 0; i < 4; ++i) CHECK(bits.v[i] == known.bits[i]);
    }
    CHECK(isa_generic::random_bits(0, 0, 0).word[3] == 0x9b00dbd8);
    // Seed, option and path all count, in all their bits.
    const auto first = [](std::uint64_t seed, std::uint64_t option, std::uint32_t counter) {
        return isa_generic::random_bits(seed, option, counter).word[0];
    };
    const std::uint32_t base = first(1, 1, 1);
    CHECK(base != first(1 + (1ull << 32), 1, 1));
    CHECK(base != first(1, 1 + (1ull << 32), 1));
    CHECK(base != first(1, 1, 2));
}

TEMPLATE_TEST_CASE("closed-form prices are the text book's", "", float, double) {
    // Hull, Options, Futures and Other Derivatives: S = 42, K = 40, r = 10 %, sigma = 20 %, T = 6 months; 4.76 and
    // 0.81.
    const Book<TestType> book{{{42, 40, TestType(0.1), TestType(0.2), TestType(0.5)},
                               {42, -40, TestType(0.1), TestType(0.2), TestType(0.5)}}};
    for (Isa isa : isas()) {
        const auto prices = book.price(isa, {});
        const double epsilon = 8 * std::numeric_limits<TestType>::epsilon();
        CHECK(prices[0] == Approx(kHullCall).epsilon(4 * epsilon));
        CHECK(prices[1] == Approx(kHullPut).epsilon(16 * epsilon));
    }
}

TEST_CASE("calls and puts keep put-call parity") {
    Book<double> calls = generated<double>(1000), puts = calls;
    for (auto& option : calls.options) option[kSignedStrike] = std::abs(option[kSignedStrike]);
    for (auto& option : puts.options) option[kSignedStrike] = -std::abs(option[kSignedStrike]);
    for (Isa isa : isas()) {
        const auto call = calls.price(isa, {}), put = puts.price(isa, {});
        double worst = 0;
        for (std::size_t i = 0; i < calls.options.size(); ++i) {
            const auto& o = calls.options[i];
            const double forward = o[kSpot] - o[kSignedStrike] * std::exp(-o[kRate] * o[kExpiry]);
            worst = std::max(worst, std::abs(call[i] - put[i] - forward));
        }
        CHECK(worst < 1e-12);
    }
}

TEMPLATE_TEST_CASE("without volatility or time prices are those of certainty", "", float, double) {
    const TestType r = TestType(0.05);
    const Book<TestType> book{{{100, 90, r, 0, 2},
                               {100, 120, r, 0, 2},
                               {100, -120, r, 0, 2},
                               {100, 90, r, TestType(0.3), 0},
                               {100, -90, r, TestType(0.3), 0},
                               {100, 100, 0, 0, 0},
                               {100, -100, 0, 0, 1}}};
    const double discount = std::exp(-0.1);
    const double expected[] = {100 - 90 * discount, 0, 120 * discount - 100, 10, 0, 0, 0};
    for (Isa isa : isas())
        for (std::uint64_t paths : {0, 64}) {
            const auto prices = book.price(isa, {paths, 1});
            for (std::size_t i = 0; i < book.options.size(); ++i) {
                INFO("option " << i << ", paths " << paths);
                CHECK(prices[i] == Approx(expected[i]).margin(400 * std::numeric_limits<TestType>::epsilon()));
            }
        }
}

TEMPLATE_TEST_CASE("a price does not depend on the block it is computed in, bit for bit", "", float, double) {
    const Book<TestType> book = generated<TestType>(101);
    for (std::uint64_t paths : {0, 1000})
        for (Isa isa : isas()) {
            const BlackScholesParameters parameters{paths, 5};
            const auto whole = book.price(isa, parameters);
            for (std::size_t begin = 0, size = 1; begin < 101; begin += size, size = size % 17 + 3) {
                const std::size_t end = std::min<std::size_t>(begin + size, 101);
                const auto part = book.price(isa, parameters, begin, end);
                for (std::size_t i = begin; i < end; ++i) {
                    CHECK(part[i - begin] == whole[i]);
                    if (paths > 0) CHECK(part[end - 2 * begin + i] == whole[101 + i]);
                }
            }
        }
}

TEMPLATE_TEST_CASE("vectors of any width give the same prices, bit for bit", "", float, double) {
    if (best_isa() != Isa::v4) return;
    const Book<TestType> book = generated<TestType>(50);
    for (std::uint64_t paths : {0, 500}) CHECK(book.price(Isa::v3, {paths, 3}) == book.price(Isa::v4, {paths, 3}));
}

TEMPLATE_TEST_CASE("Monte Carlo follows the sequential reference path by path", "", float, double) {
    const ElementType type = sizeof(TestType) == sizeof(float) ? ElementType::float32 : ElementType::float64;
    for (std::uint64_t paths : {2, 127, 128, 130, 1000}) {
        BlackScholesProblem kernel = random_blackscholes(type, 20, {paths, 9});
        BlackScholesProblem reference = random_blackscholes(type, 20, {paths, 9});
        price_by_one_call(kernel);
        price_by_reference(reference, 0, 20);
        for (std::size_t j = 0; j < 2; ++j)
            for (std::size_t i = 0; i < 20; ++i) {
                INFO(paths << " paths, option " << i << ", column " << j);
                CHECK(*static_cast<TestType*>(kernel.results.at(i, j)) ==
                      Approx(*static_cast<TestType*>(reference.results.at(i, j)))
                          .margin(1000 * std::numeric_limits<TestType>::epsilon())
                          .epsilon(100 * std::numeric_limits<TestType>::epsilon()));
            }
    }
}

TEST_CASE("Monte Carlo prices spread around the closed form as their standard errors say") {
    constexpr std::size_t kOptions = 2000;
    BlackScholesProblem simulated = random_blackscholes(ElementType::float64, kOptions, {4096, 21});
    BlackScholesProblem closed = random_blackscholes(ElementType::float64, kOptions, {0, 21});
    price_by_one_call(simulated);
    price_by_one_call(closed);
    CHECK(verify_blackscholes(simulated).correct);
    CHECK(verify_blackscholes(closed).correct);
    double squares = 0, sum = 0, count = 0;
    for (std::size_t i = 0; i < kOptions; ++i) {
        const auto at = [i](const Matrix& m, std::size_t j) { return *static_cast<const double*>(m.at(i, j)); };
        if (at(closed.results, 0) < 0.01 * at(closed.options, kSpot)) continue;  // too few paths pay to be normal
        ++count;
        const double deviation = (at(simulated.results, 0) - at(closed.results, 0)) / at(simulated.results, 1);
        sum += deviation;
        squares += deviation * deviation;
    }
    CHECK(squares / count == Approx(1).margin(0.15));
    CHECK(std::abs(sum / count) < 4 / std::sqrt(count));
    CHECK(count > kOptions / 2);
}

TEST_CASE("verification sees wrong and missing prices") {
    for (std::uint64_t paths : {0, 256}) {
        BlackScholesProblem p = random_blackscholes(ElementType::float64, 30, {paths, 2});
        price_by_one_call(p);
        REQUIRE(verify_blackscholes(p).correct);
        double& price = *static_cast<double*>(p.results.at(17, 0));
        const double right = price;
        price += 20;
        CHECK_FALSE(verify_blackscholes(p).correct);
        price = std::nan("");
        CHECK_FALSE(verify_blackscholes(p).correct);
        price = right;
        CHECK(verify_blackscholes(p).correct);
    }
    // A price of other paths is statistically fine, and still not the one that was asked for.
    BlackScholesProblem p = random_blackscholes(ElementType::float64, 30, {256, 2});
    price_by_one_call(p);
    p.parameters.seed = 3;
    CHECK_FALSE(verify_blackscholes(p).correct);
}
