// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How much effort FFTW spends on its plans: for all CPU workers, or otherwise for some of them, which makes workers
// with different time functions out of equal cores. APPORTION_FFT_PLANNING="measure" or "measure,1=unaligned".
#pragma once

#include <map>
#include <string_view>

namespace apportion {

enum class FftPlanning {
    estimate,  ///< plans by a heuristic, in microseconds
    measure,   ///< times several plans, in seconds at most for rows of ordinary length
    patient,   ///< times many
    unaligned  ///< estimate, without vector instructions: a slower worker for tests
};

struct FftPlanningChoice {
    FftPlanning general = FftPlanning::measure;
    std::map<int, FftPlanning> of_worker;  ///< where it is another

    FftPlanning of(int worker) const {
        const auto found = of_worker.find(worker);
        return found == of_worker.end() ? general : found->second;
    }
};

/// Of the variable's value. Throws UserError, one sentence, when it is not of that form.
FftPlanningChoice parse_fft_planning(std::string_view text);

/// What the variable says; the default without it. Throws like the above.
FftPlanningChoice fft_planning_variable();

}  // namespace apportion
