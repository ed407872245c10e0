// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the loads of this process know of each key (learnt_store.hpp), so that a program that makes a load for every
// small step reads a file once and seldom writes one. A file is written when a load brings blocks and it was not
// written in the last second, and at the latest when StarPU ends. Threads may call all of this at once.
#pragma once

#include <string>
#include <vector>

#include "policies/starpu/learnt_store.hpp"

namespace apportion {

/// Per processor of a key, in the order they ran.
using LearntBlocks = std::vector<std::vector<ProfilePoint>>;

/// So that there are at most 256: many of few sizes. Early ones, late ones and those between stay.
void thin_out(std::vector<ProfilePoint>& blocks);

struct LearntHere {
    LearntProfile profile;
    std::string problem;  ///< why the file was not used or is not kept, or empty
};

/// Reads the file at the first call for it; what is wrong with it is told on standard error, once a process.
LearntHere learnt_here(const std::filesystem::path& file, const LearntKey& key);

/// The blocks of runs.
void add_learnt_here(const std::filesystem::path& file, const LearntKey& key, const LearntBlocks& blocks);

/// What is not in its file yet.
void save_learnt_here();

/// One sentence on standard error, the first one of the process only.
void tell_of_learning(const std::string& problem);

}  // namespace apportion
