// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Open loads inside StarPU, under whichever scheduler STARPU_SCHED names.
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "test/starpu/axpy.hpp"

using namespace apportion::test;

namespace {

/// Hands itself over in grants, the next one when so much of those before is done.
struct OpenAxpy : Axpy {
    explicit OpenAxpy(std::size_t n) : Axpy(n), counted(n) {}

    static int fill_open(starpu_task* task, apportion_block* block, void* arg) {
        return fill(task, block, static_cast<Axpy*>(static_cast<OpenAxpy*>(arg)));
    }
    static void done(const apportion_done* done, void* arg) {
        auto& self = *static_cast<OpenAxpy*>(arg);
        for (std::uint64_t u = done->first; u < done->first + done->units; ++u) ++self.counted[u];
        if (done->end_s < done->start_s || done->worker < 0) self.strange = true;
        const std::uint64_t computed = self.computed += done->units;
        if (self.load && computed + self.ahead >= self.handed_over) self.hand_over();
    }
    /// The next grant, or the end.
    void hand_over() {
        const std::lock_guard<std::mutex> lock(mutex);
        if (closed) return;
        const std::uint64_t units = std::min<std::uint64_t>(grant, x.size() - handed_over);
        if (units == 0) {
            closed = true;
            apportion_load_close(load);
        } else if (apportion_load_add(load, handed_over, units) == 0) {
            handed_over += units;
        }
    }

    apportion_load_options options() {
        apportion::LoadOptions o("open axpy", x.size(), codelet(), fill_open, this);
        o.open = 1;
        o.done = done;
        return o;
    }

    std::vector<std::atomic<int>> counted;  ///< how often each unit was done
    std::atomic<std::uint64_t> computed = 0, handed_over = 0;
    std::atomic<bool> strange = false;
    std::uint64_t grant = 100, ahead = 0;
    apportion_load* load = nullptr;
    std::mutex mutex;
    bool closed = false;
};

bool each_once(const OpenAxpy& axpy) {
    return std::all_of(axpy.counted.begin(), axpy.counted.end(), [](const auto& times) { return times == 1; });
}

}  // namespace

TEST_CASE("an open load computes each unit once, and tells each when it is done") {
    for (const std::uint64_t grant : {1, 100, 5000}) {
        OpenAxpy axpy(grant == 1 ? 50 : 5000);
        axpy.grant = grant;
        axpy.ahead = grant;  // the next grant is there while the one before is computed
        Load load = create(axpy.options());
        CAPTURE(grant);
        REQUIRE(apportion_load_submit(load.get()) == 0);
        axpy.load = load.get();
        axpy.hand_over();
        REQUIRE(apportion_load_wait(load.get()) == 0);
        REQUIRE(axpy.wrong() == 0);
        REQUIRE(each_once(axpy));
        REQUIRE_FALSE(axpy.strange);
        const auto report = nlohmann::json::parse(apportion_load_report(load.get()));
        REQUIRE(report.at("blocks").get<std::size_t>() >= axpy.x.size() / grant);
    }
}

TEST_CASE("under StarPU's schedulers blocks of an open load are as large as if its units came at once") {
    const std::string scheduler = std::getenv("STARPU_SCHED");
    if (scheduler != "eager" && scheduler != "dmda" && scheduler != "lws") return;
    OpenAxpy axpy(5000);
    axpy.grant = 50;
    Load load = create(axpy.options());
    REQUIRE(apportion_load_submit(load.get()) == 0);
    axpy.load = load.get();
    axpy.hand_over();
    REQUIRE(apportion_load_wait(load.get()) == 0);
    const auto report = nlohmann::json::parse(apportion_load_report(load.get()));
    CHECK(report.at("blocks") == 100);
}

TEST_CASE("an open load may be closed without units, and run again") {
    OpenAxpy axpy(1000);
    Load load = create(axpy.options());
    REQUIRE(apportion_load_submit(load.get()) == 0);
    REQUIRE(apportion_load_close(load.get()) == 0);
    REQUIRE(apportion_load_wait(load.get()) == 0);
    REQUIRE(apportion_load_submit(load.get()) == 0);
    REQUIRE(apportion_load_add(load.get(), 500, 500) == 0);
    REQUIRE(apportion_load_add(load.get(), 0, 500) == 0);
    REQUIRE(apportion_load_close(load.get()) == 0);
    REQUIRE(apportion_load_wait(load.get()) == 0);
    REQUIRE(axpy.wrong() == 0);
    REQUIRE(each_once(axpy));
}

TEST_CASE("no units may be handed over as well, in front of others that are still to come") {
    OpenAxpy axpy(1000);
    Load load = create(axpy.options());
    REQUIRE(apportion_load_submit(load.get()) == 0);
    REQUIRE(apportion_load_add(load.get(), 100, 0) == 0);
    REQUIRE(apportion_load_add(load.get(), 500, 500) == 0);
    REQUIRE(apportion_load_add(load.get(), 0, 500) == 0);
    REQUIRE(apportion_load_add(load.get(), 1000, 0) == 0);
    REQUIRE(apportion_load_close(load.get()) == 0);
    REQUIRE(apportion_load_wait(load.get()) == 0);
    REQUIRE(axpy.wrong() == 0);
    REQUIRE(each_once(axpy));
}

TEST_CASE("the end of a load that is no whole granule may be the beginning of no units") {
    OpenAxpy axpy(1000);
    auto options = axpy.options();
    options.granularity = 300;
    Load load = create(options);
    std::uint64_t back = 77;
    REQUIRE(apportion_load_submit(load.get()) == 0);
    CHECK(apportion_load_add(load.get(), 1000, 0) == 0);
    REQUIRE(apportion_load_add(load.get(), 0, 1000) == 0);
    CHECK(apportion_load_withdraw(load.get(), 1000, 0, &back) == 0);
    CHECK(back == 0);
    CHECK(apportion_load_withdraw(load.get(), 990, 10, &back) == -EINVAL);
    REQUIRE(apportion_load_close(load.get()) == 0);
    REQUIRE(apportion_load_wait(load.get()) == 0);
    CHECK(each_once(axpy));
}

TEST_CASE("units that no worker has been given can be taken back, and are computed where they are handed over again") {
    OpenAxpy axpy(20000);
    auto options = axpy.options();
    options.granularity = 10;
    Load load = create(options);
    std::uint64_t back = 77;
    CHECK(apportion_load_withdraw(load.get(), 0, 1000, &back) == 0);
    CHECK(back == 0);  // it does not run
    REQUIRE(apportion_load_submit(load.get()) == 0);
    REQUIRE(apportion_load_add(load.get(), 0, 20000) == 0);
    REQUIRE(apportion_load_withdraw(load.get(), 5000, 15000, &back) == 0);
    CHECK(back <= 15000);
    CHECK(back % 10 == 0);
    CHECK(apportion_load_withdraw(load.get(), 5, 10, &back) == -EINVAL);
    CHECK(std::string(apportion_error()).find("granularity") != std::string::npos);
    CHECK(apportion_load_withdraw(load.get(), 0, 10, nullptr) == -EINVAL);
    if (back > 0) REQUIRE(apportion_load_add(load.get(), 20000 - back, back) == 0);
    REQUIRE(apportion_load_close(load.get()) == 0);
    REQUIRE(apportion_load_wait(load.get()) == 0);
    CHECK(axpy.wrong() == 0);
    CHECK(each_once(axpy));
    Axpy whole(100);
    Load other = create(whole.options());
    CHECK(apportion_load_withdraw(other.get(), 0, 10, &back) == -EINVAL);
}

TEST_CASE("a load ends without the units that were taken back") {
    OpenAxpy axpy(20000);
    Load load = create(axpy.options());
    std::uint64_t back = 0;
    REQUIRE(apportion_load_submit(load.get()) == 0);
    REQUIRE(apportion_load_add(load.get(), 0, 20000) == 0);
    REQUIRE(apportion_load_withdraw(load.get(), 0, 20000, &back) == 0);
    REQUIRE(apportion_load_close(load.get()) == 0);
    REQUIRE(apportion_load_wait(load.get()) == 0);
    for (std::uint64_t u = 0; u < 20000; ++u) REQUIRE(axpy.counted[u] == (u < 20000 - back ? 1 : 0));
}

TEST_CASE("what cannot be handed over to a load is refused with a sentence") {
    OpenAxpy axpy(100);
    Gate gate;
    auto options = axpy.options();
    options.granularity = 10;
    options.uses = &gate.use;
    options.uses_count = 1;
    Load load = create(options);
    const auto refuses = [&](apportion_load* whose, std::uint64_t first, std::uint64_t units, int error,
                             const std::string& words) {
        CHECK(apportion_load_add(whose, first, units) == error);
        CHECK(std::string(apportion_error()).find(words) != std::string::npos);
    };
    refuses(load.get(), 0, 10, -EPIPE, "was not submitted");
    REQUIRE(starpu_data_acquire(gate.use.handle, STARPU_RW) == 0);  // nothing is computed before it is released
    REQUIRE(apportion_load_submit(load.get()) == 0);
    REQUIRE(apportion_load_add(load.get(), 20, 20) == 0);
    for (const int first : {10, 20, 30}) refuses(load.get(), first, 20, -EINVAL, "still computes some of 20 units");
    REQUIRE(apportion_load_add(load.get(), 10, 10) == 0);
    REQUIRE(apportion_load_add(load.get(), 40, 10) == 0);
    starpu_data_release(gate.use.handle);
    refuses(load.get(), 0, 15, -EINVAL, "granularity");
    refuses(load.get(), 90, 20, -EINVAL, "has 100 units");
    refuses(load.get(), UINT64_MAX, 10, -EINVAL, "has 100 units");
    REQUIRE(apportion_load_close(load.get()) == 0);
    refuses(load.get(), 0, 10, -EPIPE, "is closed");
    REQUIRE(apportion_load_wait(load.get()) == 0);

    Axpy whole(100);
    Load other = create(whole.options());
    refuses(other.get(), 0, 10, -EINVAL, "is not open");
    CHECK(apportion_load_close(other.get()) == -EINVAL);
    options.open = 0;
    CHECK(apportion_load_create(&options) == nullptr);
    CHECK(std::string(apportion_error()).find("options.done") != std::string::npos);
}

TEST_CASE("an open load whose fill function refuses ends with its error, and takes no more units") {
    OpenAxpy axpy(1000);
    axpy.refuse_from = 500;
    Load load = create(axpy.options());
    REQUIRE(apportion_load_submit(load.get()) == 0);
    REQUIRE(apportion_load_add(load.get(), 500, 500) == 0);
    REQUIRE(apportion_load_wait(load.get()) == -EPERM);
    CHECK(apportion_load_add(load.get(), 0, 500) == 0);
    CHECK(apportion_load_wait(load.get()) == -EPERM);
}

TEST_CASE("an exception of the function that is told what is done ends the load, and not the program") {
    OpenAxpy axpy(1000);
    auto options = axpy.options();
    options.done = [](const apportion_done*, void*) { throw std::runtime_error("told enough"); };
    Load load = create(options);
    REQUIRE(apportion_load_submit(load.get()) == 0);
    REQUIRE(apportion_load_add(load.get(), 0, 1000) == 0);
    CHECK(apportion_load_wait(load.get()) == -EIO);
    CHECK(std::string(apportion_error()).find("told enough") != std::string::npos);
}

TEST_CASE("an open load that is destroyed is closed first") {
    OpenAxpy axpy(100);
    Load load = create(axpy.options());
    REQUIRE(apportion_load_submit(load.get()) == 0);
    REQUIRE(apportion_load_add(load.get(), 0, 100) == 0);
    load.reset();
    CHECK(axpy.wrong() == 0);
}
