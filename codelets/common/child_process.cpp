// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codelets/common/child_process.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace apportion {

namespace {

/// A file in memory that no child inherits: unlike pipes, three of them need not be emptied in turn.
class TemporaryFile {
  public:
    TemporaryFile() : fd_(memfd_create("apportion", MFD_CLOEXEC)) {
        if (fd_ < 0)
            throw std::runtime_error(fmt::format("no memory for a program's output: {}", std::strerror(errno)));
    }
    ~TemporaryFile() { close(fd_); }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    int fd() const { return fd_; }

    void write_all(std::string_view text) {
        while (!text.empty()) {
            const ssize_t written = ::write(fd_, text.data(), text.size());
            if (written <= 0) throw std::runtime_error(fmt::format("temporary file: {}", std::strerror(errno)));
            text.remove_prefix(static_cast<std::size_t>(written));
        }
        lseek(fd_, 0, SEEK_SET);
    }

    std::string read_all() {
        lseek(fd_, 0, SEEK_SET);
        std::string text;
        std::array<char, 65536> buffer;
        for (ssize_t got; (got = ::read(fd_, buffer.data(), buffer.size())) > 0;)
            text.append(buffer.data(), static_cast<std::size_t>(got));
        return text;
    }

  private:
    int fd_;
};

std::vector<std::string> changed_environment(const std::vector<EnvironmentChange>& changes) {
    std::map<std::string, std::string> variables;
    for (char** entry = environ; entry && *entry; ++entry) {
        const std::string text = *entry;
        const std::size_t equals = text.find('=');
        if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
    }
    for (const EnvironmentChange& change : changes) {
        if (change.remove)
            variables.erase(change.name);
        else
            variables[change.name] = change.value;
    }
    std::vector<std::string> lines;
    for (const auto& [name, value] : variables) lines.push_back(name + "=" + value);
    return lines;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (std::string& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

/// Those that run, which a signal to this process ends as well.
struct Children {
    std::mutex mutex;
    std::set<pid_t> running;  ///< not yet waited for, so that their numbers are theirs
    int interrupted_by = 0;
};

Children& children() {
    static Children& children = *new Children;  // threads may outlive static objects
    return children;
}

/// A child in a process group of its own, so that its children can be ended with it. `files` are its standard input,
/// output and error.
pid_t start(const std::array<int, 3>& files, const std::vector<char*>& arguments, const std::vector<char*>& variables) {
    const std::lock_guard lock(children().mutex);
    if (children().interrupted_by != 0) throw Interrupted(children().interrupted_by);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < 3; ++i) posix_spawn_file_actions_adddup2(&actions, files[i], i);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    pid_t child = 0;
    const int failed =
        posix_spawnp(&child, arguments.front(), &actions, &attributes, arguments.data(), variables.data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw CannotRun(fmt::format("{} cannot be run: {}", arguments.front(), std::strerror(failed)));
    children().running.insert(child);
    return child;
}

constexpr double kPatience_s = 2;  ///< until what was asked to end is killed

/// What the child started and left behind was asked to end as well: waits for it, then kills it. The group's number
/// stays its own as long as there is anything in it.
void end_rest_of_group(pid_t child) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(kPatience_s);
    while (kill(-child, 0) == 0) {
        if (Clock::now() > end) {
            kill(-child, SIGKILL);
            return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
}

int interrupted_by() {
    const std::lock_guard lock(children().mutex);
    return children().interrupted_by;
}

int wait_for(pid_t child) {
    siginfo_t ignored;
    while (waitid(P_PID, static_cast<id_t>(child), &ignored, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
    int status = 0;
    {
        const std::lock_guard lock(children().mutex);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        children().running.erase(child);
    }
    const int signal = interrupted_by();
    if (signal == 0) return status;
    end_rest_of_group(child);
    throw Interrupted(signal);
}

}  // namespace

Interrupted::Interrupted(int signal)
    : std::runtime_error(fmt::format("ended by signal {} ({})", signal, strsignal(signal))), signal_(signal) {}

ChildResult run_child(const std::vector<std::string>& command, const std::vector<EnvironmentChange>& environment,
                      const std::string& input) {
    TemporaryFile in, out, err;
    in.write_all(input);
    std::vector<std::string> arguments = command;
    std::vector<std::string> variables = changed_environment(environment);
    const pid_t child = start({in.fd(), out.fd(), err.fd()}, pointers(arguments), pointers(variables));
    const int status = wait_for(child);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out.read_all(), err.read_all()};
}

void end_children(int signal, int reason) {
    const std::lock_guard lock(children().mutex);
    children().interrupted_by = reason;
    for (const pid_t child : children().running) kill(-child, signal);
}

}  // namespace apportion
