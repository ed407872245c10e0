// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/mpi/world.hpp"

#include <fmt/format.h>
#include <starpu_mpi.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "policies/starpu/error.hpp"

namespace apportion {

namespace {

World* world = nullptr;  ///< until finish(); threads may outlive static objects

void check(int status, const char* function) {
    if (status == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(status, text, &length);
    throw std::runtime_error(std::string(function) + " failed: " + text);
}

bool ours_ran = false;

/// StarPU-MPI's thread has got a core, which is all that can be asked of it before it runs.
void refuse_foreign_starpu_mpi() {
    if (!ours_ran && starpu_mpi_get_thread_cpuid() >= 0)
        throw ApiError(EBUSY, "the program has started StarPU-MPI itself, which apportion_mpi_init does");
}

}  // namespace

World& World::get() {
    if (!world) world = new World;
    return *world;
}

std::pair<int, int> World::rank_and_size() {
    int running = 0, ended = 0, rank = 0, size = 1;
    MPI_Initialized(&running);
    MPI_Finalized(&ended);
    if (world || !running || ended) return {get().rank(), get().size()};
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
    return {rank, size};
}

World::World() {
    int ended = 0, running = 0, level = MPI_THREAD_SINGLE;
    MPI_Finalized(&ended);
    if (ended) throw ApiError(EINVAL, "MPI has ended, and starts only once in a process");
    refuse_foreign_starpu_mpi();
    MPI_Initialized(&running);
    if (!running) {
        check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), "MPI_Init_thread");
        started_here_ = true;
    } else {
        MPI_Query_thread(&level);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    if (level < MPI_THREAD_MULTIPLE && size_ > 1)
        throw ApiError(ENOTSUP,
                       "MPI gives no thread level MPI_THREAD_MULTIPLE, which StarPU-MPI's thread needs beside the "
                       "program's; start MPI with it, or take an MPI that has it");
    for (MPI_Comm* own : {&common_, &of_grants_}) check(MPI_Comm_dup(MPI_COMM_WORLD, own), "MPI_Comm_dup");
}

std::string World::start_starpu_mpi() {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE) return {};  // one rank, which does not need it
    // StarPU-MPI takes each message of MPI_COMM_WORLD with the tags 42 to 48, of which programs know nothing.
    int* highest = nullptr;
    int has_highest = 0;
    check(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &highest, &has_highest), "MPI_Comm_get_attr");
    constexpr int kTaken = 16;
    if (has_highest != 0) starpu_mpi_set_communication_tag(*highest - kTaken);
    ours_ran = true;
    // With one rank its thread sleeps, and has no core of its own.
    constexpr const char* kUnbound = "STARPU_MPI_NOBIND";
    const bool unbound = size_ == 1 && !std::getenv(kUnbound) && setenv(kUnbound, "1", 0) == 0;
    starpu_mpi_runs_ = starpu_mpi_init_comm(nullptr, nullptr, 0, MPI_COMM_WORLD) == 0;
    if (unbound) unsetenv(kUnbound);
    if (!starpu_mpi_runs_) return "starpu_mpi_init_comm failed";
    starpu_mpi_comm_register(of_grants_);
    return {};
}

bool World::runs() { return world != nullptr; }

void World::stop_starpu_mpi() {
    if (world && std::exchange(world->starpu_mpi_runs_, false)) starpu_mpi_shutdown();
}

bool World::takes_core() { return true; }

void World::abort() {
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    std::abort();
}

void World::finish() {
    if (!world) return;
    for (MPI_Comm* own : {&world->common_, &world->of_grants_}) MPI_Comm_free(own);
    if (world->started_here_) MPI_Finalize();
    delete std::exchange(world, nullptr);
}

void World::meet(const std::string& call) const {
    const std::uint64_t hash = std::hash<std::string>{}(call), mine[] = {hash, ~hash};
    std::uint64_t most[] = {0, 0};
    check(MPI_Allreduce(mine, most, 2, MPI_UINT64_T, MPI_MAX, common_), "MPI_Allreduce");
    if (~most[1] == most[0]) return;
    const std::vector<std::string> calls = gather(call);
    const auto other = std::ranges::find_if(calls, [&](const std::string& its) { return its != calls.front(); });
    throw ApiError(EINVAL, fmt::format("rank 0 calls {}, and rank {} calls {}; all ranks must call the same functions, "
                                       "in the same order",
                                       calls.front(), other - calls.begin(), *other));
}

void World::share(void* data, std::size_t bytes) const {
    constexpr std::size_t kMost = std::size_t{1} << 30;  // counts are ints
    auto* at = static_cast<char*>(data);
    for (std::size_t done = 0; done < bytes; done += kMost)
        check(MPI_Bcast(at + done, static_cast<int>(std::min(kMost, bytes - done)), MPI_BYTE, 0, common_), "MPI_Bcast");
}

std::vector<std::string> World::gather(const std::string& text) const {
    const auto ranks = static_cast<std::size_t>(size_);
    const long long mine = std::ssize(text);
    std::vector<long long> lengths(ranks);
    check(MPI_Allgather(&mine, 1, MPI_LONG_LONG, lengths.data(), 1, MPI_LONG_LONG, common_), "MPI_Allgather");
    const long long longest = std::ranges::max(lengths);
    const long long at_once = std::numeric_limits<int>::max() / size_;  // counts are ints
    std::vector<std::string> texts(ranks);
    for (long long done = 0; done < longest; done += at_once) {
        std::vector<int> counts(ranks), begins(ranks);
        const auto part = [&](long long length) { return static_cast<int>(std::clamp(length - done, 0LL, at_once)); };
        std::ranges::transform(lengths, counts.begin(), part);
        std::exclusive_scan(counts.begin(), counts.end(), begins.begin(), 0);
        std::string all(static_cast<std::size_t>(begins.back() + counts.back()), '\0');
        check(MPI_Allgatherv(text.data() + std::min(done, mine), part(mine), MPI_CHAR, all.data(), counts.data(),
                             begins.data(), MPI_CHAR, common_),
              "MPI_Allgatherv");
        for (std::size_t r = 0; r < ranks; ++r)
            texts[r].append(all, static_cast<std::size_t>(begins[r]), static_cast<std::size_t>(counts[r]));
    }
    return texts;
}

}  // namespace apportion
