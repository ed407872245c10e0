// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which thread carries out what is told to a run, and makes its calls; run.hpp tells it in short.
#include <starpu.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <exception>
#include <list>
#include <thread>
#include <utility>

#include "policies/starpu/inside.hpp"
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

/// Returns soon: when the thread that serves has stopped, or has taken longer than it mostly does for a block. A worker
/// that left its change to that thread would be idle until it is given a task, and two would take turns.
void wait_a_moment(const std::atomic<bool>& served) {
    constexpr int kLooks = 100;  // some 3 us; four times as many are as good
    for (int k = 0; k < kLooks && served.load(std::memory_order_relaxed); ++k) {
#ifdef __SSE2__
        _mm_pause();
#endif
    }
}

}  // namespace

bool Run::calls_starpu() const { return calling_ > 0 && !Inside<Run>::of(*this); }

void Run::tell(Change change, Caller caller) noexcept {
    const auto self = shared_from_this();  // another thread may carry it out, and then the load may be gone
    post(std::move(change));
    if (!Inside<Run>::of(*this)) serve(caller);
}

Units Run::withdraw(UnitRange range) {
    Units withdrawn = 0;
    if (Inside<Run>::of(*this)) return withdrawn;
    tell_and_wait(
        [&](Locked&) {
            if (flow_ && on_ && error_ == 0) withdrawn = flow_->withdraw(range);
            received_ -= interval({range.first + range.units - withdrawn, withdrawn});
        },
        Caller::program);
    return withdrawn;
}

void Run::tell_and_wait(const Change& change, Caller caller) noexcept {
    const auto self = shared_from_this();
    bool heard = false;
    tell(
        [&](Locked& on) {
            heard = true;
            changed_.notify_all();
            change(on);
        },
        caller);
    Lock lock(mutex_);
    changed_.wait(lock, [&] { return heard; });
}

void Run::post(Change change) {
    const Lock lock(posts_mutex_);
    posts_.push_back(std::move(change));
}

/// What needs the others to stand still comes first in each round; then another thread may serve while this one makes
/// its calls into StarPU, which take as long again.
void Run::serve(Caller caller) noexcept {
    const auto self = shared_from_this();
    bool is_device = !kSimulated && is_device_thread();
    const bool has_other_work = is_device || (!kSimulated && caller == Caller::program);
    std::vector<Change> told;
    Locked on;
    for (;;) {
        if (!kSimulated && !has_other_work) wait_a_moment(served_);
        bool goes_on = true;
        for (std::size_t rounds = rounds_; goes_on && rounds > 0 && begins_to_serve(told, on); --rounds) {
            if (!told.empty()) {
                const Lock lock(mutex_);
                apply(told, on);
            }
            goes_on = fill_next(on, !is_device);
            for (const std::int64_t block : std::exchange(on.copies, {})) copy_home(block);
            serves_no_more(on);
            make_calls(on);
        }
        bool hands_over = has_other_work;
        if ((is_device || caller == Caller::program) && !on.done.empty()) {
            post([done = std::exchange(on.done, {})](Locked& next) {
                next.done.insert(next.done.end(), done.begin(), done.end());
            });
            hands_over = true;
        }
        if (!on.done.empty()) {
            if (is_something_left(on)) wake_at(weak_from_this(), starpu_timing_now());
            tell_done(std::exchange(on.done, {}));
        }
        if (std::exchange(on.over, false)) release_uses(caller);
        if (!is_something_left(on)) return;
        if (hands_over && wake_at(weak_from_this(), starpu_timing_now())) return;  // another thread goes on
        if (hands_over) caller = Caller::runtime, is_device = false;
    }
}

/// False: nothing is to be done, or another thread does it.
bool Run::begins_to_serve(std::vector<Change>& told, Locked& on) {
    const Lock lock(posts_mutex_);
    if (on.filled >= 0) std::erase(submitting_, std::exchange(on.filled, -1));
    told.clear();
    if (served_) return false;
    told.swap(posts_);
    on.to_fill.swap(to_fill_);
    return served_ = !told.empty() || !on.to_fill.empty();
}

void Run::serves_no_more(Locked& on) {
    const Lock lock(posts_mutex_);
    if (on.filled >= 0) submitting_.push_back(on.filled);
    to_fill_.swap(on.to_fill);
    served_ = false;
}

bool Run::is_submitted(const RunningBlock& running) {
    const Lock lock(posts_mutex_);
    return std::ranges::find(submitting_, running.block.id) == submitting_.end();
}

bool Run::is_something_left(Locked& on) {
    const Lock lock(posts_mutex_);
    if (on.filled >= 0) std::erase(submitting_, std::exchange(on.filled, -1));
    return !served_ && !(posts_.empty() && to_fill_.empty());
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
void Run::apply(const std::vector<Change>& told, Locked& on) noexcept {
    for (const Change& change : told) tried([&] { change(on); }, on);
    const auto go_on = [&] {
        while (std::exchange(freed_, false) && on_ && error_ == 0)
            ask_flow([&] { return flow_->ask_freed(now_s()); }, on);
        if (flow_ && on_) set_alarm(on);
    };
    tried(go_on, on);
    retire(on);
    if (!tried([&] { check_complete(on); }, on)) check_complete(on);
}

/// Handles that nothing needs any more go before the run ends where they are many: each takes StarPU some 40 kB. A few
/// at a time, as that takes as long as submitting as many tasks.
void Run::retire(Locked& on) {
    constexpr std::size_t kMost = 256, kAtATime = 16;
    if (!on_ || state_.kept.retired() <= kMost || on.retired.size() >= kAtATime) return;
    std::list<BlockHandle> more = state_.kept.take_retired(kAtATime);
    retiring_ += more.size();
    on.retired.splice(on.retired.end(), more);
}

void Run::make_calls(Locked& on) {
    const double at_us = std::exchange(on.wake_at_us, 0);
    if (at_us > 0 && !wake_at(weak_from_this(), at_us)) {
        const Lock lock(mutex_);
        watch_failed_ = true;
        wake_at_us_ = 0;  // the next change asks for another one
    }
    // A part without work ends while it is submitted, and what then comes next would be submitted within that call, and
    // so on: what is told within a call waits until that returns.
    const Inside<Run> calls(*this);
    const struct Counted {
        explicit Counted(std::atomic<int>& count) : of(count) { ++of; }
        ~Counted() { --of; }
        std::atomic<int>& of;
    } counted(calling_);
    for (starpu_task* task : std::exchange(on.tasks, {}))
        if (const int refused = starpu_task_submit(task); refused != 0) {
            auto* running = static_cast<RunningBlock*>(task->callback_arg);
            task->destroy = 0;
            starpu_task_destroy(task);
            post([=, this](Locked& next) { task_refused(*running, refused, next); });
        }
    if (std::exchange(on.last_tasks, false)) starpu_do_schedule();  // some of StarPU's schedulers wait for this
    for (std::unique_ptr<Return>& what : std::exchange(on.returns, {})) {
        const starpu_data_handle_t handle = what->handle;
        // The program may change what its own handles have without a word to StarPU: no device keeps a copy.
        const auto mode = what->of == Return::Of::application ? STARPU_RW : STARPU_R;
        what->handed_over.store(true, std::memory_order_release);
        starpu_data_acquire_on_node_cb_sequential_consistency(handle, STARPU_MAIN_RAM, mode, handle_home,
                                                              what.release(), 0);
    }
    if (!on.retired.empty()) {
        for (const BlockHandle& h : on.retired) starpu_data_unregister_submit(h.handle);
        post([this, its = on.retired.size()](Locked&) { retiring_ -= its; });
        on.retired.clear();
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
    const auto run = static_cast<Run*>(arg)->shared_from_this();  // which may be over as soon as it is told
    run->post([its = run.get()](Locked& on) { its->acquired(on); });
    if (!to_serve) return run->serve(starpu_worker_get_id() < 0 ? Caller::program : Caller::runtime);
    to_serve->push_back(run);
    wake_at(run, starpu_timing_now());  // this thread may be called back meanwhile, and wait for it
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
