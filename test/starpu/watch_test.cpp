// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/watch.hpp"

#include <signal.h>
#include <starpu.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "test/catch.hpp"

namespace {

struct Woken final : apportion::Watched {
    explicit Woken(std::atomic<bool>& r) : rung(r) {}
    void look(double) noexcept override { rung = true; }
    std::atomic<bool>& rung;
};

}  // namespace

TEST_CASE("the watch wakes everyone who names a moment, also while its thread is about to end") {
    using namespace std::chrono_literals;
    constexpr auto kHangs = 20s;
    // The thread ends when nothing was to be watched for some time, which these pauses reach and pass.
    for (auto pause = 0ms; pause <= 1400ms; pause += 100ms) {
        std::this_thread::sleep_for(pause);
        std::atomic<bool> rung = false;
        const auto woken = std::make_shared<Woken>(rung);
        REQUIRE(apportion::wake_at(woken, starpu_timing_now() + 1e4));
        const auto hangs = std::chrono::steady_clock::now() + kHangs;
        while (!rung && std::chrono::steady_clock::now() < hangs) std::this_thread::sleep_for(1ms);
        INFO("after " << pause.count() << " ms");
        CHECK(rung);
    }
}

TEST_CASE("who looks for long keeps nobody else from looking") {
    using namespace std::chrono_literals;
    struct LooksForLong final : apportion::Watched {
        explicit LooksForLong(std::atomic<bool>& o) : other(o) {}
        void look(double) noexcept override {
            const auto hangs = std::chrono::steady_clock::now() + 20s;
            while (!other && std::chrono::steady_clock::now() < hangs) std::this_thread::sleep_for(1ms);
            ended = true;
        }
        std::atomic<bool>& other;
        std::atomic<bool> ended = false;
    };
    std::atomic<bool> rung = false;
    const auto first = std::make_shared<LooksForLong>(rung);
    const auto woken = std::make_shared<Woken>(rung);
    REQUIRE(apportion::wake_at(first, starpu_timing_now()));
    REQUIRE(apportion::wake_at(woken, starpu_timing_now() + 1e5));
    while (!first->ended) std::this_thread::sleep_for(1ms);
    CHECK(rung);
}

TEST_CASE("this program is stopped for a while", "[.stopped]") {
    using namespace std::chrono_literals;
    std::atomic<bool> rung = false;
    const auto woken = std::make_shared<Woken>(rung);
    REQUIRE(apportion::wake_at(woken, starpu_timing_now() + 1e9));
    const auto hangs = std::chrono::steady_clock::now() + 60s;
    while (apportion::stood_still_us() == 0 && std::chrono::steady_clock::now() < hangs)
        std::this_thread::sleep_for(1ms);
    CHECK(apportion::stood_still_us() > 5e5);
}

TEST_CASE("the watch knows how long the program was stopped") {
    using namespace std::chrono_literals;
    const pid_t stopped = fork();
    if (stopped == 0) {
        execl("/proc/self/exe", "watch_test", "[.stopped]", static_cast<char*>(nullptr));
        _exit(127);
    }
    REQUIRE(stopped > 0);
    int status = 0;
    while (waitpid(stopped, &status, WNOHANG) == 0) {  // the first times it may not have begun to watch
        std::this_thread::sleep_for(500ms);
        kill(stopped, SIGSTOP);
        std::this_thread::sleep_for(1s);
        kill(stopped, SIGCONT);
    }
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a child process that was forked while alarms were set has a watch of its own") {
    using namespace std::chrono_literals;
    std::atomic<bool> rung = false;
    const auto woken = std::make_shared<Woken>(rung);
    REQUIRE(apportion::wake_at(woken, starpu_timing_now() + 1e6));
    const pid_t child = fork();
    if (child == 0) {
        std::atomic<bool> its_rung = false;
        const auto its = std::make_shared<Woken>(its_rung);
        const bool set = apportion::wake_at(its, starpu_timing_now() + 1e4);
        const auto hangs = std::chrono::steady_clock::now() + 20s;
        while (!its_rung && std::chrono::steady_clock::now() < hangs) std::this_thread::sleep_for(1ms);
        _exit(set && its_rung ? 0 : 1);
    }
    REQUIRE(child > 0);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}
