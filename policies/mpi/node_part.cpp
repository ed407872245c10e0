// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/mpi/node_part.hpp"

#include <cerrno>
#include <utility>

#include "policies/mpi/node_facts.hpp"
#include "policies/mpi/session.hpp"
#include "policies/mpi/world.hpp"
#include "policies/policy.hpp"
#include "policies/starpu/application_handles.hpp"
#include "policies/starpu/error.hpp"

namespace apportion {

NodePart::NodePart(const apportion_load_options& options, std::uint64_t initial_block, Post& post)
    : options_(options),
      uses_(options.uses, options.uses + (options.uses ? options.uses_count : 0)),
      a_task_(a_task_of(World::get(), load_name(options))),
      post_(post) {
    apportion_load_options own = options;
    own.arg = this;
    own.fill = fill;
    own.warm_up = options.warm_up ? warm_up : nullptr;
    own.initial_block = initial_block;
    own.open = 1;
    own.done = done;
    own.unreported = 1;
    load_.emplace(own);
    check_profile(own);
}

/// Whether there is what a policy plans from does not depend on what the node is granted: a load without units needs it
/// as well, and is made here, before others rely on this node.
void NodePart::check_profile(apportion_load_options own) const {
    const PolicyEntry* const entry = find_policy(policy());
    if (!entry || !entry->reads_profile()) return;
    own.warm_up = nullptr;
    own.uses = nullptr;  // which the program may have acquired until the run
    own.uses_count = 0;
    Load without_units(own);
    without_units.submit();
    without_units.close();
    without_units.wait();
}

NodePart::~NodePart() {
    close();
    finish();
    const auto deadline = deadline_of(a_task_, load_->seconds());
    load_.reset();
}

int NodePart::fill(starpu_task* task, apportion_block* block, void* part) {
    const apportion_load_options& options = static_cast<NodePart*>(part)->options_;
    return options.fill(task, block, options.arg);
}

int NodePart::warm_up(void* part) {
    const apportion_load_options& options = static_cast<NodePart*>(part)->options_;
    return options.warm_up(options.arg);
}

void NodePart::done(const apportion_done* done, void* part) {
    static_cast<NodePart*>(part)->post_.add(
        {.kind = Event::Kind::done,
         .units = {static_cast<Units>(done->first), static_cast<Units>(done->units)},
         .worker = done->worker,
         .seconds = done->busy_seconds});
}

/// Those that cannot be had are refused when the load is submitted.
void NodePart::wait_for_uses() const {
    for (const apportion_use& use : uses_) {
        if (why_not_acquired(use)) continue;
        starpu_data_acquire_on_node(use.handle, STARPU_MAIN_RAM, use.mode);
        starpu_data_release_on_node(use.handle, STARPU_MAIN_RAM);
    }
}

void NodePart::begin() {
    finish();
    report_ = "{}";
    status_ = 0;
    wait_for_uses();
    begun_us_ = starpu_timing_now();
    load_->submit();
    if (starpu_pthread_create(&waits_, nullptr, wait_for_end, this) != 0) {
        close();
        throw ApiError(EAGAIN, "no thread can be had that waits for the node's part of the load");
    }
    waiting_ = true;
}

void* NodePart::wait_for_end(void* part) {
    auto& self = *static_cast<NodePart*>(part);
    Event event{.kind = Event::Kind::ended, .status = apportion_load_wait(self.load_->get())};
    self.status_ = event.status;
    if (event.status != 0) event.text = apportion_error();
    self.post_.add(std::move(event));
    return nullptr;
}

void NodePart::add(UnitRange units) {
    Error::check(apportion_load_add(load_->get(), static_cast<std::uint64_t>(units.first),
                                    static_cast<std::uint64_t>(units.units)));
}

Units NodePart::withdraw(UnitRange units) {
    return static_cast<Units>(
        load_->withdraw(static_cast<std::uint64_t>(units.first), static_cast<std::uint64_t>(units.units)));
}

void NodePart::close() { apportion_load_close(load_->get()); }

void NodePart::wait_for_tasks() {
    finish();
    const auto deadline = deadline_of(a_task_, load_->seconds());
#ifndef STARPU_SIMGRID  // where nothing is written
    load_->release();
#endif
}

void NodePart::finish() {
    if (!std::exchange(waiting_, false)) return;
    {  // for a task that nobody else on the node can compute, though another node has
        const auto deadline = deadline_of(a_task_, (starpu_timing_now() - begun_us_) * 1e-6, Awaited::computed_again);
        starpu_pthread_join(waits_, nullptr);
    }
    report_ = load_->report();
}

}  // namespace apportion
