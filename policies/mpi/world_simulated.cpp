// SPDX-License-Identifier: LGPL-2.1-or-later
//
// World in a simulation: ranks tell each other what they have to say by StarPU-MPI's handles. All go through rank 0.
#include <fmt/format.h>
#include <starpu.h>
#include <starpu_mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "policies/mpi/post.hpp"
#include "policies/mpi/world.hpp"
#include "policies/starpu/machine.hpp"
#include "policies/starpu/mutex.hpp"

namespace apportion {

namespace {

World* world = nullptr;  ///< until finish(); threads may outlive static objects

/// Bytes on their way between two ranks.
class Transfers {
  public:
    Transfers() = default;
    Transfers(const Transfers&) = delete;
    Transfers& operator=(const Transfers&) = delete;
    ~Transfers() { wait(); }

    void send(int to, std::int64_t tag, const void* data, std::size_t bytes) {
        move(starpu_mpi_isend_detached, to, tag, const_cast<void*>(data), bytes);
    }
    void receive(int from, std::int64_t tag, void* data, std::size_t bytes) {
        move(starpu_mpi_irecv_detached, from, tag, data, bytes);
    }
    void wait() {
        {
            Lock lock(mutex_);
            changed_.wait(lock, [this] { return left_ == 0; });
        }
        for (const starpu_data_handle_t handle : handles_) starpu_data_unregister(handle);
        handles_.clear();
    }

  private:
    template <class Function>
    void move(Function function, int rank, std::int64_t tag, void* data, std::size_t bytes) {
        for (std::size_t done = 0; done < bytes; done += kLargestMessage) {
            starpu_data_handle_t handle = nullptr;
            starpu_vector_data_register(&handle, STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(data) + done,
                                        std::min<std::size_t>(kLargestMessage, bytes - done), 1);
            handles_.push_back(handle);
            {
                const Lock lock(mutex_);
                ++left_;
            }
            if (const int status = function(handle, rank, tag, MPI_COMM_WORLD, arrived, this); status != 0)
                throw std::runtime_error(fmt::format("StarPU-MPI refuses a message with status {}", status));
        }
    }
    static void arrived(void* self) {
        auto& transfers = *static_cast<Transfers*>(self);
        const Lock lock(transfers.mutex_);
        --transfers.left_;
        transfers.changed_.notify_all();
    }

    Mutex mutex_;
    Condition changed_;
    int left_ = 0;
    std::vector<starpu_data_handle_t> handles_;
};

/// The rank's name among those that StarPU is told of all.
std::string host_of(int rank) {
    const char* const all = std::getenv("STARPU_MPI_HOSTNAMES");
    std::istringstream words(all ? all : "");
    std::string host;
    for (int r = 0; r <= rank && words >> host; ++r) continue;
    return host;
}

}  // namespace

World& World::get() {
    if (!world) world = new World;
    return *world;
}

std::pair<int, int> World::rank_and_size() { return {get().rank(), get().size()}; }

World::World() : of_grants_(MPI_COMM_WORLD), rank_(starpu_mpi_world_rank()), size_(starpu_mpi_world_size()) {
    set_host_name(host_of(rank_));
}

std::string World::start_starpu_mpi() {
    starpu_mpi_runs_ = starpu_mpi_init_comm(nullptr, nullptr, 0, MPI_COMM_WORLD) == 0;
    return starpu_mpi_runs_ ? "" : "starpu_mpi_init_comm failed";
}

bool World::runs() { return world != nullptr; }

void World::stop_starpu_mpi() {
    if (!world || !world->starpu_mpi_runs_) return;
    world->gather("");  // none ends while another one still has something to say
    world->starpu_mpi_runs_ = false;
    starpu_mpi_shutdown();
}

/// On a host of its own.
bool World::takes_core() { return false; }

/// MPI's own function is for StarPU-MPI alone, and all ranks are one process.
void World::abort() {
    std::fflush(nullptr);
    std::_Exit(EXIT_FAILURE);
}

void World::finish() { delete std::exchange(world, nullptr); }

void World::meet(const std::string&) const {}

void World::share(void* data, std::size_t bytes) const {
    if (!starpu_mpi_runs_) return;
    const std::int64_t tag = Post::kTags + tag_++;
    Transfers transfers;
    if (rank_ != 0)
        transfers.receive(0, tag, data, bytes);
    else
        for (int other = 1; other < size_; ++other) transfers.send(other, tag, data, bytes);
}

std::vector<std::string> World::gather(const std::string& text) const {
    std::vector<std::string> texts(static_cast<std::size_t>(size_), text);
    if (!starpu_mpi_runs_ || size_ == 1) return texts;
    std::vector<std::uint64_t> lengths(texts.size(), text.size());
    const std::int64_t of_length = Post::kTags + tag_++, of_text = Post::kTags + tag_++;
    {
        Transfers transfers;
        if (rank_ != 0) {
            transfers.send(0, of_length, &lengths[0], sizeof lengths[0]);
            transfers.send(0, of_text, text.data(), text.size());
        }
        for (int other = 1; rank_ == 0 && other < size_; ++other)
            transfers.receive(other, of_length, &lengths[static_cast<std::size_t>(other)], sizeof lengths[0]);
        transfers.wait();
        for (int other = 1; rank_ == 0 && other < size_; ++other) {
            std::string& its = texts[static_cast<std::size_t>(other)];
            its.resize(lengths[static_cast<std::size_t>(other)]);
            transfers.receive(other, of_text, its.data(), its.size());
        }
    }
    std::string all;
    for (const std::string& its : texts) all += its;
    share(lengths.data(), lengths.size() * sizeof lengths[0]);
    all.resize(std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}));
    share(all.data(), all.size());
    for (std::size_t r = 0, at = 0; r < texts.size(); at += lengths[r++]) texts[r] = all.substr(at, lengths[r]);
    return texts;
}

}  // namespace apportion
