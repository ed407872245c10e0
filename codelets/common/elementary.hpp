// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Elementary functions of float and double without branches, library calls or contractions that a compiler could
// choose: the same operations in the same order whether a loop is vectorised or not, and on a GPU. So a result depends
// neither on the place of an element in its block nor, where processors have fused multiply-add, on the processor.
//
// The polynomials are minimax fits made for this file (Chebyshev interpolation in 40 digits). Errors are a few units in
// the last place; domains are as stated, not checked.
//
// Included by kernels that are compiled several times, for different instruction sets: everything is in a namespace of
// that set (isa.hpp), so that the linker cannot mix them.
#pragma once

#include <cstdint>
#include <cstring>

#include "codelets/common/isa.hpp"

namespace apportion::APPORTION_ISA {

template <class T>
struct Format;

template <>
struct Format<double> {
    using Bits = std::uint64_t;
    static constexpr int kMantissa = 52;
    static constexpr double kRound = 6755399441055744.0;      ///< 1.5 * 2^52: adding it rounds to a whole number
    static constexpr Bits kExponentBias = 1024;               ///< makes exponents positive
    static constexpr Bits kTwoMantissa = 0x4330000000000000;  ///< bits of 2^52
    static constexpr double kTwoMantissaValue = 4503599627370496.0;
    static constexpr Bits kRootHalf = 0x3fe6a09e667f3bcd;  ///< bits of sqrt(1/2)
    static constexpr double kLn2High = 0.69314718036912381649, kLn2Low = 1.9082149292705878161e-10;
    static constexpr double kLeastExp = -708, kMostExp = 709;
    static constexpr double kMostErfc = 26;  ///< its square has an exponential that is a normal number
    static constexpr double kTiny = 1e-290;
};

template <>
struct Format<float> {
    using Bits = std::uint32_t;
    static constexpr int kMantissa = 23;
    static constexpr float kRound = 12582912.0f;
    static constexpr Bits kExponentBias = 128;
    static constexpr Bits kTwoMantissa = 0x4b000000;  ///< bits of 2^23
    static constexpr float kTwoMantissaValue = 8388608.0f;
    static constexpr Bits kRootHalf = 0x3f3504f3;
    static constexpr float kLn2High = 0.69140625f, kLn2Low = 0.00174093056f;
    static constexpr float kLeastExp = -87, kMostExp = 88;
    static constexpr float kMostErfc = 9.3f;
    static constexpr float kTiny = 1e-30f;
};

template <class T>
APPORTION_DEVICE inline typename Format<T>::Bits bits_of(T x) {
    typename Format<T>::Bits bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

template <class T>
APPORTION_DEVICE inline T value_of(typename Format<T>::Bits bits) {
    T x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/// a b + c, rounded once where the processor can.
APPORTION_DEVICE inline double multiply_add(double a, double b, double c) {
#if defined(__CUDA_ARCH__) || defined(__FP_FAST_FMA)
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}
APPORTION_DEVICE inline float multiply_add(float a, float b, float c) {
#if defined(__CUDA_ARCH__) || defined(__FP_FAST_FMAF)
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

APPORTION_DEVICE inline double square_root(double x) { return __builtin_sqrt(x); }
APPORTION_DEVICE inline float square_root(float x) { return __builtin_sqrtf(x); }

template <class T>
APPORTION_DEVICE inline T larger(T a, T b) {
    return a > b ? a : b;
}
template <class T>
APPORTION_DEVICE inline T smaller(T a, T b) {
    return a < b ? a : b;
}

/// c0 + c1 x + c2 x^2 + ...
template <class T>
APPORTION_DEVICE inline T polynomial(T, T c0) {
    return c0;
}
template <class T, class... Rest>
APPORTION_DEVICE inline T polynomial(T x, T c0, Rest... rest) {
    return multiply_add(polynomial(x, rest...), x, c0);
}

/// (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2
APPORTION_DEVICE inline double exp_series(double r) {
    return polynomial(r, 0.5000000000000001, 0.16666666666666667, 0.041666666666624128, 0.0083333333333300618,
                      0.0013888888917213717, 0.00019841269863053617, 2.4801521295954375e-5, 2.7557268459997065e-6,
                      2.7620088445409748e-7, 2.5100385495510319e-8);
}
APPORTION_DEVICE inline float exp_series(float r) {
    return polynomial(r, 0.5f, 0.16666576989698776f, 0.041666554617204574f, 0.0083631790527225774f,
                      0.0013926183587713495f);
}

/// e^x; x is first moved into the range whose exponentials are normal numbers.
template <class T>
APPORTION_DEVICE inline T exponential(T x) {
    using F = Format<T>;
    x = smaller(larger(x, F::kLeastExp), F::kMostExp);
    const T rounding = multiply_add(x, T(1.4426950408889634), F::kRound);
    const T n = rounding - F::kRound;
    const T r = multiply_add(n, -F::kLn2Low, multiply_add(n, -F::kLn2High, x));
    const T y = multiply_add(r * r, exp_series(r), r) + T(1);
    return value_of<T>(bits_of(y) + (bits_of(rounding) << F::kMantissa));
}

/// (2 artanh(s) / s - 2) / s^2 as a function of w = s^2, for |s| <= (sqrt(2) - 1) / (sqrt(2) + 1)
APPORTION_DEVICE inline double artanh_series(double w) {
    return polynomial(w, 0.66666666666666697, 0.39999999999898891, 0.28571428626253838, 0.22222211089379496,
                      0.18182892432536871, 0.15331611722055008, 0.14617807153417325);
}
APPORTION_DEVICE inline float artanh_series(float w) {
    return polynomial(w, 0.66666685095429069f, 0.39988757716604847f, 0.29580985929974423f);
}

/// Natural logarithm of a normal number x > 0.
template <class T>
APPORTION_DEVICE inline T logarithm(T x) {
    using F = Format<T>;
    using Bits = typename F::Bits;
    const Bits bits = bits_of(x);
    const Bits exponent = (bits - F::kRootHalf + (F::kExponentBias << F::kMantissa)) >> F::kMantissa;
    const T m = value_of<T>(bits - ((exponent - F::kExponentBias) << F::kMantissa));
    const T e = value_of<T>(exponent | F::kTwoMantissa) - (F::kTwoMantissaValue + T(F::kExponentBias));
    const T s = (m - T(1)) / (m + T(1));
    const T w = s * s;
    const T small = multiply_add(s * w, artanh_series(w), e * F::kLn2Low);
    return multiply_add(e, F::kLn2High, multiply_add(T(2), s, small));
}

/// (sin(a) / a - 1) / a^2 and (cos(a) - 1 + a^2 / 2) / a^4 as functions of w = a^2, for |a| <= pi / 4
APPORTION_DEVICE inline double sine_series(double w) {
    return polynomial(w, -0.16666666666666665, 0.0083333333333309473, -0.00019841269836756773, 2.7557316101617874e-6,
                      -2.5051131650235181e-8, 1.5918115263265975e-10);
}
APPORTION_DEVICE inline float sine_series(float w) {
    return polynomial(w, -0.16666664661714698f, 0.0083327481540850321f, -0.00019587865702101875f);
}
APPORTION_DEVICE inline double cosine_series(double w) {
    return polynomial(w, 0.041666666666666665, -0.0013888888888887396, 2.4801587298764561e-5, -2.7557317271145146e-7,
                      2.0876146146558612e-9, -1.1382623647474605e-11);
}
APPORTION_DEVICE inline float cosine_series(float w) {
    return polynomial(w, 0.041666664658901404f, -0.0013888302919113633f, 2.4547916853691017e-5f);
}

/// Sine and cosine of turn / 2^32 full turns.
template <class T>
APPORTION_DEVICE inline void sine_cosine(std::uint32_t turn, T& sine, T& cosine) {
    const std::uint32_t quarter = (turn + 0x20000000u) >> 30;
    const T a = T(static_cast<std::int32_t>(turn - (quarter << 30))) * T(1.4629180792671596811e-9);
    const T w = a * a;
    const T s = multiply_add(a * w, sine_series(w), a);
    const T c = multiply_add(w * w, cosine_series(w), multiply_add(T(-0.5), w, T(1)));
    const T x = quarter & 1 ? s : c;
    const T y = quarter & 1 ? c : s;
    cosine = (quarter + 1) & 2 ? -x : x;
    sine = quarter & 2 ? -y : y;
}

/// (1 + 2 z) exp(z^2) erfc(z) as a function of t = (z - kErfcCentre) / (z + kErfcCentre), for z >= 0 (the form of
/// Shepherd and Laframboise, Math. Comp. 36, 1981).
template <class T>
inline constexpr T kErfcCentre = 0;
template <>
inline constexpr double kErfcCentre<double> = 3.75;
template <>
inline constexpr float kErfcCentre<float> = 3;
APPORTION_DEVICE inline double erfc_series(double t) {
    return polynomial(t, 1.2375126308378275, -0.14024059858554701, 0.0035854154854795752, 0.082276738490149773,
                      -0.10880393014246645, 0.092304321160258936, -0.058693398576310612, 0.028362277420377334,
                      -0.0097465796859621786, 0.0017556258434318571, 0.00029371439057889319, -0.00029015404203348975,
                      5.1646493409906557e-5, 2.2384138525534282e-5, -1.1437980374239475e-5, -9.7338751649280605e-7,
                      1.7419011941768344e-6, -5.7410761073476517e-8, -2.4851108621897998e-7, 2.3398534596775471e-8,
                      3.1953985988988178e-8, -3.7981899296085588e-9, -2.6185201302076404e-9, 3.2052626014481745e-10);
}
APPORTION_DEVICE inline float erfc_series(float t) {
    return polynomial(t, 1.2530080582697297f, -0.13562021387623403f, -0.04756225170643757f, 0.12962717489066664f,
                      -0.11927451860620696f, 0.06841075952200409f, -0.023765692173267206f, 0.0022849521490433769f,
                      0.00187749464838414f, -0.00051315943599518425f, -9.3510629153444789e-5f);
}

/// Standard normal distribution function.
template <class T>
APPORTION_DEVICE inline T normal_distribution(T x) {
    const T z = smaller((x < 0 ? -x : x) * T(0.70710678118654752440), Format<T>::kMostErfc);
    const T square = z * z;
    const T rest = multiply_add(z, z, -square);  // what rounding took from z^2
    const T t = (z - kErfcCentre<T>) / (z + kErfcCentre<T>);
    const T tail = T(0.5) * erfc_series(t) / multiply_add(T(2), z, T(1)) * exponential(-square) * (T(1) - rest);
    return x > 0 ? T(1) - tail : tail;
}

/// Two independent standard normal numbers from 64 random bits (Box and Muller 1958). The largest is 6.8.
template <class T>
APPORTION_DEVICE inline void normal_pair(std::uint32_t radius_bits, std::uint32_t turn, T& first, T& second) {
    // (bits + 1/2) / 2^32; in float large values round to 1, whose logarithm is 0: still a valid radius.
    const T uniform = multiply_add(T(radius_bits), T(0x1p-32), T(0x1p-33));
    const T radius = square_root(larger(T(-2) * logarithm(uniform), T(0)));
    T sine, cosine;
    sine_cosine(turn, sine, cosine);
    first = radius * cosine;
    second = radius * sine;
}

}  // namespace apportion::APPORTION_ISA
