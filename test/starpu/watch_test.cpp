// SPDX-License-Identifier: LGPL-2.1-or-later
#include "policies/starpu/watch.hpp"

#include <starpu.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "test/catch.hpp"

namespace {

class Bell final : public apportion::Watched {
  public:
    void look(double) noexcept override { rung = true; }
    std::atomic<bool> rung = false;
};

}  // namespace

TEST_CASE("the watch wakes whoever names a moment, also while its thread is about to end") {
    using namespace std::chrono_literals;
    constexpr auto kHangs = 20s;
    // The thread ends when nothing was to be watched for some time, which these pauses reach and pass.
    for (auto pause = 0ms; pause <= 1400ms; pause += 100ms) {
        std::this_thread::sleep_for(pause);
        const auto bell = std::make_shared<Bell>();
        REQUIRE(apportion::wake_at(bell, starpu_timing_now() + 1e4));
        const auto hangs = std::chrono::steady_clock::now() + kHangs;
        while (!bell->rung && std::chrono::steady_clock::now() < hangs) std::this_thread::sleep_for(1ms);
        INFO("after " << pause.count() << " ms");
        CHECK(bell->rung);
    }
}
