// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/fft2d/fft_planning.hpp"

#include <cstdlib>
#include <string_view>

#include "models/io/user_error.hpp"

namespace apportion {

FftPlanning fft_planning_variable() {
    const char* text = std::getenv("APPORTION_FFT_PLANNING");
    const std::string_view planning = text ? text : "";
    if (planning == "estimate") return FftPlanning::estimate;
    if (planning.empty() || planning == "measure") return FftPlanning::measure;
    throw UserError("APPORTION_FFT_PLANNING: '{}' is neither estimate nor measure", planning);
}

}  // namespace apportion
