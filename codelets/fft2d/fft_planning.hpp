// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How much effort FFTW spends on the plans of CPU workers.
#pragma once

namespace apportion {

enum class FftPlanning {
    estimate,  ///< plans by a heuristic, in microseconds
    measure    ///< times several plans, in seconds at most for rows of ordinary length
};

/// What APPORTION_FFT_PLANNING says; measure without it. Throws UserError when it is neither.
FftPlanning fft_planning_variable();

}  // namespace apportion
