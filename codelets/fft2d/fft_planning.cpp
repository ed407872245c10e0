// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/fft2d/fft_planning.hpp"

#include <cstdlib>
#include <optional>
#include <utility>

#include "models/io/text.hpp"
#include "models/io/user_error.hpp"

namespace apportion {

namespace {

constexpr std::pair<std::string_view, FftPlanning> kNames[] = {{"estimate", FftPlanning::estimate},
                                                               {"measure", FftPlanning::measure},
                                                               {"patient", FftPlanning::patient},
                                                               {"unaligned", FftPlanning::unaligned}};

std::optional<FftPlanning> planning_named(std::string_view name) {
    for (const auto& [known, planning] : kNames)
        if (name == known) return planning;
    return std::nullopt;
}

}  // namespace

FftPlanningChoice parse_fft_planning(std::string_view text) {
    const auto refuse = [&](std::string_view entry) {
        throw UserError(
            "APPORTION_FFT_PLANNING: '{}' is not estimate, measure, patient or unaligned, nor worker=one of them for a "
            "worker that is named once",
            entry);
    };
    FftPlanningChoice choice;
    for (const std::string_view entry : split(text, ',')) {
        const std::size_t equals = entry.find('=');
        const auto planning = planning_named(equals == entry.npos ? entry : entry.substr(equals + 1));
        if (!planning) refuse(entry);
        if (equals == entry.npos) {
            if (entry.data() != text.data()) refuse(entry);
            choice.general = *planning;
        } else {
            const auto worker = parse_number<int>(entry.substr(0, equals));
            if (!worker || *worker < 0 || !choice.of_worker.emplace(*worker, *planning).second) refuse(entry);
        }
    }
    return choice;
}

FftPlanningChoice fft_planning_variable() {
    const char* text = std::getenv("APPORTION_FFT_PLANNING");
    return text && *text ? parse_fft_planning(text) : FftPlanningChoice{};
}

}  // namespace apportion
