// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/mpi/post.hpp"

#include <fmt/format.h>
#include <starpu_mpi.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "policies/starpu/error.hpp"

namespace apportion {

namespace {

// StarPU-MPI 1.4 counts a message's bytes in an int; half of that keeps every part of it well below.
constexpr std::size_t kLargestMessage = std::size_t{1} << 30;

// Tags: messages from 0 on; data above, by grant, array and part of the range.
constexpr std::int64_t kData = std::int64_t{1} << 40;
constexpr std::int64_t kArraysPerGrant = 64, kPartsPerArray = 1 << 16, kGrants = std::int64_t{1} << 32;

std::size_t bytes_of(const apportion_mpi_array& array) { return array.bytes_per_unit * array.pieces; }

starpu_data_handle_t registered(const apportion_mpi_array& array, UnitRange units) {
    starpu_data_handle_t handle = nullptr;
    const auto address =
        reinterpret_cast<std::uintptr_t>(array.data) + static_cast<std::size_t>(units.first) * array.bytes_per_unit;
    const auto count = static_cast<std::uint32_t>(units.units);
    if (array.pieces == 1)
        starpu_vector_data_register(&handle, STARPU_MAIN_RAM, address, count, array.bytes_per_unit);
    else
        starpu_matrix_data_register(&handle, STARPU_MAIN_RAM, address,
                                    static_cast<std::uint32_t>(array.stride / array.bytes_per_unit), count,
                                    static_cast<std::uint32_t>(array.pieces), array.bytes_per_unit);
    return handle;
}

void check(int status, const char* function) {
    if (status != 0) throw ApiError(EIO, fmt::format("{} failed with status {}", function, status));
}

}  // namespace

std::string why_no_arrays(const Post::Arrays& arrays) {
    if (arrays.size() > kArraysPerGrant) return fmt::format("a load has at most {} arrays", kArraysPerGrant);
    constexpr std::size_t kInt = std::numeric_limits<int>::max();
    for (std::size_t k = 0; k < arrays.size(); ++k) {
        const apportion_mpi_array& a = arrays[k];
        const auto problem = [&](const char* what) { return fmt::format("arrays[{}]: {}", k, what); };
        if (!a.data) return problem("data is NULL");
        if (a.mode != STARPU_R && a.mode != STARPU_W)
            return problem("mode must be STARPU_R (input) or STARPU_W (a result)");
        if (a.bytes_per_unit == 0 || a.pieces == 0) return problem("bytes_per_unit and pieces must not be 0");
        if (a.pieces > kInt || a.bytes_per_unit > kLargestMessage || bytes_of(a) > kLargestMessage)
            return problem("a unit of more than 1 GiB is no message; use smaller units");
        if (a.pieces > 1 && (a.stride % a.bytes_per_unit != 0 || a.stride < a.bytes_per_unit || a.stride > kInt))
            return problem("stride must be a multiple of bytes_per_unit, and less than 2 GiB");
    }
    return {};
}

void Post::delivered(void* arg) {
    std::unique_ptr<Parcel> parcel(static_cast<Parcel*>(arg));
    Post& post = *parcel->post;
    const std::lock_guard<std::mutex> lock(post.mutex_);
    post.parcels_.push_back(std::move(parcel));
    post.something_.notify_one();
}

void Post::add(Event event) {
    const std::lock_guard<std::mutex> lock(mutex_);
    events_.push_back(std::move(event));
    something_.notify_one();
}

void Post::send(int to, const Message& message) {
    auto parcel = std::make_unique<Parcel>();
    parcel->post = this;
    parcel->message = std::make_unique<Message>(message);
    starpu_variable_data_register(&parcel->handle, STARPU_MAIN_RAM,
                                  reinterpret_cast<std::uintptr_t>(parcel->message.get()), sizeof(Message));
    ++on_the_way_;
    bytes_moved_ += sizeof(Message);
    moved_at_ = std::chrono::steady_clock::now();
    const starpu_data_handle_t handle = parcel->handle;
    check(starpu_mpi_isend_detached(handle, to, sent_[to]++, comm_, delivered, parcel.release()),
          "starpu_mpi_isend_detached");
}

void Post::listen(int from) {
    auto parcel = std::make_unique<Parcel>();
    parcel->post = this;
    parcel->from = from;
    bytes_moved_ += sizeof(Message);
    parcel->message = std::make_unique<Message>();
    starpu_variable_data_register(&parcel->handle, STARPU_MAIN_RAM,
                                  reinterpret_cast<std::uintptr_t>(parcel->message.get()), sizeof(Message));
    const starpu_data_handle_t handle = parcel->handle;
    check(starpu_mpi_irecv_detached(handle, from, heard_[from]++, comm_, delivered, parcel.release()),
          "starpu_mpi_irecv_detached");
}

bool Post::send_data(int to, std::int64_t grant, const Arrays& arrays, int mode, UnitRange units) {
    return move_data(true, to, grant, arrays, mode, units);
}

bool Post::receive_data(int from, std::int64_t grant, const Arrays& arrays, int mode, UnitRange units) {
    return move_data(false, from, grant, arrays, mode, units);
}

bool Post::move_data(bool out, int node, std::int64_t grant, const Arrays& arrays, int mode, UnitRange units) {
    auto batch = std::make_shared<Batch>();
    batch->event.kind = out ? Event::Kind::sent : Event::Kind::received;
    batch->event.node = node;
    batch->event.grant = grant;
    batch->event.units = units;
    std::vector<std::pair<std::unique_ptr<Parcel>, std::int64_t>> parcels;
    for (std::size_t k = 0; k < arrays.size(); ++k) {
        if (arrays[k].mode != mode) continue;
        const Units at_once = std::max<Units>(1, static_cast<Units>(kLargestMessage / bytes_of(arrays[k])));
        std::int64_t tag =
            kData + ((grant % kGrants) * kArraysPerGrant + static_cast<std::int64_t>(k)) * kPartsPerArray;
        for (Units done = 0; done < units.units; done += at_once, ++tag) {
            auto parcel = std::make_unique<Parcel>();
            parcel->post = this;
            parcel->batch = batch;
            const UnitRange part{units.first + done, std::min(at_once, units.units - done)};
            parcel->handle = registered(arrays[k], part);
            bytes_moved_ += bytes_of(arrays[k]) * static_cast<std::uint64_t>(part.units);
            parcels.emplace_back(std::move(parcel), tag);
        }
    }
    batch->left = parcels.size();
    on_the_way_ += parcels.size();
    for (auto& [parcel, tag] : parcels) {
        const starpu_data_handle_t handle = parcel->handle;
        if (out)
            check(starpu_mpi_isend_detached(handle, node, tag, comm_, delivered, parcel.release()),
                  "starpu_mpi_isend_detached");
        else
            check(starpu_mpi_irecv_detached(handle, node, tag, comm_, delivered, parcel.release()),
                  "starpu_mpi_irecv_detached");
    }
    return !parcels.empty();
}

std::optional<Event> Post::unpack(std::unique_ptr<Parcel> parcel) {
    starpu_data_unregister(parcel->handle);
    moved_at_ = std::chrono::steady_clock::now();
    if (parcel->from >= 0) {
        Event event;
        event.node = parcel->from;
        event.message = *parcel->message;
        return event;
    }
    --on_the_way_;
    if (!parcel->batch || --parcel->batch->left > 0) return std::nullopt;
    return parcel->batch->event;
}

std::optional<Event> Post::wait(std::chrono::steady_clock::time_point until) {
    while (true) {
        std::unique_ptr<Parcel> parcel;
        {
            std::unique_lock<std::mutex> lock(mutex_);
            const auto any = [this] { return !parcels_.empty() || !events_.empty(); };
            if (until == std::chrono::steady_clock::time_point::max())
                something_.wait(lock, any);
            else if (!something_.wait_until(lock, until, any))
                return std::nullopt;
            if (!events_.empty()) {
                Event event = std::move(events_.front());
                events_.pop_front();
                return event;
            }
            parcel = std::move(parcels_.front());
            parcels_.pop_front();
        }
        if (auto event = unpack(std::move(parcel))) return event;
    }
}

Event Post::wait() { return *wait(std::chrono::steady_clock::time_point::max()); }

}  // namespace apportion
