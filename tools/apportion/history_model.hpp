// SPDX-License-Identifier: LGPL-2.1-or-later
//
// StarPU's file of a history model (version 45, StarPU 1.4: codelets/45/SYMBOL.HOST below a performance model folder):
// per kind of device and implementation of a codelet, the mean times of the sizes that it ran, each known by a hash of
// its data, the footprint. Times here in microseconds, as StarPU's. Regressions in the file are read over; those
// written say that there are none.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace apportion {

struct HistoryEntry {
    std::uint32_t footprint = 0;
    std::uint64_t bytes = 0;
    double flops = 0;
    double mean_us = 0;
    double deviation_us = 0;  ///< of the population
    std::uint64_t samples = 0;
};

struct HistoryDevice {
    int type = 0;  ///< enum starpu_worker_archtype: 0 CPU, 1 CUDA, 2 OpenCL
    int id = 0;
    int cores = 1;

    bool operator==(const HistoryDevice&) const = default;
};

/// What one worker, or several combined, measured.
struct HistoryArchitecture {
    std::vector<HistoryDevice> devices;
    std::vector<std::vector<HistoryEntry>> implementations;
};

struct HistoryModel {
    std::vector<HistoryArchitecture> architectures;
};

/// Throws FileError with file and line.
HistoryModel read_history_model(std::istream& in, const std::string& name);
HistoryModel read_history_model(const std::string& path);

void write_history_model(std::ostream& out, const HistoryModel& model);

/// Writes a file that must not exist, beside it first and then renamed. Throws FileError.
void save_history_model(const std::string& path, const HistoryModel& model);

}  // namespace apportion
