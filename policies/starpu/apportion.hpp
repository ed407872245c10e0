// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Apportion's C interface (apportion.h) for C++17: objects that own what they create, and exceptions for errors.
//
//     const apportion::Session session;
//     apportion::LoadOptions options("scale", n, codelet, fill, &data);
//     apportion::Load load(options);
//     load.run();
//
// Header only: the library exports C functions alone.
#ifndef APPORTION_HPP
#define APPORTION_HPP

#include "apportion.h"

#include <cerrno>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace apportion {

/// A function of apportion.h failed: what() is its one sentence, error_number() a positive errno value.
class Error : public std::runtime_error {
  public:
    Error(int error_number, const std::string& sentence) : runtime_error(sentence), error_number_(error_number) {}
    int error_number() const noexcept { return error_number_; }

    /// Throws if `status`, the result of a C function of this thread, is negative.
    static void check(int status) {
        if (status < 0) throw Error(-status, apportion_error());
    }

  private:
    int error_number_;
};

/// StarPU, running while this lives: apportion_init and apportion_shutdown. Loads are destroyed before it.
class Session {
  public:
    explicit Session(starpu_conf* conf = nullptr) { Error::check(apportion_init(conf)); }
    ~Session() { apportion_shutdown(); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
};

/// The options of a load with their defaults; the fields are those of the C structure.
struct LoadOptions : apportion_load_options {
    LoadOptions() : apportion_load_options() { apportion_load_options_init(this); }
    LoadOptions(const char* name_, std::uint64_t units_, starpu_codelet& codelet_, apportion_fill_func_t fill_,
                void* arg_ = nullptr)
        : LoadOptions() {
        name = name_;
        units = units_;
        codelet = &codelet_;
        fill = fill_;
        arg = arg_;
    }
};

/// A load; waits for it and destroys it at the end of its life. Can be moved, and is then empty: only assignment and
/// destruction may follow. Not for several threads at once.
class Load {
  public:
    explicit Load(const apportion_load_options& options) : load_(apportion_load_create(&options)) {
        if (!load_) throw Error(errno, apportion_error());
    }

    /// Starts the load; wait() returns when all results are in main memory. See apportion_load_submit.
    void submit() { Error::check(apportion_load_submit(get())); }
    void wait() { Error::check(apportion_load_wait(get())); }
    /// Of an open load that runs: units that are there now; no more come. See apportion_load_add.
    void add(std::uint64_t first, std::uint64_t units) { Error::check(apportion_load_add(get(), first, units)); }
    void close() { Error::check(apportion_load_close(get())); }
    /// Takes back units with which the range ends, and that no worker has been given. See apportion_load_withdraw.
    std::uint64_t withdraw(std::uint64_t first, std::uint64_t units) {
        std::uint64_t withdrawn = 0;
        Error::check(apportion_load_withdraw(get(), first, units, &withdrawn));
        return withdrawn;
    }
    void run() {
        submit();
        wait();
    }
    /// Brings data that stayed on devices (APPORTION_KEEP) to main memory. See apportion_load_release.
    void release() { Error::check(apportion_load_release(get())); }

    /// Of the last finished run.
    std::string report() const { return apportion_load_report(get()); }
    double seconds() const { return apportion_load_seconds(get()); }
    /// Name of the scheduler that sizes or places the blocks.
    std::string policy() const { return apportion_load_policy(get()); }

    apportion_load* get() const noexcept { return load_.get(); }

  private:
    struct Destroy {
        void operator()(apportion_load* load) const noexcept { apportion_load_destroy(load); }
    };
    std::unique_ptr<apportion_load, Destroy> load_;
};

}  // namespace apportion
#endif
