// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/profile_measure.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <barrier>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "tools/apportion/apportion_kernel.h"
#include "tools/apportion/command.hpp"

namespace apportion {

namespace {

using Kernel = struct ::apportion_kernel;  // the name is also that of the function

std::string reason(int status) {
    return status < 0 ? fmt::format("{} ({})", status, std::strerror(-status)) : fmt::format("{}", status);
}

/// The library stays loaded until the program ends: threads of its own may outlive the measurement.
const Kernel& load(const std::string& path) {
    // dlopen looks for a name without '/' in the system's folders only.
    const bool here = path.find('/') == std::string::npos && std::filesystem::exists(path);
    void* library = dlopen((here ? "./" + path : path).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw UserError("--kernel: {}; give the path of a shared library", dlerror());
    using Describe = const Kernel* (*)();
    const auto describe = reinterpret_cast<Describe>(dlsym(library, "apportion_kernel"));
    if (!describe)
        throw UserError("--kernel {}: the library has no function apportion_kernel; see apportion_kernel.h", path);
    const Kernel* kernel = describe();
    if (!kernel) throw UserError("--kernel {}: apportion_kernel() returned no kernel", path);
    if (kernel->version != APPORTION_KERNEL_VERSION)
        throw UserError(
            "--kernel {}: the library has version {} of the interface and this program version {}; compile it again "
            "with this program's apportion_kernel.h",
            path, kernel->version, APPORTION_KERNEL_VERSION);
    if (!kernel->name || !*kernel->name || !kernel->set_up || !kernel->run)
        throw UserError("--kernel {}: name, set_up and run must be given; see apportion_kernel.h", path);
    return *kernel;
}

/// The CPUs that the process may run on, by number.
std::vector<int> allowed_cpus() {
    std::vector<int> cpus;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
            if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    return cpus;
}

/// Binding is no condition: where the system refuses, the thread runs where it is put.
void bind_to(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

/// A processor of the kernel and the CPU its thread is bound to.
struct Place {
    unsigned processor = 0;
    std::string name;
    int cpu = 0;
};

class Library final : public ProfileSubject {
  public:
    Library(const Kernel& functions, std::uint64_t size, const std::vector<Place>& places);
    ~Library() override { end(); }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    std::vector<double> run(std::span<const Units> units) override;

  private:
    struct Lane {
        Place place;
        void* state = nullptr;
        Units prepared = 0;
        Units units = 0;
        const char* step = "";  ///< what returned the status
        int status = 0;
        double seconds = 0;
        std::thread thread;
    };

    void live(Lane& lane);
    void prepare(Lane& lane) const;
    void compute(Lane& lane) const;
    void check() const;
    void end();

    const Kernel& functions_;
    std::uint64_t size_;
    std::vector<Lane> lanes_;
    bool ending_ = false;
    std::barrier<> together_;  ///< of all lanes and the caller
};

Library::Library(const Kernel& functions, std::uint64_t size, const std::vector<Place>& places)
    : functions_(functions),
      size_(size),
      lanes_(places.size()),
      together_(static_cast<std::ptrdiff_t>(places.size()) + 1) {
    kernel_ = functions.name;
    load_ = fmt::format("{}-{}", kernel_, size);
    if (functions.unit && *functions.unit) unit_ = functions.unit;
    for (std::size_t i = 0; i < places.size(); ++i) {
        processors_.push_back(places[i].name);
        lanes_[i].place = places[i];
        lanes_[i].thread = std::thread([this, i] { live(lanes_[i]); });
    }
    together_.arrive_and_wait();  // all are set up
    try {
        check();
    } catch (...) {
        end();
        throw;
    }
}

void Library::end() {
    ending_ = true;
    together_.arrive_and_wait();
    for (Lane& lane : lanes_) lane.thread.join();
}

/// The life of a processor's thread, in step with the caller by the barrier.
void Library::live(Lane& lane) {
    bind_to(lane.place.cpu);
    lane.step = "set_up";
    lane.status = functions_.set_up(size_, lane.place.processor, &lane.state);
    const bool is_set_up = lane.status == 0;
    together_.arrive_and_wait();
    for (;;) {
        together_.arrive_and_wait();  // a run, or the end
        if (ending_) break;
        prepare(lane);
        together_.arrive_and_wait();  // all are prepared
        compute(lane);
        together_.arrive_and_wait();  // all are done
    }
    if (is_set_up && functions_.tear_down) functions_.tear_down(lane.state);
}

void Library::prepare(Lane& lane) const {
    lane.status = 0;
    if (lane.units == 0 || lane.units == lane.prepared || !functions_.prepare) return;
    lane.step = "prepare";
    lane.status = functions_.prepare(lane.state, static_cast<std::uint64_t>(lane.units));
    lane.prepared = lane.status == 0 ? lane.units : 0;
}

void Library::compute(Lane& lane) const {
    lane.seconds = 0;
    if (lane.units == 0 || lane.status != 0) return;
    lane.step = "run";
    const auto begin = std::chrono::steady_clock::now();
    lane.status = functions_.run(lane.state, static_cast<std::uint64_t>(lane.units));
    lane.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void Library::check() const {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        const Lane& lane = lanes_[i];
        if (lane.status == 0) continue;
        const std::string call = lane.units == 0 ? fmt::format("{}(size {})", lane.step, size_)
                                                 : fmt::format("{}({} {}s)", lane.step, lane.units, unit_);
        const std::string problem = fmt::format("the kernel {} failed: {} on {} returned {}", kernel_, call,
                                                lane.place.name, reason(lane.status));
        if (lane.status == -ENOMEM && lane.units > 0) throw DoesNotFit(i, problem);
        throw UserError(problem);
    }
}

std::vector<double> Library::run(std::span<const Units> units) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) lanes_[i].units = units[i];
    for (int step = 0; step < 3; ++step) together_.arrive_and_wait();
    check();
    std::vector<double> seconds;
    for (const Lane& lane : lanes_) seconds.push_back(lane.seconds);
    return seconds;
}

std::vector<Place> all_places(const Kernel& functions) {
    constexpr unsigned kMostProcessors = 4096;
    const std::vector<int> cpus = allowed_cpus();
    std::vector<Place> places;
    for (unsigned p = 0; p < (functions.processor_name ? kMostProcessors : cpus.size()); ++p) {
        const int cpu = cpus.empty() ? 0 : cpus[p % cpus.size()];
        const char* name = functions.processor_name ? functions.processor_name(p) : "";
        if (!name) break;
        places.push_back({p, *name ? name : fmt::format("CPU {}", cpu), cpu});
    }
    return places;
}

std::vector<Place> chosen_places(const Kernel& functions, const std::vector<unsigned>& processors) {
    const std::vector<Place> all = all_places(functions);
    if (all.empty()) throw UserError("the kernel {} names no processor", functions.name);
    if (processors.empty()) return all;
    std::vector<Place> places;
    for (const unsigned p : processors) {
        if (p >= all.size())
            throw UserError("--processors: {} is no processor of the kernel {}; there are 0 to {}", p, functions.name,
                            all.size() - 1);
        places.push_back(all[p]);
    }
    return places;
}

}  // namespace

std::unique_ptr<ProfileSubject> library_subject(const std::string& path, std::uint64_t size,
                                                const std::vector<unsigned>& processors) {
    const Kernel& functions = load(path);
    return std::make_unique<Library>(functions, size, chosen_places(functions, processors));
}

}  // namespace apportion
