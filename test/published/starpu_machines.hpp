// SPDX-License-Identifier: LGPL-2.1-or-later
//
// StarPU 1.4.10, tools/perfmodels/sampling/codelets/45/chol_model_gemm.{sirocco,mirage}: mean microseconds of
// C -= A B^T with b x b tiles in single precision.
#pragma once

#include <vector>

namespace published::starpu_machines {

struct Tile {
    int b;
    double core_us;
    std::vector<double> gpu_us;  // of each GPU
};

inline const std::vector<Tile> kSirocco = {
    {320, 1593.51, {57.16, 56.34, 58.29, 56.56}},
    {640, 11476.61, {263.33, 265.15, 262.51, 259.37}},
    {960, 34940.26, {743.45, 754.51, 755.88, 743.70}},
    {1440, 112041.80, {2577.66, 2632.19, 2620.27, 2575.70}},
};
inline const std::vector<Tile> kMirage = {
    {320, 3262.64, {201.12, 200.48, 160.38}},
    {640, 26470.95, {894.44, 909.05, 885.89}},
    {960, 87780.20, {2805.49, 2828.59, 2828.21}},
};

}  // namespace published::starpu_machines
