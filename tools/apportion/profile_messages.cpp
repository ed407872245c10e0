// SPDX-License-Identifier: LGPL-2.1-or-later
#include <starpu.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "tools/apportion/command.hpp"
#include "tools/apportion/profile_parts.hpp"

namespace apportion {

namespace {

/// Bytes that StarPU brings from one memory to another.
class Message {
  public:
    /// They lie in `from`, and `to` has room for them.
    Message(std::size_t bytes, unsigned from, unsigned to) : bytes_(bytes), from_(from), to_(to) {
        if (starpu_malloc(&data_, bytes) != 0) throw UserError("there is no memory for a message of {} bytes", bytes);
        std::memset(data_, 0, bytes);
        starpu_vector_data_register(&handle_, STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(data_), bytes, 1);
        go(to);  // what is allocated there stays
        go(from);
    }
    ~Message() {
        starpu_data_unregister(handle_);
        starpu_free_noflag(data_, bytes_);
    }
    Message(const Message&) = delete;
    Message& operator=(const Message&) = delete;

    void go(unsigned memory) {
        if (starpu_data_acquire_on_node(handle_, static_cast<int>(memory), STARPU_RW) != 0) refuse(memory);
        starpu_data_release_on_node(handle_, static_cast<int>(memory));
    }

    /// There, or back; `arrived` is posted at its end.
    void begin(bool there, starpu_sem_t& arrived) {
        arrived_ = &arrived;
        where_ = there ? to_ : from_;
        const auto ended = [](void* message) { static_cast<Message*>(message)->end(); };
        begun_ = starpu_data_acquire_on_node_cb(handle_, static_cast<int>(where_), STARPU_RW, ended, this) == 0;
    }
    bool begun() const { return begun_; }
    void require_begun() const {
        if (!begun_) refuse(where_);
    }
    /// When it was there [us], once it has been posted.
    double end_us() const { return end_us_; }

  private:
    [[noreturn]] static void refuse(unsigned memory) { throw UserError("StarPU moves no data to memory {}", memory); }
    void end() {
        end_us_ = starpu_timing_now();
        starpu_data_release_on_node(handle_, static_cast<int>(where_));
        starpu_sem_post(arrived_);
    }

    void* data_ = nullptr;
    std::size_t bytes_;
    unsigned from_, to_, where_ = 0;
    starpu_data_handle_t handle_ = nullptr;
    starpu_sem_t* arrived_ = nullptr;
    bool begun_ = false;
    double end_us_ = 0;
};

/// All at once; returns when that began [us].
double travel(std::span<const std::unique_ptr<Message>> messages, bool there) {
    starpu_sem_t arrived;
    starpu_sem_init(&arrived, 0, 0);
    const double begin_us = starpu_timing_now();
    for (const auto& message : messages) message->begin(there, arrived);
    for (const auto& message : messages)
        if (message->begun()) starpu_sem_wait(&arrived);
    starpu_sem_destroy(&arrived);
    for (const auto& message : messages) message->require_begun();
    return begin_us;
}

}  // namespace

std::vector<std::vector<double>> journeys_s(std::span<const unsigned> memories, std::size_t bytes_in,
                                            std::size_t bytes_out, int times) {
    std::vector<std::unique_ptr<Message>> messages;
    std::vector<std::size_t> of;  // which memory, of each message
    for (std::size_t m = 0; m < memories.size(); ++m) {
        if (bytes_in > 0) messages.push_back(std::make_unique<Message>(bytes_in, STARPU_MAIN_RAM, memories[m]));
        if (bytes_out > 0) messages.push_back(std::make_unique<Message>(bytes_out, memories[m], STARPU_MAIN_RAM));
        of.resize(messages.size(), m);
    }
    std::vector<std::vector<double>> seconds;
    for (int time = 0; time < times; ++time) {
        if (time > 0) travel(messages, false);
        const double begin_us = travel(messages, true);
        seconds.emplace_back(memories.size(), 0.0);
        for (std::size_t k = 0; k < messages.size(); ++k)
            seconds.back()[of[k]] = std::max(seconds.back()[of[k]], (messages[k]->end_us() - begin_us) * 1e-6);
    }
    return seconds;
}

}  // namespace apportion
