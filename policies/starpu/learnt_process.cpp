// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/learnt_process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "models/io/shown.hpp"
#include "models/learnt_times.hpp"

namespace apportion {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kBetweenSaves{1};
constexpr std::size_t kMostBlocks = 256;  // of a processor, between two savings
constexpr std::size_t kMostKeys = 256;    // a program may give each load another name

struct Known {
    LearntKey key;
    LearntHere here;
    LearntBlocks unsaved;
    bool counted = false;  // this process, in the file
    bool kept = true;      // its file can be written
    std::optional<Clock::time_point> saved;
};

void add(LearntProfile& profile, const LearntKey& key, const LearntBlocks& blocks) {
    if (profile.processors.empty())
        for (const std::string& name : key.processors) profile.processors.push_back({name, {}});
    for (std::size_t p = 0; p < blocks.size(); ++p) {
        if (blocks[p].empty()) continue;
        LearntTimes times(std::move(profile.processors[p].points));
        for (const ProfilePoint& block : blocks[p]) times.add(block);
        times.end_process();
        profile.processors[p].points = times.points();
    }
}

bool any(const LearntBlocks& blocks) {
    return !std::ranges::all_of(blocks, [](const auto& its) { return its.empty(); });
}

/// What the file has by now, with the blocks since it was written.
void save(const std::filesystem::path& file, Known& known) {
    if (!known.kept || !any(known.unsaved)) return;
    known.saved = Clock::now();
    try {
        LearntProfile merged;
        try {
            merged = read_learnt(file, known.key);
        } catch (const FileError&) {
            // It was told of, or another process broke it: it is replaced.
        }
        add(merged, known.key, known.unsaved);
        if (!std::exchange(known.counted, true)) ++merged.processes;
        write_learnt(file, known.key, merged);
        known.here = {std::move(merged), {}};
    } catch (const std::exception& error) {
        known.kept = false;
        known.here.problem = fmt::format("what the load '{}' learnt is not kept: {}; APPORTION_LEARN=0 does without",
                                         known.key.load, error.what());
        tell_of_learning(known.here.problem);
    }
    known.unsaved.assign(known.unsaved.size(), {});
}

class Process {
  public:
    std::mutex mutex;  ///< of what follows

    /// Read if it was not yet.
    Known& known(const std::filesystem::path& file, const LearntKey& key) {
        if (const auto found = all_.find(file); found != all_.end()) return found->second;
        if (all_.size() >= kMostKeys) {
            save_all();
            all_.clear();
        }
        Known known;
        known.key = key;
        known.unsaved.resize(key.processors.size());
        try {
            known.here.profile = read_learnt(file, key);
        } catch (const FileError& error) {
            known.here.problem = error.what();
            tell_of_learning(known.here.problem);
        }
        return all_.try_emplace(file, std::move(known)).first->second;
    }

    void save_all() {
        for (auto& [file, known] : all_) save(file, known);
    }

  private:
    std::map<std::filesystem::path, Known> all_;
};
Process& process = *new Process;  // loads may outlive static objects

}  // namespace

void thin_out(std::vector<ProfilePoint>& blocks) {
    while (blocks.size() > kMostBlocks) {
        std::size_t kept = 0;
        for (std::size_t k = 0; k < blocks.size(); k += 2) blocks[kept++] = blocks[k];
        blocks.resize(kept);
    }
}

void tell_of_learning(const std::string& problem) {
    static std::atomic<bool> told = false;
    if (!told.exchange(true)) std::cerr << fmt::format("apportion: {}\n", shown(problem));
}

LearntHere learnt_here(const std::filesystem::path& file, const LearntKey& key) {
    const std::lock_guard lock(process.mutex);
    return process.known(file, key).here;
}

void add_learnt_here(const std::filesystem::path& file, const LearntKey& key, const LearntBlocks& blocks) {
    if (!any(blocks)) return;
    const std::lock_guard lock(process.mutex);
    Known& known = process.known(file, key);
    add(known.here.profile, key, blocks);
    for (std::size_t p = 0; p < blocks.size(); ++p) {
        known.unsaved[p].insert(known.unsaved[p].end(), blocks[p].begin(), blocks[p].end());
        thin_out(known.unsaved[p]);
    }
    if (!known.saved || Clock::now() - *known.saved > kBetweenSaves) save(file, known);
}

void save_learnt_here() {
    const std::lock_guard lock(process.mutex);
    process.save_all();
}

}  // namespace apportion
