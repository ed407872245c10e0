// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/report.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "policies/starpu/error.hpp"

namespace apportion {

namespace {

using Json = nlohmann::ordered_json;

struct Totals {
    Units units = 0;
    int blocks = 0;
    double busy_s = 0;
    double waiting_s = 0;  ///< for a block's data, while it had been handed out and nothing else ran
    double returning_s = 0;
    double last_end_s = 0;
    double best_speed = 0;  ///< units per second
};

std::vector<Totals> totals_per_processor(const RunRecord& run) {
    std::vector<Totals> totals(run.processors.size());
    std::vector<const BlockRecord*> by_start;
    for (const BlockRecord& block : run.blocks)
        if (block.processor >= 0 && !block.given_back) by_start.push_back(&block);
    std::ranges::stable_sort(by_start,
                             [](const BlockRecord* a, const BlockRecord* b) { return a->start_s < b->start_s; });
    for (const BlockRecord* block : by_start) {
        Totals& t = totals[block->processor];
        t.units += block->units;
        ++t.blocks;
        t.busy_s += block->busy_s;
        t.waiting_s += std::max(0.0, block->start_s - std::max(block->given_s, t.last_end_s));
        t.returning_s += block->home_s - block->end_s;
        t.last_end_s = std::max(t.last_end_s, block->end_s);
        if (block->busy_s > 0) t.best_speed = std::max(t.best_speed, static_cast<double>(block->units) / block->busy_s);
    }
    return totals;
}

double idle_percent(double busy_s, double makespan_s) {
    return makespan_s > 0 ? std::max(0.0, 100.0 * (1.0 - busy_s / makespan_s)) : 0.0;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json model_json(const PolicyReport::Model& model) {
    if (model.samples <= 0) return nullptr;
    return {{"formula", model.formula}, {"r2", model.r2}, {"samples", model.samples}, {"transfer", model.transfer}};
}

Json processors_json(const RunRecord& run, const std::vector<Totals>& totals, const PolicyReport& policy) {
    Json list = Json::array();
    for (std::size_t p = 0; p < run.processors.size(); ++p) {
        const ProcessorRecord& processor = run.processors[p];
        const Totals& t = totals[p];
        const Units memory = processor.memory_units;
        list.push_back({{"name", processor.name},
                        {"kind", processor.kind},
                        {"worker", processor.worker},
                        {"workers", processor.workers},
                        {"units", t.units},
                        {"blocks", t.blocks},
                        {"compute_seconds", t.busy_s},
                        {"transfer_wait_seconds", t.waiting_s},
                        {"return_seconds", t.returning_s},
                        {"idle_percent", idle_percent(t.busy_s, run.makespan_s)},
                        {"memory_units", memory == kNoLimit ? Json(nullptr) : Json(memory)},
                        {"model", p < policy.models.size() ? model_json(policy.models[p]) : nullptr}});
    }
    return list;
}

Json distributions_json(const RunRecord& run, const PolicyReport& policy) {
    Json list = Json::array();
    for (const PlannedDistribution& d : policy.distributions)
        list.push_back({{"at_seconds", d.at_s},
                        {"reason", d.reason},
                        {"shares", d.shares_units},
                        {"predicted_end_seconds", d.predicted_end_s},
                        {"real_end_seconds", run.makespan_s}});
    return list;
}

Json trace_json(const RunRecord& run) {
    Json list = Json::array();
    for (const BlockRecord& b : run.blocks) {
        if (b.processor < 0) continue;  // nobody ran it
        // Of what does not count, that it began is known, or more.
        const auto known = [&b](double at_s) { return b.given_back && at_s <= 0 ? Json(nullptr) : Json(at_s); };
        list.push_back({{"processor", b.processor},
                        {"first", b.first},
                        {"units", b.units},
                        {"given", b.given_s},
                        {"start", known(b.start_s)},
                        {"end", known(b.end_s)},
                        {"home", known(b.home_s)},
                        {"given_back", b.given_back}});
    }
    return list;
}

Json lost_json(const RunRecord& run) {
    Json list = Json::array();
    for (const LostProcessor& lost : run.lost) {
        Units given_back = 0;
        for (const BlockRecord& b : run.blocks)
            given_back += b.processor == lost.processor && b.given_back ? b.units : 0;
        list.push_back({{"processor", lost.processor},
                        {"name", run.processors[lost.processor].name},
                        {"at_seconds", lost.at_s},
                        {"reason", lost.reason},
                        {"units_given_back", given_back}});
    }
    return list;
}

Json late_json(const RunRecord& run) {
    Json list = Json::array();
    for (const LateBlock& late : run.late) {
        const BlockRecord& block = run.blocks[late.block];
        list.push_back({{"processor", block.processor},
                        {"name", run.processors[block.processor].name},
                        {"first", block.first},
                        {"units", block.units},
                        {"at_seconds", late.at_s},
                        {"waited_seconds", late.waited_s},
                        {"computed_by_others", block.given_back}});
    }
    return list;
}

}  // namespace

std::string report_json(const RunRecord& run, const PolicyReport& policy, bool trace) {
    const std::vector<Totals> totals = totals_per_processor(run);
    double busy_s = 0;
    double speed = 0;
    int blocks = 0;
    for (const Totals& t : totals) {
        blocks += t.blocks;
        busy_s += t.busy_s;
        speed += t.best_speed;
    }
    Json report{{"load", run.load},
                {"policy", run.policy},
                {"profile", Json{{"name", run.profile}, {"file", text_or_null(policy.profile)}}},
                {"learnt", Json{{"file", text_or_null(run.learnt.file)},
                                {"processes", run.learnt.processes},
                                {"problem", text_or_null(run.learnt.problem)}}},
                {"units", run.units},
                {"granularity", run.granularity},
                {"run", run.run},
                {"blocks", blocks},
                {"makespan_seconds", run.makespan_s},
                {"idle_percent", idle_percent(busy_s / static_cast<double>(totals.size()), run.makespan_s)},
                // n / sum of the best speeds this run saw: the simulated platforms know the true bound.
                {"lower_bound_seconds", speed > 0 ? static_cast<double>(run.units) / speed : 0.0},
                {"processors", processors_json(run, totals, policy)},
                {"distributions", distributions_json(run, policy)},
                {"solver", Json{{"solves", policy.solves},
                                {"fallbacks", policy.solver_fallbacks},
                                {"bisections", policy.bisections},
                                {"largest_difference", policy.solver_difference},
                                {"seconds", policy.solver_seconds}}},
                {"rebalances", policy.rebalances},
                {"discarded_samples", policy.discarded_samples},
                {"probing_seconds", policy.probing_seconds},
                {"planning_seconds", run.planning_s},
                {"lost_processors", lost_json(run)},
                {"late_blocks", late_json(run)},
                {"policy_stalls", run.policy_stalls},
                {"choice", policy.chosen.empty() ? Json(nullptr) : Json(policy.chosen)},
                {"note", policy.note + (policy.note.empty() || run.note.empty() ? "" : "; ") + run.note},
                {"error", text_or_null(run.error)}};
    if (trace) report["trace"] = trace_json(run);
    return report.dump(-1, ' ', false, Json::error_handler_t::replace);
}

namespace {

[[noreturn]] void refuse(const std::string& path, int error, const char* problem) {
    throw ApiError(error, "APPORTION_REPORT={}: the report cannot be written ({}); {}", path, problem,
                   error == ENOSPC ? "make room there, or name a file on another disk"
                                   : "name a regular file that can be appended to");
}

[[noreturn]] void refuse(const std::string& path, int error) { refuse(path, error, std::strerror(error)); }

/// A pipe would block until it is read. A device that takes what is written never does.
void refuse_pipe(const std::string& path, const struct stat& status) {
    if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) refuse(path, EINVAL, "it is a pipe");
}

/// Whether no other program that appends holds it. Theirs takes no time: one that keeps it must not stop a run.
bool own_file(int file) {
    constexpr int kTries = 100;
    for (int tried = 0; tried < kTries; ++tried) {
        if (flock(file, LOCK_EX | LOCK_NB) == 0) return true;
        if (errno != EINTR && errno != EWOULDBLOCK) return true;  // there are no locks
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
}

}  // namespace

void check_report_file(const std::string& path) {
    namespace fs = std::filesystem;
    struct stat status;
    const bool exists = stat(path.c_str(), &status) == 0;
    if (exists && S_ISDIR(status.st_mode)) refuse(path, EISDIR);
    if (exists) refuse_pipe(path, status);
    const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
    const bool writable = exists ? access(path.c_str(), W_OK) == 0 : access(folder.c_str(), W_OK | X_OK) == 0;
    if (!writable) refuse(path, errno);
}

void append_report(const std::string& path, const std::string& json) {
    // Without waiting, should it have become a pipe.
    const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (file < 0) refuse(path, errno);
    // One program at a time: what a full disk took of a line is the file's end, and is cut off again.
    if (!own_file(file)) {
        close(file);
        refuse(path, EBUSY, "another program has locked it for 5 s");
    }
    struct stat before;
    const bool regular = fstat(file, &before) == 0 && S_ISREG(before.st_mode);
    const std::string line = json + "\n";
    const ssize_t written = write(file, line.data(), line.size());
    const int error = written < 0 ? errno : ENOSPC;
    const bool whole = written == static_cast<ssize_t>(line.size());
    const bool clean = whole || !regular || ftruncate(file, before.st_size) == 0;
    const bool closed = close(file) == 0;
    if (!whole || !clean || !closed) refuse(path, error);
}

}  // namespace apportion
