// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What rank 0 and a node tell each other about grants. All of one size, so that they travel as StarPU-MPI handles.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

namespace apportion {

struct Message {
    enum class Kind : std::int64_t {
        // Rank 0 to a node:
        compute,       ///< a grant; the node posts receives for its input
        send_results,  ///< they count
        forget,        ///< they do not
        end,           ///< of the run; `text` where it failed
        // A node to rank 0:
        ready,     ///< for the grant's input
        arrived,   ///< the input
        computed,  ///< in `seconds`, half as many in `half_s`
        failed,    ///< the node's own load; `text`
        ended      ///< last message of a run
    };
    static constexpr std::size_t kText = 952;

    Kind kind = Kind::ended;
    std::int64_t grant = 0;
    std::int64_t first = 0;
    std::int64_t units = 0;
    double seconds = 0;
    double half_s = 0;
    char text[kText] = {};

    void set_text(const std::string& sentence) {
        std::memset(text, 0, kText);
        std::memcpy(text, sentence.data(), std::min(sentence.size(), kText - 1));
    }
};
static_assert(std::is_trivially_copyable_v<Message>);

}  // namespace apportion
