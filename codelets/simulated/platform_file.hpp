// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Reads platform files (TOML). All keys of the format:
//
//     include = ["parts/node.toml"]  # read first, once: their links, devices, kernels are added, and their name,
//                                    # description, seed and noise do not count; relative to this file or, where
//                                    # there is none, to the bundled ones: "unlike/processors.toml"
//     [included."Tesla K20c"]        # a device of these files, by its name, which no other one of them has
//     count = 2                      # instead of theirs
//     name = "two-nodes"             # default: the file's name without .toml
//     description = "one line"
//     seed = 1                       # of the noise; default 1
//     noise = 0.03                   # standard deviation of the log-normal factor on each block's time; default 0
//
//     [kernel.matmul]                # what one unit asks of any device: factor * m^a * n^b * k^c
//     work = { factor = 2, m = 1, k = 1 }
//     bytes_in = { factor = 4, k = 1 }
//     bytes_out = { factor = 4, m = 1 }
//     resident_bytes = { factor = 4, m = 1, k = 1 }     # default: none
//     kept = true                    # units' data stay on their devices from one run to the next; default false
//
//     [[link]]                       # to main memory
//     name = "ethernet"
//     bytes_per_s = 1.17e9
//     latency_s = 60e-6
//     shared = true                  # default; false: each of its devices has its own
//     full_duplex = true             # default
//
//     [[device]]
//     name = "Tesla K20c"
//     kind = "cuda"                  # or "cpu": a core that works in main memory, without link and memory
//     count = 1                      # identical ones; default 1
//     link = "pcie"
//     latency_s = 10e-6              # default: the link's
//     memory_bytes = 5.0e9
//     drift = { factor = 3, from_s = 10 }               # default: none
//     spike = { factor = 20, at_s = 5 }                 # one block takes 20 times as long; default: none
//     stall = { seconds = 4, from_s = 12 }              # the device pauses; default: none
//     lost_at_s = 20                                    # no block ends after this moment; default: never
//
//     [device.kernel.matmul]
//     base_s = 30e-6                 # see TrueTime; default 0, but a rate or what replaces it is required
//     rate = 2600e9                  # work per second; or seconds_per_work, its reciprocal
//     half_saturation = 512
//     stream_bytes_per_s = 5e9
//     rates = [[320, 1.1e12], [640, 2.0e12]]            # or, instead of a rate: measured [units, work per second]
//     seconds_by_n = [[512, 0.22], [1024, 0.61]]        # or: measured [n, seconds of a unit]
//     table = "k20c.csv"             # or, instead of them all: lines "units,seconds" under just that heading
//     ripple = { height = 0.2, period = 64, fade = 1e3, from = 1, to = 1e4 }  # the last three: see TrueTime; optional
//
//     [[node]]                       # makes the platform a cluster of machines; the first node has the data
//     name = "Xeon"
//     count = 8                      # identical ones; default 1
//     devices = { "core" = 16, "Tesla K20c" = 2 }       # how many of each [[device]], whatever its own count
//     network = { bytes_per_s = 1.25e9, latency_s = 20e-6 }   # the node's own link, full duplex; latencies of two add
//     bus = { bytes_per_s = 12e9, latency_s = 10e-6 }   # to each device; default: the links that devices name
//     drift = { factor = 3, from_s = 10 }               # of all its devices; default: their own
//
// The reader is strict: unknown keys, wrong types, and numbers that are impossible or that cannot be simulated are
// errors, as is a part or table that is no regular file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "codelets/simulated/platform.hpp"
#include "models/io/user_error.hpp"

namespace apportion::simulated {

/// The platform of that name, if one is bundled, or of that file. Throws UserError.
Platform load_platform(const std::string& name_or_path);

/// The same, but of one machine: a cluster is a UserError.
Platform load_machine(const std::string& name_or_path);

/// Where bundled platforms are looked for, in this order: the build's source tree, the installation.
std::vector<std::filesystem::path> platform_folders();

/// Names of all bundled platforms, sorted: the .toml files in those folders. Parts of platforms lie in subfolders.
std::vector<std::string> bundled_platforms();

}  // namespace apportion::simulated
