// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the calling thread is in: calls into StarPU for a run, or the fill function of a load.
#pragma once

#include <starpu.h>

namespace apportion {

/// While it lives, its thread is inside something for this subject, perhaps inside that for another one. Simulated
/// threads share what is thread_local.
template <class Subject>
class Inside {
  public:
    explicit Inside(const Subject& subject) : subject_(subject), outer_(innermost()) {
        STARPU_PTHREAD_SETSPECIFIC(key(), this);
    }
    ~Inside() { STARPU_PTHREAD_SETSPECIFIC(key(), outer_); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

    /// Whether the calling thread is.
    static bool of(const Subject& subject) {
        const Inside* its = innermost();
        while (its && &its->subject_ != &subject) its = its->outer_;
        return its != nullptr;
    }

  private:
    static starpu_pthread_key_t key() {
        static const starpu_pthread_key_t its = [] {
            starpu_pthread_key_t created;
            STARPU_PTHREAD_KEY_CREATE(&created, nullptr);
            return created;
        }();
        return its;
    }
    static const Inside* innermost() { return static_cast<const Inside*>(STARPU_PTHREAD_GETSPECIFIC(key())); }

    const Subject& subject_;
    const Inside* const outer_;
};

}  // namespace apportion
