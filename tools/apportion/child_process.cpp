// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tools/apportion/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>

namespace apportion {

namespace {

/// A nameless file that no child inherits: unlike pipes, three of them need nobody to empty them in turn.
class TemporaryFile {
  public:
    TemporaryFile() {
        const char* folder = std::getenv("TMPDIR");
        std::string name = std::string(folder && *folder ? folder : "/tmp") + "/apportion-XXXXXX";
        fd_ = mkostemp(name.data(), O_CLOEXEC);
        if (fd_ < 0) throw std::runtime_error(fmt::format("{}: no temporary file: {}", name, std::strerror(errno)));
        unlink(name.c_str());
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
    int fd_ = -1;
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

}  // namespace

ChildResult run_child(const std::vector<std::string>& command, const std::vector<EnvironmentChange>& environment,
                      const std::string& input) {
    TemporaryFile in, out, err;
    in.write_all(input);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in.fd(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out.fd(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err.fd(), STDERR_FILENO);
    std::vector<std::string> arguments = command;
    std::vector<std::string> variables = changed_environment(environment);
    pid_t child = 0;
    const int failed = posix_spawnp(&child, command.front().c_str(), &actions, nullptr, pointers(arguments).data(),
                                    pointers(variables).data());
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0)
        throw std::runtime_error(fmt::format("{} cannot be run: {}", command.front(), std::strerror(failed)));
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out.read_all(), err.read_all()};
}

}  // namespace apportion
