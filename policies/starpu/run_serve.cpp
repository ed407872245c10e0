// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which thread carries out what is told to a run, and makes its calls; run.hpp tells it in short.
#include <starpu.h>

#include <cerrno>
#include <exception>
#include <list>
#include <thread>
#include <utility>

#include "policies/starpu/run.hpp"

namespace apportion {

namespace {

/// Those that got handles while this thread gives some back: it serves them when it has given back all of its run.
thread_local std::list<std::shared_ptr<Run>>* to_serve = nullptr;

/// It makes its device's transfers, and should not be kept from that.
bool is_device_thread() {
    const int worker = starpu_worker_get_id();
    return worker >= 0 && starpu_worker_get_type(worker) != STARPU_CPU_WORKER;
}

}  // namespace

void Run::tell(Change change, Caller caller) noexcept {
    const auto self = shared_from_this();  // another thread may carry it out, and then the load may be gone
    post(std::move(change));
    serve(caller);
}

void Run::tell_and_wait(const Change& change) noexcept {
    const auto self = shared_from_this();
    bool heard = false;
    tell([&](Locked& on) {
        heard = true;
        changed_.notify_all();
        change(on);
    });
    Lock lock(mutex_);
    changed_.wait(lock, [&] { return heard; });
}

void Run::post(Change change) {
    const Lock lock(posts_mutex_);
    posts_.push_back(std::move(change));
}

/// A part without work ends while it is submitted, and what then comes next would be submitted within that call, and so
/// on: what is told within a call waits until that returns.
void Run::serve(Caller caller) noexcept {
    const auto self = shared_from_this();
    std::vector<Change> told;
    Locked on;
    const auto begins = [&] {
        const Lock lock(posts_mutex_);
        if (served_) return false;  // another thread does that
        told.clear();
        told.swap(posts_);
        return served_ = !told.empty() || !to_fill_.empty();
    };
    const auto goes_on = [&](bool may) {
        const Lock lock(posts_mutex_);
        served_ = may && (!posts_.empty() || !to_fill_.empty());
        told.clear();
        if (served_) told.swap(posts_);
        return served_;
    };
    while (begins()) {
        std::size_t rounds = rounds_;
        do {
            if (!told.empty()) {
                const Lock lock(mutex_);
                for (const Change& change : told) apply(change, on);
                --rounds;
            }
            fill_next(on);
            make_calls(on);
        } while (goes_on(rounds > 0));
        bool hands_over = !kSimulated && (caller == Caller::program || is_device_thread());
        if (caller == Caller::program && !on.done.empty()) {
            post([done = std::exchange(on.done, {})](Locked& next) {
                next.done.insert(next.done.end(), done.begin(), done.end());
            });
            hands_over = true;
        }
        if (!on.done.empty()) tell_done(std::exchange(on.done, {}));
        if (std::exchange(on.over, false)) release_uses(caller);
        if (!hands_over || !is_something_left()) continue;
        if (wake_at(weak_from_this(), starpu_timing_now())) return;  // another thread goes on
        caller = Caller::runtime;
    }
}

bool Run::is_something_left() {
    const Lock lock(posts_mutex_);
    return !served_ && (!posts_.empty() || !to_fill_.empty());
}

bool Run::tried(const std::function<void()>& change, Locked& on) noexcept {
    try {
        change();
        return true;
    } catch (const std::exception& error) {
        fail(-EIO, error.what(), on);
    } catch (...) {
        fail(-EIO, "an exception that is none of the standard library's", on);
    }
    if (on_) threw_ = true;
    return false;
}

/// Where the end after an exception throws as well, that ends the program.
void Run::apply(const Change& change, Locked& on) noexcept {
    const auto changed = [&] {
        change(on);
        if (flow_ && on_) set_alarm(on);
    };
    tried(changed, on);
    retire(on);
    if (!tried([&] { check_complete(on); }, on)) check_complete(on);
}

/// Handles that nothing needs any more go before the run ends where they are many: each takes StarPU some 40 kB.
void Run::retire(Locked& on) {
    constexpr std::size_t kMost = 256;
    if (!on_ || state_.kept.retired() <= kMost) return;
    std::list<BlockHandle> more = state_.kept.take_retired();
    on.retired.splice(on.retired.end(), more);
}

void Run::submit(const std::vector<starpu_task*>& tasks) {
    for (starpu_task* task : tasks)
        if (const int refused = starpu_task_submit(task); refused != 0) {
            auto* running = static_cast<RunningBlock*>(task->callback_arg);
            task->destroy = 0;
            starpu_task_destroy(task);
            post([=, this](Locked& on) { task_refused(*running, refused, on); });
        }
    if (!state_.policy && to_fill_.empty()) starpu_do_schedule();  // some of StarPU's schedulers wait for this
}

void Run::make_calls(Locked& on) {
    for (std::unique_ptr<Return>& what : std::exchange(on.returns, {})) {
        const starpu_data_handle_t handle = what->handle;
        what->handed_over.store(true, std::memory_order_release);
        starpu_data_acquire_on_node_cb_sequential_consistency(handle, STARPU_MAIN_RAM, STARPU_R, handle_home,
                                                              what.release(), 0);
    }
    for (const std::int64_t block : std::exchange(on.copies, {})) copy_home(block);
    for (const BlockHandle& h : std::exchange(on.retired, {})) starpu_data_unregister_submit(h.handle);
    const double at_us = std::exchange(on.wake_at_us, 0);
    if (at_us > 0 && !wake_at(weak_from_this(), at_us)) {
        const Lock lock(mutex_);
        watch_failed_ = true;
        wake_at_us_ = 0;  // the next change asks for another one
    }
}

/// What the application throws ends the run.
void Run::tell_done(const std::vector<apportion_done>& done) {
    std::exception_ptr thrown;
    for (const apportion_done& units : done) try {
            setup_.options.done(&units, setup_.options.arg);
        } catch (...) {
            thrown = std::current_exception();
        }
    post([this, thrown, told = done.size()](Locked&) {
        telling_ -= told;
        if (thrown) std::rethrow_exception(thrown);
    });
}

// --- Handles in `uses` ---

void Run::use_acquired(void* arg) {
    auto* run = static_cast<Run*>(arg);
    run->post([run](Locked& on) { run->acquired(on); });
    if (to_serve)
        to_serve->push_back(run->shared_from_this());
    else
        run->serve(Caller::runtime);
}

/// Whoever waits for one may call back at once, wait for this run, and begin another one.
void Run::release_uses(Caller caller) {
    {
        const Lock lock(mutex_);
        released_ = true;
        releaser_ = std::this_thread::get_id();
        changed_.notify_all();
    }
    std::list<std::shared_ptr<Run>> next;
    const bool outermost = !to_serve && !kSimulated;  // simulated threads share it
    if (outermost) to_serve = &next;
    for (const apportion_use& use : uses_) starpu_data_release_on_node(use.handle, STARPU_MAIN_RAM);
    {
        const Lock lock(mutex_);
        given_back_ = true;
        changed_.notify_all();
    }
    if (!outermost) return;
    for (; !next.empty(); next.pop_front()) next.front()->serve(caller);
    to_serve = nullptr;
}

}  // namespace apportion
