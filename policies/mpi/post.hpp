// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Messages and data between rank 0 and the nodes, as detached sends and receives of StarPU-MPI. What happens on other
// threads (StarPU-MPI's, workers') becomes an event in one queue, which the thread that runs the load waits for.
//
// Moments are microseconds of StarPU's clock, which a simulation has, too. In one the content of data does not matter:
// what travels comes from the same memory and goes there, whatever the array (transfer_memory.hpp).
//
// Messages of one node arrive in the order in which they were sent: each has the next of a few numbers as its tag, and
// StarPU-MPI keeps the order of those with one tag. It keeps what it knows of a tag forever, so tags come again. Data
// are sent when the receiver has said that it waits for them, so that StarPU-MPI never has to put them aside.
#pragma once

#include <mpi.h>
#include <starpu.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "policies/engine/free_units.hpp"
#include "policies/mpi/apportion_mpi.h"
#include "policies/mpi/transfer_memory.hpp"

namespace apportion {

/// What rank 0 and a node tell each other about grants. All of one size, so that they travel as StarPU-MPI handles.
struct Message {
    enum class Kind : std::int64_t {
        // Rank 0 to a node:
        compute,       ///< a grant; the node posts receives for its input
        withdraw,      ///< of a grant what the node has not begun
        send_results,  ///< they count
        forget,        ///< they do not
        end,           ///< of the run; `text` where it failed
        // A node to rank 0:
        ready,      ///< for the grant's input
        arrived,    ///< the input
        withdrawn,  ///< of the grant the node keeps `units`
        computed,   ///< in `seconds`, half as many in `half_s`
        failed,     ///< the node's own load; `text`
        ended       ///< last message of a run
    };
    static constexpr std::size_t kText = 952;

    Kind kind = Kind::ended;
    std::int64_t grant = 0;
    std::int64_t first = 0;
    std::int64_t units = 0;
    double seconds = 0;
    double half_s = 0;
    char text[kText] = {};

    /// As much of it as a message takes: what all ranks say.
    static std::string fitted(const std::string& sentence) { return sentence.substr(0, kText - 1); }
    void set_text(const std::string& sentence) {
        const std::string fits = fitted(sentence);
        std::memset(text, 0, kText);
        std::memcpy(text, fits.data(), fits.size());
    }
};
static_assert(std::is_trivially_copyable_v<Message>);

struct Event {
    enum class Kind {
        message,  ///< `message`, from `node`
        sent,     ///< all data of `grant`, to `node`
        received,
        done,   ///< `units` by `worker` here, in `seconds`
        ended,  ///< the node's own load, with `status` and `text`
    };
    Kind kind = Kind::message;
    double at_us = 0;  ///< when it happened, however late it is looked at
    int node = 0;
    Message message{};
    std::int64_t grant = 0;
    UnitRange units{};
    int worker = 0;
    double seconds = 0;
    int status = 0;
    std::string text{};
};

class Post {
  public:
    using Arrays = std::vector<apportion_mpi_array>;

    /// Nothing else has data tags from kFirstTag on, but for others of the library from kTags on: StarPU-MPI receives
    /// what is early into a handle that the program has registered with that tag, whatever the communicator.
    explicit Post(MPI_Comm comm);
    ~Post();
    Post(const Post&) = delete;
    Post& operator=(const Post&) = delete;
    static constexpr std::int64_t kFirstTag = std::int64_t{1} << 40;
    static constexpr std::int64_t kTags = std::int64_t{1} << 60;

    void send(int to, const Message& message);
    /// The node's next message becomes an event.
    void listen(int from);

    /// The units' part of those arrays that have this mode, all of it or nothing: one event when it is there. False:
    /// there are no such arrays, and no event.
    bool send_data(int to, std::int64_t grant, const Arrays& arrays, int mode, UnitRange units);
    bool receive_data(int from, std::int64_t grant, const Arrays& arrays, int mode, UnitRange units);

    /// From any thread.
    void add(Event event);
    /// The next event; none until then.
    std::optional<Event> wait(double until_us);
    Event wait();
    /// Until nothing is on its way any more, but for messages that are listened for. What happens meanwhile is no
    /// event.
    void settle();

    /// Collective: seconds from a message of rank 0 to the first answer, when nothing else is on its way; 0 elsewhere.
    /// Nothing: there is none, of one rank at least, within `limit_s`.
    std::optional<double> answer_s(int rank, int ranks, double limit_s);

    /// Messages and data on their way, but for messages that are listened for.
    std::size_t on_the_way() const { return on_the_way_; }
    /// When something was sent, or arrived, for the last time, as if the program had not stood still since.
    double moved_at_us() const;
    /// From here and to here, since the process began.
    std::uint64_t bytes_moved() const { return bytes_moved_; }

  private:
    struct Batch {
        Event event;
        std::size_t left = 0;
    };
    struct Parcel {
        Post* post = nullptr;
        starpu_data_handle_t handle = nullptr;
        std::unique_ptr<Message> message;  ///< sent or received
        int from = -1;                     ///< a message that was listened for
        std::shared_ptr<Batch> batch;      ///< or data,
        int to = -1;                       ///< sent to this node
        std::int64_t tag = 0;
        std::size_t bytes = 0;
    };
    /// Data for one node, in the order in which they were to be sent: what is asked for first is there first, and that
    /// something arrives is seen before all has, however slow the network is.
    struct Outbox {
        std::deque<std::unique_ptr<Parcel>> waiting;
        std::size_t bytes_sent = 0;  ///< that have not arrived
    };
    struct Arrival {
        std::unique_ptr<Parcel> parcel{};  ///< one of the two
        std::optional<Event> event{};
        double at_us = 0;
    };
    class Box;  ///< of arrivals
    static void delivered(void* parcel);
    std::unique_ptr<Parcel> parcel_of(const Message& message);
    starpu_data_handle_t registered(const apportion_mpi_array& array, UnitRange units);
    bool move_data(bool out, int node, std::int64_t grant, const Arrays& arrays, int mode, UnitRange units);
    void send_next(int to);
    std::optional<Event> unpack(Arrival arrival);
    const MPI_Comm comm_;
    std::map<int, std::int64_t> sent_, heard_;  ///< messages to and from each node
    std::map<int, Outbox> outboxes_;
    std::size_t on_the_way_ = 0;
    std::uint64_t bytes_moved_ = 0;
    double moved_at_us_ = 0;  ///< less what the program had stood still
    TransferMemory memory_;
    const std::shared_ptr<Box> box_;  ///< also of its alarms, which may ring later
};

/// Why such arrays cannot travel, or empty.
std::string why_no_arrays(const Post::Arrays& arrays, std::uint64_t units);

}  // namespace apportion
