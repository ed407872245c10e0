// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/mpi/post.hpp"

#include <fmt/format.h>
#include <starpu_mpi.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "policies/starpu/mutex.hpp"
#include "policies/starpu/watch.hpp"

namespace apportion {

namespace {

// Tags: of messages, again and again; data above, by grant, array and part of the range.
constexpr std::int64_t kMessages = 16, kData = Post::kFirstTag + kMessages;
constexpr std::int64_t kArraysPerGrant = 64, kPartsPerArray = 1 << 20, kGrants = std::int64_t{1} << 32;
static_assert(kData + kGrants * kArraysPerGrant * kPartsPerArray < Post::kTags);

/// Of an array, in a message; and what travels to a node before more is sent, at least, so that the network has always
/// something to do. Large enough to cost nothing, and small enough that where many nodes share a slow link all hear of
/// some in time.
constexpr std::size_t kPart = std::size_t{1} << 24, kTravels = 2 * kPart;

/// Whether memory of the units of one is memory of the other's. Pieces are in the order of their addresses.
bool overlap(const apportion_mpi_array& one, const apportion_mpi_array& other, std::uint64_t units) {
    const auto begin = [](const apportion_mpi_array& a, std::size_t piece) {
        return reinterpret_cast<std::uintptr_t>(a.data) + piece * a.stride;
    };
    for (std::size_t p = 0, q = 0; p < one.pieces && q < other.pieces;) {
        const std::uintptr_t p_end = begin(one, p) + units * one.bytes_per_unit,
                             q_end = begin(other, q) + units * other.bytes_per_unit;
        if (begin(one, p) < q_end && begin(other, q) < p_end) return true;
        if (p_end < q_end)
            ++p;
        else
            ++q;
    }
    return false;
}

std::size_t bytes_of(const apportion_mpi_array& array) { return array.bytes_per_unit * array.pieces; }

void check(int status, const char* function) {
    if (status != 0) throw std::runtime_error(fmt::format("{} failed with status {}", function, status));
}

}  // namespace

std::string why_no_arrays(const Post::Arrays& arrays, std::uint64_t units) {
    if (arrays.size() > kArraysPerGrant) return fmt::format("a load has at most {} arrays", kArraysPerGrant);
    constexpr std::size_t kInt = std::numeric_limits<int>::max();
    for (std::size_t k = 0; k < arrays.size(); ++k) {
        const apportion_mpi_array& a = arrays[k];
        const auto problem = [&](const char* what) { return fmt::format("arrays[{}]: {}", k, what); };
        if (!a.data && units > 0) return problem("data is NULL");
        if (a.mode != STARPU_R && a.mode != STARPU_W)
            return problem("mode must be STARPU_R (input) or STARPU_W (a result)");
        if (a.bytes_per_unit == 0 || a.pieces == 0) return problem("bytes_per_unit and pieces must not be 0");
        if (a.pieces > kInt || a.bytes_per_unit > kLargestMessage || bytes_of(a) > kLargestMessage)
            return problem("a unit of more than 1 GiB is no message; use smaller units");
        if (a.pieces > 1 && (a.stride % a.bytes_per_unit != 0 || a.stride < a.bytes_per_unit || a.stride > kInt ||
                             a.stride / a.bytes_per_unit < units))
            return problem(
                "stride must be a multiple of bytes_per_unit, less than 2 GiB, and no less than a piece of all units");
    }
    if (TransferMemory::kFolded) return {};  // addresses mean nothing
    for (std::size_t k = 0; k < arrays.size(); ++k)
        for (std::size_t j = 0; j < k; ++j)
            if (arrays[k].mode != arrays[j].mode && overlap(arrays[k], arrays[j], units))
                return fmt::format(
                    "arrays[{}] and arrays[{}], an input and a result, have memory in common: the load changes its "
                    "data in place, which no several nodes can do",
                    j, k);
    return {};
}

/// What has arrived and is not looked at. Wakes the thread that waits for it, at moments that it named as well.
class Post::Box final : public Watched {
  public:
    void put(Arrival arrival) {
        const Lock lock(mutex_);
        arrival.at_us = starpu_timing_now();
        arrivals_.push_back(std::move(arrival));
        something_.notify_one();
    }
    /// Of `self`. Empty: the moment has come.
    static Arrival take(const std::shared_ptr<Box>& self, double until_us) {
        Lock lock(self->mutex_);
        while (self->arrivals_.empty()) {
            if (starpu_timing_now() >= until_us) return {};
            if (until_us < self->alarm_us_) {
                self->alarm_us_ = until_us;
                if (!wake_at(self, until_us)) throw std::runtime_error("no thread can be had for the watch");
            }
            self->something_.wait(lock);
        }
        Arrival arrival = std::move(self->arrivals_.front());
        self->arrivals_.pop_front();
        return arrival;
    }

    void look(double) noexcept override {
        const Lock lock(mutex_);
        alarm_us_ = std::numeric_limits<double>::infinity();
        something_.notify_one();
    }

  private:
    Mutex mutex_;
    Condition something_;
    std::deque<Arrival> arrivals_;
    double alarm_us_ = std::numeric_limits<double>::infinity();  ///< the next one
};

Post::Post(MPI_Comm comm) : comm_(comm), box_(std::make_shared<Box>()) {}
Post::~Post() = default;

void Post::delivered(void* arg) {
    std::unique_ptr<Parcel> parcel(static_cast<Parcel*>(arg));
    Box& box = *parcel->post->box_;
    box.put({.parcel = std::move(parcel)});
}

double Post::moved_at_us() const { return moved_at_us_ + stood_still_us(); }

void Post::add(Event event) { box_->put({.event = std::move(event)}); }

starpu_data_handle_t Post::registered(const apportion_mpi_array& array, UnitRange units) {
    starpu_data_handle_t handle = nullptr;
    const auto address = reinterpret_cast<std::uintptr_t>(
        memory_.of(static_cast<char*>(array.data) + static_cast<std::size_t>(units.first) * array.bytes_per_unit));
    const auto count = static_cast<std::uint32_t>(units.units);
    if (array.pieces == 1 || TransferMemory::kFolded)
        starpu_vector_data_register(&handle, STARPU_MAIN_RAM, address, count, bytes_of(array));
    else
        starpu_matrix_data_register(&handle, STARPU_MAIN_RAM, address,
                                    static_cast<std::uint32_t>(array.stride / array.bytes_per_unit), count,
                                    static_cast<std::uint32_t>(array.pieces), array.bytes_per_unit);
    return handle;
}

std::unique_ptr<Post::Parcel> Post::parcel_of(const Message& message) {
    auto parcel = std::make_unique<Parcel>();
    parcel->post = this;
    parcel->message = std::make_unique<Message>(message);
    starpu_variable_data_register(&parcel->handle, STARPU_MAIN_RAM,
                                  reinterpret_cast<std::uintptr_t>(parcel->message.get()), sizeof(Message));
    bytes_moved_ += sizeof(Message);
    return parcel;
}

void Post::send(int to, const Message& message) {
    auto parcel = parcel_of(message);
    ++on_the_way_;
    moved_at_us_ = starpu_timing_now() - stood_still_us();
    const starpu_data_handle_t handle = parcel->handle;
    check(
        starpu_mpi_isend_detached(handle, to, kFirstTag + sent_[to]++ % kMessages, comm_, delivered, parcel.release()),
        "starpu_mpi_isend_detached");
}

void Post::listen(int from) {
    auto parcel = parcel_of({});
    parcel->from = from;
    const starpu_data_handle_t handle = parcel->handle;
    check(starpu_mpi_irecv_detached(handle, from, kFirstTag + heard_[from]++ % kMessages, comm_, delivered,
                                    parcel.release()),
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
    batch->event = {
        .kind = out ? Event::Kind::sent : Event::Kind::received, .node = node, .grant = grant, .units = units};
    std::vector<std::unique_ptr<Parcel>> parcels;
    for (std::size_t k = 0; k < arrays.size(); ++k) {
        if (arrays[k].mode != mode) continue;
        const Units at_once = std::max<Units>(1, static_cast<Units>(kPart / bytes_of(arrays[k])));
        std::int64_t tag =
            kData + ((grant % kGrants) * kArraysPerGrant + static_cast<std::int64_t>(k)) * kPartsPerArray;
        for (Units done = 0; done < units.units; done += at_once, ++tag) {
            const UnitRange part{units.first + done, std::min(at_once, units.units - done)};
            auto parcel = std::make_unique<Parcel>();
            parcel->post = this;
            parcel->batch = batch;
            parcel->tag = tag;
            parcel->bytes = bytes_of(arrays[k]) * static_cast<std::size_t>(part.units);
            parcel->handle = registered(arrays[k], part);
            bytes_moved_ += parcel->bytes;
            parcels.push_back(std::move(parcel));
        }
    }
    batch->left = parcels.size();
    on_the_way_ += parcels.size();
    const bool any = !parcels.empty();
    for (std::unique_ptr<Parcel>& parcel : parcels) {
        if (out) {
            parcel->to = node;
            outboxes_[node].waiting.push_back(std::move(parcel));
            continue;
        }
        const starpu_data_handle_t handle = parcel->handle;
        const std::int64_t tag = parcel->tag;
        check(starpu_mpi_irecv_detached(handle, node, tag, comm_, delivered, parcel.release()),
              "starpu_mpi_irecv_detached");
    }
    if (out) send_next(node);
    return any;
}

void Post::send_next(int to) {
    Outbox& its = outboxes_[to];
    while (!its.waiting.empty() && its.bytes_sent < kTravels) {
        std::unique_ptr<Parcel> parcel = std::move(its.waiting.front());
        its.waiting.pop_front();
        its.bytes_sent += parcel->bytes;
        const starpu_data_handle_t handle = parcel->handle;
        const std::int64_t tag = parcel->tag;
        check(starpu_mpi_isend_detached(handle, to, tag, comm_, delivered, parcel.release()),
              "starpu_mpi_isend_detached");
    }
}

std::optional<Event> Post::unpack(Arrival arrival) {
    std::optional<Event> event = std::move(arrival.event);
    if (const auto& parcel = arrival.parcel) {
        starpu_data_unregister(parcel->handle);
        moved_at_us_ = starpu_timing_now() - stood_still_us();
        if (parcel->from >= 0) {
            event.emplace();
            event->node = parcel->from;
            event->message = *parcel->message;
        } else {
            --on_the_way_;
            if (parcel->to >= 0) {
                outboxes_[parcel->to].bytes_sent -= parcel->bytes;
                send_next(parcel->to);
            }
            if (parcel->batch && --parcel->batch->left == 0) event = std::move(parcel->batch->event);
        }
    }
    if (event) event->at_us = arrival.at_us;
    return event;
}

std::optional<Event> Post::wait(double until_us) {
    while (true) {
        Arrival arrival = Box::take(box_, until_us);
        if (!arrival.event && !arrival.parcel) return std::nullopt;
        if (auto event = unpack(std::move(arrival))) return event;
    }
}

Event Post::wait() { return *wait(std::numeric_limits<double>::infinity()); }

std::optional<double> Post::answer_s(int rank, int ranks, double limit_s) {
    const auto limit_us = [&] { return moved_at_us() + limit_s * 1e6; };
    constexpr int kTimes = 5;  // the first has connections made; of the others, the median
    std::vector<double> seconds;
    for (int time = 0; time < kTimes; ++time) {
        for (int other = 1; rank == 0 && other < ranks; ++other) listen(other);
        if (rank != 0) {
            listen(0);
            wait();
            send(0, {});
            continue;
        }
        const double begin_us = starpu_timing_now();
        for (int other = 1; other < ranks; ++other) send(other, {});
        for (int other = 1; other < ranks; ++other) {
            while (!wait(limit_us()))
                if (starpu_timing_now() >= limit_us()) return std::nullopt;  // else it stood still
            if (other == 1 && time > 0) seconds.push_back((starpu_timing_now() - begin_us) * 1e-6);
        }
    }
    settle();
    std::ranges::sort(seconds);
    return seconds.empty() ? 0.0 : seconds[seconds.size() / 2];
}

void Post::settle() {
    while (on_the_way_ > 0) unpack(Box::take(box_, std::numeric_limits<double>::infinity()));
}

}  // namespace apportion
