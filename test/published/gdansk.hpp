// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Boinski, Czarnul: Optimization of Data Assignment for Parallel Processing in a Hybrid Heterogeneous Environment Using
// Integer Linear Programming (The Computer Journal, 2021). Tables A.1, A.3, B.1, B.2; packets of 512^2 and 1024^2.
//
// The seconds of a packet `c` include start-up and clean-up of the run with device fission, which the paper does not
// print: they are fitted to the printed times and distributions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace published::gdansk {

inline constexpr std::size_t kNodes = 4;
inline constexpr std::size_t kUnits = 10;
inline constexpr double kIterations = 1300;  // of the Jacobi method for a packet

inline constexpr std::array<const char*, kNodes> kNodeNames = {"apl09", "apl10", "apl11", "apl12"};
inline constexpr std::array<std::size_t, kUnits> kNodeOfUnit = {0, 0, 1, 1, 2, 2, 2, 3, 3, 3};
inline constexpr std::array<double, kNodes> kStartupS = {4.929e-05, 2.414e-05, 3.422e-05, 5.6e-07};
inline constexpr std::array<double, kNodes> kBytesPerS = {98929407, 120846467, 117412460, 3514623280};

struct Column {
    std::int64_t packets;
    double time_s;  // of the optimal distribution, as lp_solve gave it
    std::array<std::int64_t, kUnits> distribution;
};

struct Size {
    int unknowns;  // of the equations in a packet
    double input_bytes;
    double result_bytes;
    std::array<double, kUnits> iteration_s;  // Table A.1
    std::array<double, kUnits> c_s;
    std::array<Column, 8> columns;  // Tables B.1, B.2
};

inline constexpr std::array<Size, 2> kSizes = {{
    {512,
     2101248,
     4096,
     {0.0001151, 0.0050781, 0.0001162, 0.0043065, 4.62e-05, 4.51e-05, 0.0016276, 0.0009917, 0.0003488, 0.0003534},
     {0.21947503553, 6.99301010897, 0.226391120562, 5.90031857965, 0.369931339134, 0.37127737032, 2.36012743186,
      1.68987986864, 3.32195541865, 3.37161061694},
     {{
         {64, 5.303, {19, 0, 18, 0, 11, 11, 1, 2, 1, 1}},
         {128, 10.404, {37, 1, 35, 1, 22, 21, 3, 4, 2, 2}},
         {256, 20.532, {73, 2, 70, 2, 43, 43, 6, 9, 4, 4}},
         {512, 40.674, {144, 4, 140, 5, 85, 85, 13, 18, 9, 9}},
         {768, 60.747, {215, 6, 209, 8, 127, 127, 20, 28, 14, 14}},
         {1024, 81.041, {287, 9, 278, 10, 170, 170, 26, 37, 19, 18}},
         {1536, 121.287, {430, 13, 417, 16, 255, 254, 40, 55, 28, 28}},
         {2048, 161.718, {573, 18, 556, 21, 340, 339, 53, 74, 37, 37}},
     }}},
    {1024,
     8396800,
     8192,
     {0.000414, 0.0200501, 0.000414, 0.0200363, 9.64e-05, 9.33e-05, 0.0063978, 0.0036538, 0.0005697, 0.0005676},
     {0.610302558341, 28.5465133415, 0.607372624288, 28.5465133415, 0.421162259616, 0.420574782196, 8.57065198318,
      5.19027515301, 3.56831416769, 3.57790256757},
     {{
         {64, 11.939, {11, 0, 12, 0, 18, 18, 0, 1, 2, 2}},
         {128, 23.464, {24, 0, 24, 0, 34, 35, 1, 2, 4, 4}},
         {256, 46.101, {47, 1, 47, 1, 68, 68, 3, 5, 8, 8}},
         {512, 92.03, {93, 2, 94, 2, 136, 136, 6, 11, 16, 16}},
         {768, 138.038, {140, 3, 141, 3, 203, 204, 10, 16, 24, 24}},
         {1024, 183.982, {187, 4, 188, 4, 271, 272, 13, 22, 32, 31}},
         {1536, 275.75, {280, 6, 282, 6, 407, 407, 20, 33, 48, 47}},
         {2048, 367.474, {374, 8, 376, 8, 542, 543, 26, 44, 64, 63}},
     }}},
}};

// 2048 packets of 2048^2.
inline constexpr std::array<double, kUnits> kIterationOf2048S = {
    1.5546e-3, 67.6384e-3, 1.5539e-3, 78.9142e-3, 0.2619e-3, 0.2608e-3, 25.1866e-3, 17.6083e-3, 0.884e-3, 0.8631e-3};
inline constexpr double kInputBytesOf2048 = 33570816, kResultBytesOf2048 = 16384;
inline constexpr std::array<std::int64_t, kNodes> kLimitsOf2048 = {348, 348, 1000, 2000};  // section 4.5.2

}  // namespace published::gdansk
