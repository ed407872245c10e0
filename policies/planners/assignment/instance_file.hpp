// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The file of a data assignment instance, JSON, one object:
//
//     "nodes": ["apl09", ...]               names of the nodes
//     "pus": [{"node": "apl09", "device": "(0,1)"}, ...]   processing units; all vectors below keep this order
//     "a_N_s": [4.9e-05, ...]               start-up of a message to each node [s]
//     "b_N_bytes_per_s": [98929407, null]   bandwidth to each node; null: the data are there
//     "d_si_bytes": 2101248, "d_sr_bytes": 4096   size of a packet's input and of its result
//     "c_s": [0.219, ...]                   seconds of each unit for a packet, bus, start-up and clean-up included
//     "compute_s": [0.150, ...]             optional: the part of c_s without start-up and clean-up, for min-min-v1 and
//                                           proportional; default c_s
//     "limits": [348, null, ...]            optional: packets that fit the memory of each node; null: no limit
//     "description": "..."                  optional, any text
//
// Anything else is an error with file and line, as are negative numbers and vectors of the wrong length.
#pragma once

#include <iosfwd>

#include "models/profile_file.hpp"
#include "policies/planners/assignment/data_assignment.hpp"

namespace apportion {

/// Number of packets, granularity and network are not in the file. `name` is the file's name in messages. Throws
/// FileError.
DataAssignment read_instance(std::istream& in, const std::string& name);
DataAssignment read_instance(const std::string& path);

}  // namespace apportion
